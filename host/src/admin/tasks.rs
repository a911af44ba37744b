//! Tasks and effects: list, retry, drop. Retries and drops pass through the committer, each with its line in the
//! operators' journal.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    routing::post,
};
use http::Uri;
use serde::Deserialize;

use super::{
    AdminError, Services,
    inputs::{Operator, check_limit, read_json, read_options},
    routes::Routes,
    services::invalid_position,
    wire::{self, CallStatus, Page, TaskReport, TaskSelector, TaskStatus, TimestampText},
};
use crate::{
    changes::{
        effect::{Effect, Outcome},
        scope::Scope,
        timer::{TaskKey, TaskKind, Timer},
    },
    db::tasks::{StoredTask, TaskFilter},
    limits::TASKS_NAMED_MAX,
    tasks::{Intervention, intervene},
};

pub fn routes() -> Routes {
    Routes::default().read_with_options("/v1/tasks", list).action("retry-task", "/v1/tasks/retry", post(retry)).action(
        "drop-task",
        "/v1/tasks/drop",
        post(remove),
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    kind: wire::TaskKind,
    plugin: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    given_up: bool,
    after: Option<String>,
    limit: Option<u32>,
}

/// Lists tasks of one kind, ordered by plugin and tenant.
async fn list(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Page<TaskStatus>>, AdminError> {
    let hint =
        "The options are kind (timer, effect), plugin, tenant (acme/test), given_up=true, after, and limit=1..1000.";
    let Options { kind, plugin, tenant, given_up, after, limit } = read_options(&uri, hint)?;
    let limit = check_limit(limit, hint)?;
    let kind = stored_kind(kind);
    let after = match &after {
        Some(text) => Some(parse_position(kind, text).ok_or_else(|| invalid_position(text))?),
        None => None,
    };
    let filter = TaskFilter { plugin, tenant, given_up, id: None };
    let found = host.database.list_tasks(kind, &filter, after.as_ref(), limit).await.map_err(AdminError::failed)?;
    if after.is_none() && found.is_empty() {
        host.check_filter(filter.plugin.as_deref(), filter.tenant.as_deref()).await?;
    }
    let last = found.last().filter(|_| found.len() >= limit as usize);
    let next = last.map(|last| position_text(&last.key));
    Ok(Json(Page { entries: found.iter().map(task_status).collect::<Result<_, _>>()?, next }))
}

/// Runs a task now, with an empty fault history.
async fn retry(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<Json<TaskReport>, AdminError> {
    apply(&host, &operator, request, Intervention::Retry).await
}

/// Deletes a task.
async fn remove(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<Json<TaskReport>, AdminError> {
    apply(&host, &operator, request, Intervention::Drop).await
}

/// Applies an intervention to the task that the body selects.
async fn apply(
    host: &Services,
    operator: &Operator,
    request: Request,
    intervention: Intervention,
) -> Result<Json<TaskReport>, AdminError> {
    let hint = "Send kind (timer, effect) and id, and plugin and tenant if several have that id.";
    let selector: TaskSelector = read_json(request, hint).await?;
    let key = find_task(host, selector).await?;
    let (plugin, tenant) = (key.scope.plugin().to_string(), key.scope.tenant().to_string());
    let action = operator.done(host.clock.now(), &plugin, format!("{} of {tenant}", key.id));
    let applied = intervene(&host.committer, &key, intervention, action).await;
    if !applied.map_err(AdminError::failed)? {
        return Err(unknown_task(key.kind, &key.id));
    }
    Ok(Json(TaskReport { plugin, tenant, id: key.id.to_string() }))
}

/// Returns the task that the selector matches. Returns an error if it matches none or several.
async fn find_task(host: &Services, selector: TaskSelector) -> Result<TaskKey, AdminError> {
    let TaskSelector { kind, plugin, tenant, id } = selector;
    let kind = stored_kind(kind);
    let filter = TaskFilter { plugin, tenant, given_up: false, id: Some(id.clone()) };
    let found = host.database.list_tasks(kind, &filter, None, TASKS_NAMED_MAX).await;
    let mut found = found.map_err(AdminError::failed)?;
    if found.len() > 1 {
        let message = format!("Several tasks have the id \"{id}\".");
        let scopes = found.iter().map(|task| &task.key.scope);
        let reasons = scopes.map(|scope| format!("plugin {}, tenant {}", scope.plugin(), scope.tenant()));
        return Err(AdminError::conflict(message, reasons.collect(), "Set plugin and tenant."));
    }
    found.pop().map(|task| task.key).ok_or_else(|| unknown_task(kind, &id))
}

fn stored_kind(kind: wire::TaskKind) -> TaskKind {
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

fn unknown_task(kind: TaskKind, id: &str) -> AdminError {
    let (what, command) = match kind {
        TaskKind::Timer => ("task", "`tenon task list`"),
        TaskKind::Effect => ("effect", "`tenon effect list`"),
    };
    let hint = format!("{command} lists them. Completed ones are removed.");
    AdminError::not_found(format!("There is no {what} \"{id}\"."), hint)
}

fn task_status(stored: &StoredTask) -> Result<TaskStatus, AdminError> {
    let key = &stored.key;
    let unreadable = |error: serde_json::Error| AdminError::failed(format!("{} cannot be read: {error}", key.id));
    let (kind, due, fault_history, call) = match key.kind {
        TaskKind::Timer => {
            let timer = Timer::parse(&stored.body).map_err(unreadable)?;
            (wire::TaskKind::Timer, timer.due, timer.fault_history, None)
        }
        TaskKind::Effect => {
            let effect = Effect::parse(&stored.body).map_err(unreadable)?;
            let call = CallStatus {
                destination: effect.call.destination,
                method: effect.call.method,
                path: effect.call.path,
                attempts: effect.progress.attempts,
                failure: effect.progress.failure,
                outcome: effect.outcome.as_ref().map(outcome_text),
            };
            (wire::TaskKind::Effect, effect.due, effect.fault_history, Some(call))
        }
    };
    let state = match (due, &call) {
        (None, _) => "given-up",
        (Some(_), Some(CallStatus { outcome: Some(_), .. })) => "settled",
        (Some(_), _) => "waiting",
    };
    Ok(TaskStatus {
        kind,
        plugin: key.scope.plugin().to_string(),
        tenant: key.scope.tenant().to_string(),
        id: key.id.to_string(),
        state: state.to_owned(),
        due_at: due.map(TimestampText),
        created_at: TimestampText(stored.created_at),
        faults: fault_history.faults,
        fault: fault_history.fault,
        call,
    })
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(response) => format!("answered {}", response.status),
        Outcome::NotSent(reason) => format!("not sent: {reason}"),
        Outcome::Unknown(reason) => format!("unknown: {reason}"),
    }
}
