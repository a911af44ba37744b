//! Handlers of webhooks: endpoints, deliveries, attempts, redelivery and recovery.

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
    operations::{AttemptsQuery, DeliveriesQuery, EndpointsQuery, Operations},
    plugins::operator,
    wire::{
        AttemptStatus, DeliveryStatus, EndpointSelector, EndpointStatus, Page, RecoverRequest, RedeliverRequest,
        ResendReport,
    },
};
use crate::limits::{ADMIN_WEBHOOKS_DEFAULT, ADMIN_WEBHOOKS_MAX};

type JsonResult<T> = Result<Json<T>, HttpError>;

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

pub async fn endpoints<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Page<EndpointStatus>> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, after, and limit=1..1000.";
    let EndpointsOptions { plugin, tenant, endpoint, after, limit } = read_options(&uri, hint)?;
    let query = EndpointsQuery {
        filter: EndpointSelector { plugin, tenant, endpoint },
        after,
        limit: check_limit(limit, hint)?,
    };
    Ok(Json(operations.webhook_endpoints(query).await?))
}

pub async fn deliveries<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Page<DeliveryStatus>> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, state (pending, retrying, delivered, failed), after, \
                and limit=1..1000.";
    let DeliveriesOptions { plugin, tenant, endpoint, state, after, limit } = read_options(&uri, hint)?;
    let filter = EndpointSelector { plugin, tenant, endpoint };
    let query = DeliveriesQuery { filter, state, after, limit: check_limit(limit, hint)? };
    Ok(Json(operations.webhook_deliveries(query).await?))
}

pub async fn attempts<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Vec<AttemptStatus>> {
    let hint = "The options are endpoint and event, and plugin and tenant if several endpoints have that id.";
    let AttemptsOptions { plugin, tenant, endpoint, event } = read_options(&uri, hint)?;
    let endpoint = EndpointSelector { plugin, tenant, endpoint: Some(endpoint) };
    Ok(Json(operations.webhook_attempts(AttemptsQuery { endpoint, event }).await?))
}

pub async fn redeliver<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> JsonResult<ResendReport> {
    let hint = "Send endpoint and event, and optionally plugin and tenant.";
    let redelivery: RedeliverRequest = read_json(request, hint).await?;
    Ok(Json(operations.redeliver(redelivery, operator(&headers)).await?))
}

pub async fn recover<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> JsonResult<ResendReport> {
    let hint = "Send endpoint and since (2026-01-02T03:04:05Z), and optionally plugin and tenant.";
    let recovery: RecoverRequest = read_json(request, hint).await?;
    Ok(Json(operations.recover(recovery, operator(&headers)).await?))
}

/// Returns the page size, or an error if it is out of range.
pub(super) fn check_limit(limit: Option<u32>, hint: &str) -> Result<u32, HttpError> {
    let limit = limit.unwrap_or(ADMIN_WEBHOOKS_DEFAULT);
    if (1..=ADMIN_WEBHOOKS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(HttpError::invalid(format!("limit must be from 1 to {ADMIN_WEBHOOKS_MAX}, not {limit}."), hint))
}
