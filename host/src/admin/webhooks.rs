//! Webhooks: endpoints, deliveries, attempts, redelivery and recovery.
//!
//! The page of endpoints combines rows of the database with the state of the scheduler. Redeliveries and recoveries
//! pass through the committer, each with its line in the operators' journal.

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
    wire::{
        AttemptStatus, DeliveryStatus, DisabledStatus, EndpointStatus, LiveStatus, Page, RecoverRequest,
        RedeliverRequest, ResendReport, TimestampText,
    },
};
use crate::{
    changes::{endpoint::Endpoint, operator_action::OperatorAction},
    db::{
        apply::{EventSeq, QueueId},
        deliveries::{DeliveryState, EndpointDelivery, EndpointFilter, EndpointRow, StoredAttempt},
    },
    delivery::{EndpointCommand, apply_operator_command, schedule::QueueView},
    limits::ENDPOINTS_NAMED_MAX,
};

pub fn routes() -> Routes {
    Routes::default()
        .read_with_options("/v1/webhooks/endpoints", list_endpoints)
        .read_with_options("/v1/webhooks/deliveries", list_deliveries)
        .read_with_options("/v1/webhooks/attempts", list_attempts)
        .action("redeliver", "/v1/webhooks/redeliver", post(redeliver))
        .action("recover", "/v1/webhooks/recover", post(recover))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointsOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

/// Lists endpoints in the order of their creation.
async fn list_endpoints(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Page<EndpointStatus>>, AdminError> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, after, and limit=1..1000.";
    let EndpointsOptions { plugin, tenant, endpoint, after, limit } = read_options(&uri, hint)?;
    let limit = check_limit(limit, hint)?;
    let filter = EndpointFilter { plugin, tenant, endpoint };
    let position = match &after {
        Some(text) => text.parse::<QueueId>().map_err(|_| invalid_position(text))?,
        None => QueueId::default(),
    };
    let rows = host.database.search_endpoints(&filter, position, limit).await.map_err(AdminError::failed)?;
    if after.is_none() && rows.is_empty() {
        host.check_filter(filter.plugin.as_deref(), filter.tenant.as_deref()).await?;
    }
    let last = rows.last().filter(|_| rows.len() >= limit as usize);
    let next = last.map(|row| row.queue.to_string());
    let mut views = host.views.find(rows.iter().map(|row| row.queue).collect()).await;
    let entries = rows.into_iter().map(|row| {
        let view = views.remove(&row.queue);
        endpoint_status(row, view)
    });
    Ok(Json(Page { entries: entries.collect::<Result<_, _>>()?, next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveriesOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: Option<String>,
    state: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

/// Lists deliveries, grouped by endpoint and newest first.
async fn list_deliveries(
    State(host): State<Arc<Services>>,
    uri: Uri,
) -> Result<Json<Page<DeliveryStatus>>, AdminError> {
    let hint = "The options are plugin, tenant (acme/test), endpoint, state (pending, retrying, delivered, failed), after, \
                and limit=1..1000.";
    let DeliveriesOptions { plugin, tenant, endpoint, state, after, limit } = read_options(&uri, hint)?;
    let limit = check_limit(limit, hint)?;
    let filter = EndpointFilter { plugin, tenant, endpoint };
    let state = match &state {
        Some(name) => Some(DeliveryState::parse(name).ok_or_else(|| unknown_state(name))?),
        None => None,
    };
    let position = match &after {
        Some(text) => parse_position(text).ok_or_else(|| invalid_position(text))?,
        None => (QueueId::default(), EventSeq::MAX),
    };
    let rows = host.database.search_deliveries(&filter, state, position, limit).await.map_err(AdminError::failed)?;
    if after.is_none() && rows.is_empty() {
        host.check_filter(filter.plugin.as_deref(), filter.tenant.as_deref()).await?;
        check_endpoint(&host, &filter).await?;
    }
    let last = rows.last().filter(|_| rows.len() >= limit as usize);
    let next = last.map(|row| format!("{}-{}", row.queue, row.delivery.seq));
    Ok(Json(Page { entries: rows.into_iter().map(delivery_status).collect(), next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttemptsOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    endpoint: String,
    event: String,
}

/// Lists the attempts of one delivery.
async fn list_attempts(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Vec<AttemptStatus>>, AdminError> {
    let hint = "The options are endpoint and event, and plugin and tenant if several endpoints have that id.";
    let AttemptsOptions { plugin, tenant, endpoint, event } = read_options(&uri, hint)?;
    let row = find_endpoint(&host, plugin, tenant, endpoint).await?;
    let attempts = host.database.find_attempts(&row.scope, &row.id, &event).await.map_err(AdminError::failed)?;
    if attempts.is_empty() {
        check_event(&host, &row, &event).await?;
    }
    Ok(Json(attempts.into_iter().map(attempt_status).collect()))
}

/// Sends one event to one endpoint again, immediately.
async fn redeliver(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<Json<ResendReport>, AdminError> {
    let hint = "Send endpoint and event, and optionally plugin and tenant.";
    let RedeliverRequest { plugin, tenant, endpoint, event } = read_json(request, hint).await?;
    let row = find_endpoint(&host, plugin, tenant, endpoint).await?;
    check_event(&host, &row, &event).await?;
    let target = format!("{event} to {} of {}", row.id, row.scope.tenant());
    let action = operator.done(host.clock.now(), row.scope.plugin(), target);
    let command = EndpointCommand::Redeliver { event: event.into() };
    Ok(Json(resend(&host, &row, &command, action, 1).await?))
}

/// Sends again, immediately, all deliveries to an endpoint that were given up since a time.
async fn recover(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<Json<ResendReport>, AdminError> {
    let hint = "Send endpoint and since (2026-01-02T03:04:05Z), and optionally plugin and tenant.";
    let RecoverRequest { plugin, tenant, endpoint, since } = read_json(request, hint).await?;
    let row = find_endpoint(&host, plugin, tenant, endpoint).await?;
    let count = host.database.count_given_up(row.queue, since.0).await.map_err(AdminError::failed)?;
    let target = format!("{count} deliveries to {} of {}, given up since {since}", row.id, row.scope.tenant());
    let action = operator.done(host.clock.now(), row.scope.plugin(), target);
    Ok(Json(resend(&host, &row, &EndpointCommand::Recover { since: since.0 }, action, count).await?))
}

/// Applies the command. `deliveries` is the number of deliveries that it sends again.
async fn resend(
    host: &Services,
    row: &EndpointRow,
    command: &EndpointCommand,
    action: OperatorAction,
    deliveries: u64,
) -> Result<ResendReport, AdminError> {
    let enabled = parse_endpoint(row)?.is_active();
    let applied = apply_operator_command(&host.committer, &row.scope, &row.id, command, action).await;
    if !applied.map_err(AdminError::failed)? {
        return Err(unknown_endpoint(row.id.as_str()));
    }
    Ok(ResendReport {
        plugin: row.scope.plugin().to_string(),
        tenant: row.scope.tenant().to_string(),
        endpoint: row.id.to_string(),
        deliveries,
        enabled,
    })
}

/// Returns the endpoint with this id. Returns an error if there is none, or if several plugins or tenants have one.
async fn find_endpoint(
    host: &Services,
    plugin: Option<String>,
    tenant: Option<String>,
    id: String,
) -> Result<EndpointRow, AdminError> {
    let filter = EndpointFilter { plugin, tenant, endpoint: Some(id.clone()) };
    let rows = host.database.search_endpoints(&filter, QueueId::default(), ENDPOINTS_NAMED_MAX).await;
    let mut rows = rows.map_err(AdminError::failed)?;
    if rows.len() > 1 {
        let message = format!("Several endpoints have the id \"{id}\".");
        let reasons = rows.iter().map(|row| format!("plugin {}, tenant {}", row.scope.plugin(), row.scope.tenant()));
        return Err(AdminError::conflict(message, reasons.collect(), "Specify the plugin and the tenant."));
    }
    rows.pop().ok_or_else(|| unknown_endpoint(&id))
}

/// Checks that the filter's endpoint exists, if the filter has one.
async fn check_endpoint(host: &Services, filter: &EndpointFilter) -> Result<(), AdminError> {
    let Some(id) = &filter.endpoint else { return Ok(()) };
    let rows = host.database.search_endpoints(filter, QueueId::default(), 1).await.map_err(AdminError::failed)?;
    if rows.is_empty() { Err(unknown_endpoint(id)) } else { Ok(()) }
}

/// Checks that the plugin and tenant of the endpoint have this event.
async fn check_event(host: &Services, row: &EndpointRow, event: &str) -> Result<(), AdminError> {
    if host.database.find_event(&row.scope, event).await.map_err(AdminError::failed)?.is_some() {
        return Ok(());
    }
    let message = format!("{} of {} has no event \"{event}\".", row.scope.tenant(), row.scope.plugin());
    let hint = "`tenon webhook deliveries` lists the deliveries. Retention may have deleted older events.";
    Err(AdminError::not_found(message, hint))
}

/// Parses a page position: "7-123" is the delivery of event 123 in queue 7.
fn parse_position(text: &str) -> Option<(QueueId, EventSeq)> {
    let (queue, event) = text.split_once('-')?;
    Some((queue.parse().ok()?, event.parse().ok()?))
}

fn unknown_state(name: &str) -> AdminError {
    let hint = "The states are pending, retrying, delivered and failed.";
    AdminError::invalid(format!("There is no state \"{name:.40}\"."), hint)
}

fn unknown_endpoint(id: &str) -> AdminError {
    let hint = "`tenon webhook endpoints` lists the endpoints.";
    AdminError::not_found(format!("There is no endpoint \"{id}\"."), hint)
}

fn parse_endpoint(row: &EndpointRow) -> Result<Endpoint, AdminError> {
    let parsed = Endpoint::parse(&row.body);
    parsed.map_err(|error| AdminError::failed(format!("The endpoint {} cannot be read: {error}", row.id)))
}

fn endpoint_status(row: EndpointRow, view: Option<QueueView>) -> Result<EndpointStatus, AdminError> {
    let endpoint = parse_endpoint(&row)?;
    let enabled = endpoint.is_active();
    let disabled = match endpoint.disabled {
        Some(by_host) => Some(DisabledStatus { at: Some(TimestampText(by_host.at)), reason: by_host.reason }),
        None if endpoint.enabled => None,
        None => Some(DisabledStatus { at: None, reason: "by the plugin".to_owned() }),
    };
    Ok(EndpointStatus {
        plugin: row.scope.plugin().to_string(),
        tenant: row.scope.tenant().to_string(),
        id: row.id.to_string(),
        url: endpoint.url,
        event_types: endpoint.event_types,
        subjects: endpoint.subjects,
        enabled,
        disabled,
        failing_since: row.failing_since.map(TimestampText),
        pending: row.pending,
        retrying: row.retrying,
        failed: row.failed,
        oldest_waiting_at: row.oldest_at.map(TimestampText),
        live: view.map(|view| LiveStatus { in_flight: view.in_flight, breaker_open: view.breaker_open }),
    })
}

fn delivery_status(row: EndpointDelivery) -> DeliveryStatus {
    let EndpointDelivery { scope, endpoint, delivery, .. } = row;
    DeliveryStatus {
        plugin: scope.plugin().to_string(),
        tenant: scope.tenant().to_string(),
        endpoint: endpoint.to_string(),
        event: delivery.event.to_string(),
        event_type: delivery.event_type.to_string(),
        subject: delivery.subject.to_string(),
        state: delivery.state.name().to_owned(),
        attempts: delivery.attempts,
        created_at: TimestampText(delivery.created_at),
        next_at: delivery.next_at.map(TimestampText),
    }
}

fn attempt_status(attempt: StoredAttempt) -> AttemptStatus {
    AttemptStatus {
        number: attempt.number,
        at: TimestampText(attempt.at),
        duration_ms: attempt.duration_ms,
        outcome: attempt.outcome,
        status: attempt.status,
        answer: String::from_utf8_lossy(&attempt.response).into_owned(),
    }
}
