//! What operators ask about webhooks, connected: pages out of the database, together with what the scheduler knows; what is
//! sent again, through the committer, each with its line in the journal.

use super::operations::{Connected, failed};
use crate::{
    admin::{
        Refusal,
        operations::{AttemptsQuestion, DeliveriesQuestion, EndpointsQuestion},
        wire::{self, Moment},
    },
    changes::{endpoint::Endpoint, operator_action::OperatorAction},
    db::{
        apply::{EventSeq, Lane},
        deliveries::{DeliveryState, EndpointFilter, EndpointRow, StoredAttempt, SurveyedDelivery},
    },
    delivery::{Change, change_for_operator, schedule::LaneView},
    limits::ENDPOINTS_NAMED_MAX,
};

impl Connected {
    pub(super) async fn survey_endpoints(
        &self,
        question: EndpointsQuestion,
    ) -> Result<wire::Page<wire::EndpointStatus>, Refusal> {
        let EndpointsQuestion { filter, after, limit } = question;
        let (plugin, tenant, is_first) = (filter.plugin.clone(), filter.tenant.clone(), after.is_none());
        let after = match after {
            Some(text) => text.parse::<Lane>().map_err(|_| wrong_page(&text))?,
            None => 0,
        };
        let rows = self.database.survey_endpoints(&to_filter(filter), after, limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if is_first && rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        let next = rows.last().filter(|_| rows.len() >= limit as usize).map(|row| row.lane.to_string());
        let mut views = self.views.find(rows.iter().map(|row| row.lane).collect()).await;
        let entries = rows.into_iter().map(|row| {
            let view = views.remove(&row.lane);
            endpoint_status(row, view)
        });
        Ok(wire::Page { entries: entries.collect::<Result<_, _>>()?, next })
    }

    pub(super) async fn survey_deliveries(
        &self,
        question: DeliveriesQuestion,
    ) -> Result<wire::Page<wire::DeliveryStatus>, Refusal> {
        let DeliveriesQuestion { filter, state, after, limit } = question;
        let (plugin, tenant, is_first) = (filter.plugin.clone(), filter.tenant.clone(), after.is_none());
        let name = to_filter(filter);
        let state = match state.as_deref() {
            Some(name) => Some(DeliveryState::parse(name).ok_or_else(|| no_such_state(name))?),
            None => None,
        };
        let after = match after {
            Some(text) => place(&text).ok_or_else(|| wrong_page(&text))?,
            None => (0, EventSeq::MAX),
        };
        let rows = self.database.survey_deliveries(&name, state, after, limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if is_first && rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
            self.check_endpoint(&name).await?;
        }
        let last = rows.last().filter(|_| rows.len() >= limit as usize);
        let next = last.map(|row| format!("{}-{}", row.lane, row.delivery.seq));
        Ok(wire::Page { entries: rows.into_iter().map(delivery_status).collect(), next })
    }

    /// # Errors
    /// The filter names an endpoint that does not exist.
    async fn check_endpoint(&self, filter: &EndpointFilter) -> Result<(), Refusal> {
        let Some(endpoint) = &filter.endpoint else { return Ok(()) };
        let rows = self.database.survey_endpoints(filter, 0, 1).await.map_err(|error| failed(error.to_string()))?;
        if rows.is_empty() { Err(no_such_endpoint(endpoint)) } else { Ok(()) }
    }

    pub(super) async fn survey_attempts(
        &self,
        AttemptsQuestion { endpoint, event }: AttemptsQuestion,
    ) -> Result<Vec<wire::AttemptStatus>, Refusal> {
        let row = self.find_one(endpoint).await?;
        let attempts = self.database.find_attempts(&row.scope, &row.id, &event).await;
        let attempts = attempts.map_err(|error| failed(error.to_string()))?;
        if attempts.is_empty() && !self.has_event(&row, &event).await? {
            return Err(no_such_event(&row, &event));
        }
        Ok(attempts.into_iter().map(attempt_status).collect())
    }

    pub(super) async fn redeliver_webhook(
        &self,
        wish: wire::Redeliver,
        who: String,
    ) -> Result<wire::ResendReport, Refusal> {
        let wire::Redeliver { plugin, tenant, endpoint, event } = wish;
        let row = self.find_one(wire::EndpointName { plugin, tenant, endpoint: Some(endpoint) }).await?;
        if !self.has_event(&row, &event).await? {
            return Err(no_such_event(&row, &event));
        }
        let what = format!("{event} to {} of {}", row.id, row.scope.tenant());
        let action = OperatorAction::done(self.clock.now(), &who, (row.scope.plugin(), "redeliver"), what);
        self.send_again(row, Change::Redeliver { event: event.into() }, 1, action).await
    }

    pub(super) async fn recover_webhooks(
        &self,
        wish: wire::Recover,
        who: String,
    ) -> Result<wire::ResendReport, Refusal> {
        let wire::Recover { plugin, tenant, endpoint, since } = wish;
        let row = self.find_one(wire::EndpointName { plugin, tenant, endpoint: Some(endpoint) }).await?;
        let count = self.database.count_given_up(row.lane, since.0).await;
        let count = count.map_err(|error| failed(error.to_string()))?;
        let what = format!("{count} deliveries to {} of {}, given up since {since}", row.id, row.scope.tenant());
        let action = OperatorAction::done(self.clock.now(), &who, (row.scope.plugin(), "recover"), what);
        self.send_again(row, Change::Recover { since: since.0 }, count, action).await
    }

    async fn send_again(
        &self,
        row: EndpointRow,
        wanted: Change,
        deliveries: u64,
        action: OperatorAction,
    ) -> Result<wire::ResendReport, Refusal> {
        let done = change_for_operator(&self.committer, &row.scope, &row.id, &wanted, action).await;
        if !done.map_err(|error| failed(error.to_string()))? {
            return Err(no_such_endpoint(&row.id));
        }
        Ok(wire::ResendReport {
            plugin: row.scope.plugin().to_string(),
            tenant: row.scope.tenant().to_string(),
            endpoint: row.id.to_string(),
            deliveries,
            enabled: parse(&row)?.is_active(),
        })
    }

    /// The one endpoint of that name.
    async fn find_one(&self, name: wire::EndpointName) -> Result<EndpointRow, Refusal> {
        let shown = name.endpoint.clone().unwrap_or_default();
        let rows = self.database.survey_endpoints(&to_filter(name), 0, ENDPOINTS_NAMED_MAX).await;
        let mut rows = rows.map_err(|error| failed(error.to_string()))?;
        if rows.len() > 1 {
            let reasons =
                rows.iter().map(|row| format!("plugin {}, tenant {}", row.scope.plugin(), row.scope.tenant()));
            return Err(Refusal::Refused {
                message: format!("Several endpoints are called \"{shown}\"."),
                reasons: reasons.collect(),
                hint: "Name plugin and tenant.".to_owned(),
            });
        }
        rows.pop().ok_or_else(|| no_such_endpoint(&shown))
    }

    async fn has_event(&self, row: &EndpointRow, event: &str) -> Result<bool, Refusal> {
        let found = self.database.find_event(&row.scope, event).await.map_err(|error| failed(error.to_string()))?;
        Ok(found.is_some())
    }
}

fn to_filter(name: wire::EndpointName) -> EndpointFilter {
    let wire::EndpointName { plugin, tenant, endpoint } = name;
    EndpointFilter { plugin, tenant, endpoint }
}

/// "7-123": the delivery of event 123 in lane 7.
fn place(text: &str) -> Option<(Lane, EventSeq)> {
    let (lane, event) = text.split_once('-')?;
    Some((lane.parse().ok()?, event.parse().ok()?))
}

fn wrong_page(text: &str) -> Refusal {
    let hint = "Send `next` of the page before as it came.".to_owned();
    Refusal::Invalid { message: format!("\"{text:.40}\" is no place in this list."), hint }
}

fn no_such_state(name: &str) -> Refusal {
    let hint = "There are pending, retrying, delivered and failed.".to_owned();
    Refusal::Invalid { message: format!("There is no state \"{name:.40}\"."), hint }
}

fn no_such_endpoint(id: &str) -> Refusal {
    let hint = "`tenon webhook endpoints` shows them.".to_owned();
    Refusal::NotFound { message: format!("There is no endpoint \"{id}\"."), hint }
}

fn no_such_event(row: &EndpointRow, event: &str) -> Refusal {
    let message = format!("{} of {} has no event \"{event}\".", row.scope.tenant(), row.scope.plugin());
    let hint = "`tenon webhook deliveries` shows them; older ones may be past their retention.".to_owned();
    Refusal::NotFound { message, hint }
}

fn parse(row: &EndpointRow) -> Result<Endpoint, Refusal> {
    Endpoint::parse(&row.body).map_err(|error| failed(format!("The endpoint {} cannot be read: {error}", row.id)))
}

fn endpoint_status(row: EndpointRow, view: Option<LaneView>) -> Result<wire::EndpointStatus, Refusal> {
    let endpoint = parse(&row)?;
    let by_host = endpoint.disabled.as_ref();
    let by_plugin = || wire::DisabledStatus { at: None, reason: "by the plugin".to_owned() };
    let by_host =
        by_host.map(|disabled| wire::DisabledStatus { at: Some(Moment(disabled.at)), reason: disabled.reason.clone() });
    Ok(wire::EndpointStatus {
        plugin: row.scope.plugin().to_string(),
        tenant: row.scope.tenant().to_string(),
        id: row.id.to_string(),
        enabled: endpoint.is_active(),
        disabled: by_host.or_else(|| (!endpoint.enabled).then(by_plugin)),
        url: endpoint.url,
        event_types: endpoint.event_types,
        subjects: endpoint.subjects,
        failing_since: row.failing_since.map(Moment),
        pending: row.pending,
        retrying: row.retrying,
        failed: row.failed,
        oldest_waiting_at: row.oldest_at.map(Moment),
        live: view.map(|view| wire::LiveStatus { in_flight: view.in_flight, breaker_open: view.breaker_open }),
    })
}

fn delivery_status(row: SurveyedDelivery) -> wire::DeliveryStatus {
    let SurveyedDelivery { scope, endpoint, delivery, .. } = row;
    wire::DeliveryStatus {
        plugin: scope.plugin().to_string(),
        tenant: scope.tenant().to_string(),
        endpoint: endpoint.to_string(),
        event: delivery.event.to_string(),
        event_type: delivery.event_type.to_string(),
        subject: delivery.subject.to_string(),
        state: delivery.state.name().to_owned(),
        attempts: delivery.attempts,
        created_at: Moment(delivery.created_at),
        next_at: delivery.next_at.map(Moment),
    }
}

fn attempt_status(attempt: StoredAttempt) -> wire::AttemptStatus {
    wire::AttemptStatus {
        number: attempt.number,
        at: Moment(attempt.at),
        duration_ms: attempt.duration_ms,
        outcome: attempt.outcome,
        status: attempt.status,
        answer: String::from_utf8_lossy(&attempt.answer).into_owned(),
    }
}
