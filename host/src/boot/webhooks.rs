//! Admin operations for webhooks. Pages combine rows of the database with the state of the scheduler. Redeliveries and
//! recoveries pass through the committer, each with an entry in the audit log.

use super::operations::{HostOperations, failed};
use crate::{
    admin::{
        AdminError,
        operations::{AttemptsQuery, DeliveriesQuery, EndpointsQuery},
        wire::{self, TimestampText},
    },
    changes::{endpoint::Endpoint, operator_action::OperatorAction},
    db::{
        apply::{EventSeq, QueueId},
        deliveries::{DeliveryState, EndpointDelivery, EndpointFilter, EndpointRow, StoredAttempt},
    },
    delivery::{EndpointCommand, apply_operator_command, schedule::QueueView},
    limits::ENDPOINTS_NAMED_MAX,
};

impl HostOperations {
    pub(super) async fn search_endpoints(
        &self,
        query: EndpointsQuery,
    ) -> Result<wire::Page<wire::EndpointStatus>, AdminError> {
        let EndpointsQuery { filter, after, limit } = query;
        let (plugin, tenant, is_first) = (filter.plugin.clone(), filter.tenant.clone(), after.is_none());
        let after = match after {
            Some(text) => text.parse::<QueueId>().map_err(|_| invalid_position(&text))?,
            None => 0,
        };
        let rows = self.database.search_endpoints(&to_filter(filter), after, limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if is_first && rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        let next = rows.last().filter(|_| rows.len() >= limit as usize).map(|row| row.queue.to_string());
        let mut views = self.views.find(rows.iter().map(|row| row.queue).collect()).await;
        let entries = rows.into_iter().map(|row| {
            let view = views.remove(&row.queue);
            endpoint_status(row, view)
        });
        Ok(wire::Page { entries: entries.collect::<Result<_, _>>()?, next })
    }

    pub(super) async fn search_deliveries(
        &self,
        query: DeliveriesQuery,
    ) -> Result<wire::Page<wire::DeliveryStatus>, AdminError> {
        let DeliveriesQuery { filter, state, after, limit } = query;
        let (plugin, tenant, is_first) = (filter.plugin.clone(), filter.tenant.clone(), after.is_none());
        let filter = to_filter(filter);
        let state = match state.as_deref() {
            Some(name) => Some(DeliveryState::parse(name).ok_or_else(|| unknown_state(name))?),
            None => None,
        };
        let after = match after {
            Some(text) => parse_position(&text).ok_or_else(|| invalid_position(&text))?,
            None => (0, EventSeq::MAX),
        };
        let rows = self.database.search_deliveries(&filter, state, after, limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if is_first && rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
            self.check_endpoint(&filter).await?;
        }
        let last = rows.last().filter(|_| rows.len() >= limit as usize);
        let next = last.map(|row| format!("{}-{}", row.queue, row.delivery.seq));
        Ok(wire::Page { entries: rows.into_iter().map(delivery_status).collect(), next })
    }

    /// Checks that the filter's endpoint exists.
    ///
    /// # Errors
    /// The filter names an endpoint that does not exist.
    async fn check_endpoint(&self, filter: &EndpointFilter) -> Result<(), AdminError> {
        let Some(endpoint) = &filter.endpoint else { return Ok(()) };
        let rows = self.database.search_endpoints(filter, 0, 1).await.map_err(|error| failed(error.to_string()))?;
        if rows.is_empty() { Err(unknown_endpoint(endpoint)) } else { Ok(()) }
    }

    pub(super) async fn list_attempts(
        &self,
        AttemptsQuery { endpoint, event }: AttemptsQuery,
    ) -> Result<Vec<wire::AttemptStatus>, AdminError> {
        let row = self.find_endpoint(endpoint).await?;
        let attempts = self.database.find_attempts(&row.scope, &row.id, &event).await;
        let attempts = attempts.map_err(|error| failed(error.to_string()))?;
        if attempts.is_empty() && !self.has_event(&row, &event).await? {
            return Err(unknown_event(&row, &event));
        }
        Ok(attempts.into_iter().map(attempt_status).collect())
    }

    pub(super) async fn redeliver_webhook(
        &self,
        request: wire::RedeliverRequest,
        operator: String,
    ) -> Result<wire::ResendReport, AdminError> {
        let wire::RedeliverRequest { plugin, tenant, endpoint, event } = request;
        let row = self.find_endpoint(wire::EndpointSelector { plugin, tenant, endpoint: Some(endpoint) }).await?;
        if !self.has_event(&row, &event).await? {
            return Err(unknown_event(&row, &event));
        }
        let details = format!("{event} to {} of {}", row.id, row.scope.tenant());
        let action = OperatorAction::done(self.clock.now(), &operator, (row.scope.plugin(), "redeliver"), details);
        self.send_again(row, EndpointCommand::Redeliver { event: event.into() }, 1, action).await
    }

    pub(super) async fn recover_webhooks(
        &self,
        request: wire::RecoverRequest,
        operator: String,
    ) -> Result<wire::ResendReport, AdminError> {
        let wire::RecoverRequest { plugin, tenant, endpoint, since } = request;
        let row = self.find_endpoint(wire::EndpointSelector { plugin, tenant, endpoint: Some(endpoint) }).await?;
        let count = self.database.count_given_up(row.queue, since.0).await;
        let count = count.map_err(|error| failed(error.to_string()))?;
        let details = format!("{count} deliveries to {} of {}, given up since {since}", row.id, row.scope.tenant());
        let action = OperatorAction::done(self.clock.now(), &operator, (row.scope.plugin(), "recover"), details);
        self.send_again(row, EndpointCommand::Recover { since: since.0 }, count, action).await
    }

    async fn send_again(
        &self,
        row: EndpointRow,
        command: EndpointCommand,
        deliveries: u64,
        action: OperatorAction,
    ) -> Result<wire::ResendReport, AdminError> {
        let done = apply_operator_command(&self.committer, &row.scope, &row.id, &command, action).await;
        if !done.map_err(|error| failed(error.to_string()))? {
            return Err(unknown_endpoint(&row.id));
        }
        Ok(wire::ResendReport {
            plugin: row.scope.plugin().to_string(),
            tenant: row.scope.tenant().to_string(),
            endpoint: row.id.to_string(),
            deliveries,
            enabled: parse(&row)?.is_active(),
        })
    }

    /// Returns the only endpoint that the selector matches.
    ///
    /// # Errors
    /// No endpoint matches, or several do.
    async fn find_endpoint(&self, selector: wire::EndpointSelector) -> Result<EndpointRow, AdminError> {
        let id = selector.endpoint.clone().unwrap_or_default();
        let rows = self.database.search_endpoints(&to_filter(selector), 0, ENDPOINTS_NAMED_MAX).await;
        let mut rows = rows.map_err(|error| failed(error.to_string()))?;
        if rows.len() > 1 {
            let reasons =
                rows.iter().map(|row| format!("plugin {}, tenant {}", row.scope.plugin(), row.scope.tenant()));
            return Err(AdminError::Conflict {
                message: format!("Several endpoints have the id \"{id}\"."),
                reasons: reasons.collect(),
                hint: "Specify the plugin and the tenant.".to_owned(),
            });
        }
        rows.pop().ok_or_else(|| unknown_endpoint(&id))
    }

    async fn has_event(&self, row: &EndpointRow, event: &str) -> Result<bool, AdminError> {
        let found = self.database.find_event(&row.scope, event).await.map_err(|error| failed(error.to_string()))?;
        Ok(found.is_some())
    }
}

fn to_filter(selector: wire::EndpointSelector) -> EndpointFilter {
    let wire::EndpointSelector { plugin, tenant, endpoint } = selector;
    EndpointFilter { plugin, tenant, endpoint }
}

/// Parses a page position: "7-123" is the delivery of event 123 in queue 7.
fn parse_position(text: &str) -> Option<(QueueId, EventSeq)> {
    let (queue, event) = text.split_once('-')?;
    Some((queue.parse().ok()?, event.parse().ok()?))
}

fn invalid_position(text: &str) -> AdminError {
    let hint = "Send the `next` of the previous page unchanged.".to_owned();
    AdminError::Invalid { message: format!("\"{text:.40}\" is not a position in this list."), hint }
}

fn unknown_state(name: &str) -> AdminError {
    let hint = "The states are pending, retrying, delivered and failed.".to_owned();
    AdminError::Invalid { message: format!("There is no state \"{name:.40}\"."), hint }
}

fn unknown_endpoint(id: &str) -> AdminError {
    let hint = "`tenon webhook endpoints` lists the endpoints.".to_owned();
    AdminError::NotFound { message: format!("There is no endpoint \"{id}\"."), hint }
}

fn unknown_event(row: &EndpointRow, event: &str) -> AdminError {
    let message = format!("{} of {} has no event \"{event}\".", row.scope.tenant(), row.scope.plugin());
    let hint = "`tenon webhook deliveries` lists the deliveries. Retention may have deleted older events.".to_owned();
    AdminError::NotFound { message, hint }
}

fn parse(row: &EndpointRow) -> Result<Endpoint, AdminError> {
    Endpoint::parse(&row.body).map_err(|error| failed(format!("The endpoint {} cannot be read: {error}", row.id)))
}

fn endpoint_status(row: EndpointRow, view: Option<QueueView>) -> Result<wire::EndpointStatus, AdminError> {
    let endpoint = parse(&row)?;
    let by_plugin = || wire::DisabledStatus { at: None, reason: "by the plugin".to_owned() };
    let by_host = endpoint.disabled.as_ref();
    let by_host = by_host
        .map(|disabled| wire::DisabledStatus { at: Some(TimestampText(disabled.at)), reason: disabled.reason.clone() });
    Ok(wire::EndpointStatus {
        plugin: row.scope.plugin().to_string(),
        tenant: row.scope.tenant().to_string(),
        id: row.id.to_string(),
        enabled: endpoint.is_active(),
        disabled: by_host.or_else(|| (!endpoint.enabled).then(by_plugin)),
        url: endpoint.url,
        event_types: endpoint.event_types,
        subjects: endpoint.subjects,
        failing_since: row.failing_since.map(TimestampText),
        pending: row.pending,
        retrying: row.retrying,
        failed: row.failed,
        oldest_waiting_at: row.oldest_at.map(TimestampText),
        live: view.map(|view| wire::LiveStatus { in_flight: view.in_flight, breaker_open: view.breaker_open }),
    })
}

fn delivery_status(row: EndpointDelivery) -> wire::DeliveryStatus {
    let EndpointDelivery { scope, endpoint, delivery, .. } = row;
    wire::DeliveryStatus {
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

fn attempt_status(attempt: StoredAttempt) -> wire::AttemptStatus {
    wire::AttemptStatus {
        number: attempt.number,
        at: TimestampText(attempt.at),
        duration_ms: attempt.duration_ms,
        outcome: attempt.outcome,
        status: attempt.status,
        answer: String::from_utf8_lossy(&attempt.response).into_owned(),
    }
}
