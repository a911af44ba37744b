//! Handlers of tasks and effects: list, retry, drop.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    error::HttpError,
    inputs::{read_json, read_options},
    operations::{Operations, TasksQuery},
    plugins::operator,
    webhooks::check_limit,
    wire::{Page, TaskKind, TaskReport, TaskSelector, TaskStatus},
};

type JsonResult<T> = Result<Json<T>, HttpError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TasksOptions {
    kind: TaskKind,
    plugin: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    given_up: bool,
    after: Option<String>,
    limit: Option<u32>,
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Page<TaskStatus>> {
    let hint =
        "The options are kind (timer, effect), plugin, tenant (acme/test), given_up=true, after, and limit=1..1000.";
    let TasksOptions { kind, plugin, tenant, given_up, after, limit } = read_options(&uri, hint)?;
    let query = TasksQuery { kind, plugin, tenant, given_up, after, limit: check_limit(limit, hint)? };
    Ok(Json(operations.tasks(query).await?))
}

const SELECTOR_HINT: &str = "Send kind (timer, effect) and id, and plugin and tenant if several have that id.";

pub async fn retry<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> JsonResult<TaskReport> {
    let task: TaskSelector = read_json(request, SELECTOR_HINT).await?;
    Ok(Json(operations.retry_task(task, operator(&headers)).await?))
}

pub async fn remove<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> JsonResult<TaskReport> {
    let task: TaskSelector = read_json(request, SELECTOR_HINT).await?;
    Ok(Json(operations.drop_task(task, operator(&headers)).await?))
}
