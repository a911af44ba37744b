//! Operator requests for tasks and effects. Pages are read from the database. Retries and drops go through the
//! committer, each with its line in the operators' journal.

use super::operations::{HostOperations, failed};
use crate::{
    admin::{
        AdminError,
        operations::TasksQuery,
        wire::{self, TimestampText},
    },
    changes::{
        effect::{Effect, Outcome},
        operator_action::OperatorAction,
        scope::Scope,
        timer::{FaultHistory, TaskKey, TaskKind, Timer},
    },
    db::tasks::{StoredTask, TaskFilter},
    limits::TASKS_NAMED_MAX,
    tasks::{Intervention, intervene},
};

impl HostOperations {
    pub(super) async fn list_tasks(&self, query: TasksQuery) -> Result<wire::Page<wire::TaskStatus>, AdminError> {
        let TasksQuery { kind, plugin, tenant, given_up, after, limit } = query;
        let kind = from_wire(kind);
        let after = match &after {
            Some(text) => Some(parse_position(kind, text).ok_or_else(|| invalid_position(text))?),
            None => None,
        };
        let filter = TaskFilter { plugin, tenant, given_up, id: None };
        let found = self.database.list_tasks(kind, &filter, after.as_ref(), limit).await;
        let found = found.map_err(|error| failed(error.to_string()))?;
        if after.is_none() && found.is_empty() {
            self.check_filter(filter.plugin.as_deref(), filter.tenant.as_deref()).await?;
        }
        let last = found.last().filter(|_| found.len() >= limit as usize);
        let next = last.map(|last| position_text(&last.key));
        Ok(wire::Page { entries: found.iter().map(status).collect::<Result<_, _>>()?, next })
    }

    pub(super) async fn intervene_in_task(
        &self,
        task: wire::TaskSelector,
        operator: String,
        intervention: Intervention,
    ) -> Result<wire::TaskReport, AdminError> {
        let key = self.find_task(task).await?;
        let (plugin, tenant) = (key.scope.plugin().to_string(), key.scope.tenant().to_string());
        let action_name = match intervention {
            Intervention::Retry => "retry-task",
            Intervention::Drop => "drop-task",
        };
        let target = format!("{} of {tenant}", key.id);
        let action = OperatorAction::done(self.clock.now(), &operator, (&plugin, action_name), target);
        let done = intervene(&self.committer, &key, intervention, action).await;
        if !done.map_err(|error| failed(error.to_string()))? {
            return Err(unknown_task(key.kind, &key.id));
        }
        Ok(wire::TaskReport { plugin, tenant, id: key.id.to_string() })
    }

    /// Returns the task that the selector matches. Returns an error if it matches none or several.
    async fn find_task(&self, task: wire::TaskSelector) -> Result<TaskKey, AdminError> {
        let wire::TaskSelector { kind, plugin, tenant, id } = task;
        let kind = from_wire(kind);
        let filter = TaskFilter { plugin, tenant, given_up: false, id: Some(id.clone()) };
        let found = self.database.list_tasks(kind, &filter, None, TASKS_NAMED_MAX).await;
        let mut found = found.map_err(|error| failed(error.to_string()))?;
        if found.len() > 1 {
            let reason =
                |task: &StoredTask| format!("plugin {}, tenant {}", task.key.scope.plugin(), task.key.scope.tenant());
            return Err(AdminError::Conflict {
                message: format!("Several tasks have the id \"{id}\"."),
                reasons: found.iter().map(reason).collect(),
                hint: "Set plugin and tenant.".to_owned(),
            });
        }
        found.pop().map(|task| task.key).ok_or_else(|| unknown_task(kind, &id))
    }
}

fn from_wire(kind: wire::TaskKind) -> TaskKind {
    match kind {
        wire::TaskKind::Timer => TaskKind::Timer,
        wire::TaskKind::Effect => TaskKind::Effect,
    }
}

/// Renders the position after which the next page begins.
fn position_text(key: &TaskKey) -> String {
    serde_json::json!([&**key.scope.plugin(), &**key.scope.tenant(), &*key.id]).to_string()
}

fn parse_position(kind: TaskKind, text: &str) -> Option<TaskKey> {
    let (plugin, tenant, id): (String, String, String) = serde_json::from_str(text).ok()?;
    Some(TaskKey { scope: Scope::new(plugin.into(), tenant.into())?, kind, id: id.into() })
}

fn invalid_position(text: &str) -> AdminError {
    let hint = "Send the `next` of the previous page unchanged.".to_owned();
    AdminError::Invalid { message: format!("\"{text:.40}\" is not a position in this list."), hint }
}

fn unknown_task(kind: TaskKind, id: &str) -> AdminError {
    let (what, command) = match kind {
        TaskKind::Timer => ("task", "`tenon task list`"),
        TaskKind::Effect => ("effect", "`tenon effect list`"),
    };
    let hint = format!("{command} lists them. Completed ones are removed.");
    AdminError::NotFound { message: format!("There is no {what} \"{id}\"."), hint }
}

fn status(stored: &StoredTask) -> Result<wire::TaskStatus, AdminError> {
    let unreadable = |error: serde_json::Error| failed(format!("{} cannot be read: {error}", stored.key.id));
    match stored.key.kind {
        TaskKind::Timer => {
            let timer = Timer::parse(&stored.body).map_err(unreadable)?;
            Ok(task_status(stored, wire::TaskKind::Timer, timer.due, timer.fault_history, None))
        }
        TaskKind::Effect => {
            let effect = Effect::parse(&stored.body).map_err(unreadable)?;
            let call = wire::CallStatus {
                destination: effect.call.destination,
                method: effect.call.method,
                path: effect.call.path,
                attempts: effect.progress.attempts,
                failure: effect.progress.failure,
                outcome: effect.outcome.as_ref().map(outcome_text),
            };
            Ok(task_status(stored, wire::TaskKind::Effect, effect.due, effect.fault_history, Some(call)))
        }
    }
}

fn task_status(
    stored: &StoredTask,
    kind: wire::TaskKind,
    due: Option<u64>,
    fault_history: FaultHistory,
    call: Option<wire::CallStatus>,
) -> wire::TaskStatus {
    let is_settled = call.as_ref().is_some_and(|call| call.outcome.is_some());
    let state = match (due, is_settled) {
        (None, _) => "given-up",
        (Some(_), true) => "settled",
        (Some(_), false) => "waiting",
    };
    wire::TaskStatus {
        kind,
        plugin: stored.key.scope.plugin().to_string(),
        tenant: stored.key.scope.tenant().to_string(),
        id: stored.key.id.to_string(),
        state: state.to_owned(),
        due_at: due.map(TimestampText),
        created_at: TimestampText(stored.created_at),
        faults: fault_history.faults,
        fault: fault_history.fault,
        call,
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(response) => format!("answered {}", response.status),
        Outcome::NotSent(reason) => format!("not sent: {reason}"),
        Outcome::Unknown(reason) => format!("unknown: {reason}"),
    }
}
