//! Schedules the task that follows a failed request, if its route declares one. `find_follow_up` selects the task by
//! the error. The task allows a plugin to mark an operation as failed or timed out.
//!
//! The task is written before the error is returned to the caller. If it cannot be written, that is logged, because the
//! caller receives the error of its request.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::timeout;

use super::{Calls, running::Caller};
use crate::{
    commit::{committer::CommitError, draft::DraftError},
    host_error::HostError,
    limits::{DURABLE_WAIT_MS, RUNS_MAX, TASK_PAYLOAD_BYTES_MAX},
    manifest,
    plugin::{
        exchange::{Admitted, Content},
        generation::Generation,
    },
};

/// Payload of the task: the request, and its error.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FailedRequest<'a> {
    failure: &'a str,
    operation: &'a str,
    method: &'a str,
    path: &'a str,
    parameters: &'a [(String, String)],
    query: &'a [(String, String)],
    /// Present if it is JSON and small enough for a payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    subject: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
}

#[derive(Debug, thiserror::Error)]
enum ScheduleError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("{0}")]
    Host(String),
}

impl Calls {
    /// Schedules the follow-up task of a failed request. `has_questions`: whether the request has sent a question, on
    /// this generation or on an earlier one.
    pub(super) async fn schedule_follow_up(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        failure: HostError,
        has_questions: bool,
    ) {
        let Some(name) = find_follow_up(&admitted.route.declared, failure, has_questions) else { return };
        let within = Duration::from_millis(DURABLE_WAIT_MS);
        let scheduled = timeout(within, self.commit_follow_up(admitted, failure, name)).await;
        let in_time = || Err(ScheduleError::Host("the database did not respond in time".to_owned()));
        if let Err(error) = scheduled.unwrap_or_else(|_| in_time()) {
            let (plugin, request_id) = (&*admitted.mounted.plugin, &*admitted.request_id);
            tracing::error!(
                plugin,
                request_id,
                task = name,
                "failed to schedule the task that follows a failed request: {error}"
            );
        }
    }

    async fn commit_follow_up(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        failure: HostError,
        name: &str,
    ) -> Result<(), ScheduleError> {
        let payload = payload(admitted, failure).map_err(|error| ScheduleError::Host(error.to_string()))?;
        let caller = Caller {
            tenant: admitted.principal.tenant.clone(),
            party: admitted.party.clone(),
            subject: "host".into(),
            operation: name,
            request_id: admitted.request_id.clone(),
            memory: &admitted.route.memory,
            hops: admitted.hops,
        };
        let call = super::Call::new(self, &admitted.mounted.owner, caller, admitted.deadline)
            .map_err(|failure| ScheduleError::Host(failure.name().to_owned()))?;
        // A caller may choose the id of a request, and may use it twice.
        let key = call.inputs.seed.first_chunk::<16>().map(hex::encode).unwrap_or_default();
        for _ in 0..RUNS_MAX {
            let mut draft = call.begin();
            draft.schedule(name, &key, call.inputs.now, payload.clone())?;
            match self.committer.commit(draft.into_changes(None).without_capacity(), None).await {
                Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
                settled => return Ok(settled?),
            }
        }
        Err(ScheduleError::Host("conflict retries exhausted".to_owned()))
    }
}

/// Returns the task that the route declares for this error.
fn find_follow_up(declared: &manifest::Route, failure: HostError, has_questions: bool) -> Option<&str> {
    match failure {
        HostError::DeadlineExceeded => declared.on_deadline.as_deref(),
        HostError::PluginFailed | HostError::OutcomeUnknown => declared.on_fault.as_deref(),
        // Nothing was changed. If a question was sent, its receiver may act on it, and it is not known whether the
        // caller repeats the request.
        HostError::Unavailable | HostError::IdempotencyInProgress | HostError::IdempotencyMismatch if has_questions => {
            declared.on_fault.as_deref()
        }
        _ => None,
    }
}

fn payload(admitted: &Admitted<Arc<Generation>>, failure: HostError) -> Result<String, serde_json::Error> {
    let mut failed = FailedRequest {
        failure: failure.name(),
        operation: &admitted.route.declared.operation,
        method: admitted.method.as_str(),
        path: &admitted.path,
        parameters: &admitted.parameters,
        query: &admitted.query,
        body: match &admitted.content {
            Content::Json(text) => Some(text),
            Content::Empty | Content::Other { .. } => None,
        },
        subject: &admitted.principal.subject,
        request_id: &admitted.request_id,
        idempotency_key: admitted.idempotency_key.as_deref(),
    };
    let whole = serde_json::to_string(&failed)?;
    if whole.len() <= TASK_PAYLOAD_BYTES_MAX {
        return Ok(whole);
    }
    failed.body = None;
    serde_json::to_string(&failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_without_changes_has_a_follow_up_only_after_a_question() {
        let route = json!({
            "operation": "pay", "method": "POST", "path": "/v1/payments",
            "on-fault": "failed", "on-deadline": "expired",
        });
        let route: manifest::Route = serde_json::from_value(route).unwrap();
        let follow_up = |failure, has_questions| find_follow_up(&route, failure, has_questions);
        for failure in [HostError::Unavailable, HostError::IdempotencyInProgress, HostError::IdempotencyMismatch] {
            assert_eq!(follow_up(failure, false), None, "{failure:?}");
            assert_eq!(follow_up(failure, true), Some("failed"), "{failure:?}");
        }
        for has_questions in [false, true] {
            assert_eq!(follow_up(HostError::PluginFailed, has_questions), Some("failed"));
            assert_eq!(follow_up(HostError::OutcomeUnknown, has_questions), Some("failed"));
            assert_eq!(follow_up(HostError::DeadlineExceeded, has_questions), Some("expired"));
            assert_eq!(follow_up(HostError::RateLimited, has_questions), None);
        }
    }
}
