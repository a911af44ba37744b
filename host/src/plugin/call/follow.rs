//! The task that follows a request which ended in a fault or missed its deadline, where its route wants one: so that a rule
//! can move what the request stood for to "failed" or "timed out".
//!
//! Written before the failure is answered. One that cannot be written is logged: there is nobody left to tell.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::timeout;

use super::{Calls, running::Caller};
use crate::{
    commit::{committer::CommitError, draft::DraftError},
    failure::Failure,
    limits::{DURABLE_WAIT_MS, RUNS_MAX, TASK_PAYLOAD_BYTES_MAX},
    plugin::{
        exchange::{Admitted, Content},
        generation::Generation,
        manifest,
    },
};

/// Its payload: what was asked, and what became of it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FailedRequest<'a> {
    failure: &'a str,
    operation: &'a str,
    method: &'a str,
    path: &'a str,
    parameters: &'a [(String, String)],
    query: &'a [(String, String)],
    /// Only JSON, and only where it is small enough for a payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    subject: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
}

#[derive(Debug, thiserror::Error)]
enum NotScheduled {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("{0}")]
    Host(String),
}

impl Calls {
    /// `has_questions`: whether the request has sent a question, on this generation or on one before.
    pub(super) async fn follow(&self, admitted: &Admitted<Arc<Generation>>, failure: Failure, has_questions: bool) {
        let Some(name) = find_follower(&admitted.route.declared, failure, has_questions) else { return };
        let within = Duration::from_millis(DURABLE_WAIT_MS);
        let scheduled = timeout(within, self.schedule_follower(admitted, failure, name)).await;
        let in_time = || Err(NotScheduled::Host("the disk does not answer".to_owned()));
        if let Err(error) = scheduled.unwrap_or_else(|_| in_time()) {
            let (plugin, request_id) = (&*admitted.mounted.plugin, &*admitted.request_id);
            tracing::error!(plugin, request_id, task = name, "the task that follows a failed request is lost: {error}");
        }
    }

    async fn schedule_follower(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        failure: Failure,
        name: &str,
    ) -> Result<(), NotScheduled> {
        let payload = payload(admitted, failure).map_err(|error| NotScheduled::Host(error.to_string()))?;
        let caller = Caller {
            tenant: admitted.principal.tenant.clone(),
            payer: admitted.payer.clone(),
            subject: "host".into(),
            operation: name,
            request_id: admitted.request_id.clone(),
            memory: &admitted.route.memory,
            hops: admitted.hops,
        };
        let call = super::Call::new(self, &admitted.mounted.owner, caller, admitted.deadline)
            .map_err(|failure| NotScheduled::Host(failure.name().to_owned()))?;
        // The id of a request is its caller's to choose, and may come twice.
        let key = call.inputs.seed.first_chunk::<16>().map(hex::encode).unwrap_or_default();
        for _ in 0..RUNS_MAX {
            let mut draft = call.begin();
            draft.schedule(name, &key, call.inputs.now, payload.clone())?;
            match self.committer.commit(draft.into_changes(None).without_room(), None).await {
                Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
                settled => return Ok(settled?),
            }
        }
        Err(NotScheduled::Host("others change it all the time".to_owned()))
    }
}

/// The task that the route declares for this failure.
fn find_follower(declared: &manifest::Route, failure: Failure, has_questions: bool) -> Option<&str> {
    match failure {
        Failure::DeadlineExceeded => declared.on_deadline.as_deref(),
        Failure::PluginFailed | Failure::OutcomeUnknown => declared.on_fault.as_deref(),
        // Nothing was changed. After a question was sent, its receiver may act on it, and no response states whether this
        // call is repeated.
        Failure::Unavailable | Failure::IdempotencyInProgress | Failure::IdempotencyMismatch if has_questions => {
            declared.on_fault.as_deref()
        }
        _ => None,
    }
}

fn payload(admitted: &Admitted<Arc<Generation>>, failure: Failure) -> Result<String, serde_json::Error> {
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
    fn failure_that_changes_nothing_is_followed_only_after_a_question() {
        let route = json!({
            "operation": "pay", "method": "POST", "path": "/v1/payments",
            "on-fault": "failed", "on-deadline": "expired",
        });
        let route: manifest::Route = serde_json::from_value(route).unwrap();
        let follower = |failure, has_questions| find_follower(&route, failure, has_questions);
        for failure in [Failure::Unavailable, Failure::IdempotencyInProgress, Failure::IdempotencyMismatch] {
            assert_eq!(follower(failure, false), None, "{failure:?}");
            assert_eq!(follower(failure, true), Some("failed"), "{failure:?}");
        }
        for has_questions in [false, true] {
            assert_eq!(follower(Failure::PluginFailed, has_questions), Some("failed"));
            assert_eq!(follower(Failure::OutcomeUnknown, has_questions), Some("failed"));
            assert_eq!(follower(Failure::DeadlineExceeded, has_questions), Some("expired"));
            assert_eq!(follower(Failure::RateLimited, has_questions), None);
        }
    }
}
