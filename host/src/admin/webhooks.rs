//! Webhooks: endpoints, deliveries, attempts, and what is to be sent again.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    asked::{read_json, read_options},
    operations::{AttemptsQuestion, DeliveriesQuestion, EndpointsQuestion, Operations},
    plugins::operator,
    problem::Rejection,
    wire::{AttemptStatus, DeliveryStatus, EndpointName, EndpointStatus, Page, Recover, Redeliver, ResendReport},
};
use crate::limits::{ADMIN_WEBHOOKS_DEFAULT, ADMIN_WEBHOOKS_MAX};

type Answer<T> = Result<Json<T>, Rejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointsOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveriesOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: Option<String>,
    state: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptsOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: String,
    event: String,
}

pub async fn endpoints<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Page<EndpointStatus>> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, after, and limit=1..1000.";
    let EndpointsOptions { plugin, tenant, endpoint, after, limit } = read_options(&uri, hint)?;
    let question =
        EndpointsQuestion { filter: EndpointName { plugin, tenant, endpoint }, after, limit: within(limit, hint)? };
    Ok(Json(operations.webhook_endpoints(question).await?))
}

pub async fn deliveries<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Page<DeliveryStatus>> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, state (pending, retrying, delivered, failed), after, \
                and limit=1..1000.";
    let DeliveriesOptions { plugin, tenant, endpoint, state, after, limit } = read_options(&uri, hint)?;
    let filter = EndpointName { plugin, tenant, endpoint };
    let question = DeliveriesQuestion { filter, state, after, limit: within(limit, hint)? };
    Ok(Json(operations.webhook_deliveries(question).await?))
}

pub async fn attempts<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Vec<AttemptStatus>> {
    let hint = "The options are endpoint and event, and plugin and tenant where several endpoints have that id.";
    let AttemptsOptions { plugin, tenant, endpoint, event } = read_options(&uri, hint)?;
    let endpoint = EndpointName { plugin, tenant, endpoint: Some(endpoint) };
    Ok(Json(operations.webhook_attempts(AttemptsQuestion { endpoint, event }).await?))
}

pub async fn redeliver<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Answer<ResendReport> {
    let wish: Redeliver = read_json(request, "Send endpoint and event; plugin and tenant if wanted.").await?;
    Ok(Json(operations.redeliver(wish, operator(&headers)).await?))
}

pub async fn recover<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Answer<ResendReport> {
    let hint = "Send endpoint and since (2026-01-02T03:04:05Z); plugin and tenant if wanted.";
    let wish: Recover = read_json(request, hint).await?;
    Ok(Json(operations.recover(wish, operator(&headers)).await?))
}

pub(super) fn within(limit: Option<u32>, hint: &str) -> Result<u32, Rejection> {
    let limit = limit.unwrap_or(ADMIN_WEBHOOKS_DEFAULT);
    if (1..=ADMIN_WEBHOOKS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Rejection::invalid(format!("limit cannot be {limit}."), hint))
}
