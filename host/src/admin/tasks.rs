//! Tasks and effects: what waits, what was given up, once more, never again.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    asked::{read_json, read_options},
    operations::{Operations, TasksQuestion},
    plugins::operator,
    problem::Rejection,
    webhooks::within,
    wire::{Page, TaskName, TaskReport, TaskSort, TaskStatus},
};

type Answer<T> = Result<Json<T>, Rejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TasksOptions {
    kind: TaskSort,
    plugin: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    given_up: bool,
    after: Option<String>,
    limit: Option<u32>,
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Page<TaskStatus>> {
    let hint =
        "The options are kind (timer, effect), plugin, tenant (acme/test), given_up=true, after, and limit=1..1000.";
    let TasksOptions { kind, plugin, tenant, given_up, after, limit } = read_options(&uri, hint)?;
    let question = TasksQuestion { kind, plugin, tenant, given_up, after, limit: within(limit, hint)? };
    Ok(Json(operations.tasks(question).await?))
}

const NAMED: &str = "Send kind (timer, effect) and id; plugin and tenant where several have that id.";

pub async fn retry<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Answer<TaskReport> {
    let name: TaskName = read_json(request, NAMED).await?;
    Ok(Json(operations.retry_task(name, operator(&headers)).await?))
}

pub async fn remove<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Answer<TaskReport> {
    let name: TaskName = read_json(request, NAMED).await?;
    Ok(Json(operations.drop_task(name, operator(&headers)).await?))
}
