//! Queries of tenants: deliveries and attempts of an endpoint.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::DeliveryState;
use crate::changes::endpoint::EndpointId;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::apply::{EventSeq, QueueId};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

#[derive(Clone, Debug, PartialEq)]
pub struct StoredDelivery {
    pub seq: EventSeq,
    /// The id of the event.
    pub event: Arc<str>,
    pub event_type: Arc<str>,
    pub subject: Arc<str>,
    pub state: DeliveryState,
    pub attempts: u32,
    pub created_at: Timestamp,
    pub next_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryPage {
    pub deliveries: Vec<StoredDelivery>,
    /// The next page begins before this event.
    pub next: Option<EventSeq>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAttempt {
    pub number: u32,
    pub at: Timestamp,
    pub duration_ms: u64,
    pub outcome: String,
    pub status: Option<u16>,
    pub response: Vec<u8>,
}

/// The columns that `parse_delivery` reads, from `deliveries d` and `events e`.
pub(super) const DELIVERY_COLUMNS: &str =
    "d.event AS event, e.id, e.type, e.subject, d.state, d.attempts, e.at AS committed_at, d.due";

/// Returns the indexes that list an endpoint's deliveries in this state, each with its condition. `None` stands for all
/// states.
pub(super) fn indexes_for(state: Option<DeliveryState>) -> &'static [(&'static str, &'static str)] {
    const FRESH: (&str, &str) = ("deliveries_fresh", "state = 0");
    match state {
        None => &[FRESH, ("deliveries_tried", "state <> 0")],
        Some(DeliveryState::Pending) => &[FRESH],
        // SQLite sorts waiting retries, because their index is ordered by due time. They are few.
        Some(DeliveryState::Retrying) => &[("deliveries_due", "state = 1")],
        Some(DeliveryState::Delivered) => &[("deliveries_tried", "state <> 0 AND state = 2")],
        Some(DeliveryState::Failed) => &[("deliveries_given_up", "state = 3")],
    }
}

/// Returns a union of one query for each index of `indexes_for`. SQLite merges their rows if they are in order, and
/// stops at the limit. Only the index of waiting retries has another order.
pub(super) fn union_query(state: Option<DeliveryState>, select: impl Fn(&str, &str) -> String) -> String {
    let parts: Vec<String> = indexes_for(state).iter().map(|(index, condition)| select(index, condition)).collect();
    parts.join(" UNION ALL ")
}

/// Parses the `DELIVERY_COLUMNS` of a row, which may have further columns.
pub(super) fn parse_delivery(row: &SqliteRow) -> Result<StoredDelivery, DbError> {
    Ok(StoredDelivery {
        seq: row.try_get("event")?,
        event: row.try_get::<&str, _>("id")?.into(),
        event_type: row.try_get::<&str, _>("type")?.into(),
        subject: row.try_get::<&str, _>("subject")?.into(),
        state: DeliveryState::of(row.try_get("state")?)?,
        attempts: row.try_get("attempts")?,
        created_at: unsigned(row.try_get("committed_at")?)?,
        next_at: row.try_get::<Option<i64>, _>("due")?.map(unsigned).transpose()?,
    })
}

impl Database {
    /// Returns the queue of an endpoint. Returns `None` if the endpoint does not exist.
    pub async fn find_queue(&self, scope: &Scope, endpoint: &EndpointId) -> Result<Option<QueueId>, DbError> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT queue FROM queues WHERE plugin = ? AND tenant = ? AND endpoint = ?")
                .bind(scope.plugin().clone())
                .bind(scope.tenant().clone())
                .bind(endpoint.as_str())
                .fetch_optional(&*self.readers())
                .await?;
        Ok(found.map(QueueId))
    }

    /// Returns a page of deliveries, the newest first. The page is empty if the endpoint does not exist.
    pub async fn find_deliveries(
        &self,
        scope: &Scope,
        endpoint: &EndpointId,
        state: Option<DeliveryState>,
        before: Option<EventSeq>,
        limit: u32,
    ) -> Result<DeliveryPage, DbError> {
        let Some(queue) = self.find_queue(scope, endpoint).await? else { return Ok(DeliveryPage::default()) };
        let sql = union_query(state, |index, condition| {
            format!(
                "SELECT {DELIVERY_COLUMNS} FROM deliveries d INDEXED BY {index} CROSS JOIN events e ON e.seq = d.event \
                 WHERE d.queue = ?1 AND d.event < ?2 AND {condition}"
            )
        });
        let sql = format!("{sql} ORDER BY event DESC LIMIT ?3");
        let mut search = self.begin_search(scope).await?;
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(queue.0)
            .bind(before.unwrap_or(EventSeq::MAX))
            .bind(limit)
            .fetch_all(search.connection()?)
            .await?;
        search.finish();
        let deliveries: Vec<StoredDelivery> = rows.iter().map(parse_delivery).collect::<Result<_, _>>()?;
        let next = deliveries.last().filter(|_| deliveries.len() >= limit as usize).map(|delivery| delivery.seq);
        Ok(DeliveryPage { deliveries, next })
    }

    /// Returns the attempts of a delivery in ascending order.
    pub async fn find_attempts(
        &self,
        scope: &Scope,
        endpoint: &EndpointId,
        event: &str,
    ) -> Result<Vec<StoredAttempt>, DbError> {
        let Some(queue) = self.find_queue(scope, endpoint).await? else { return Ok(Vec::new()) };
        type AttemptRow = (u32, i64, i64, String, Option<u16>, Vec<u8>);
        let rows: Vec<AttemptRow> = sqlx::query_as(
            "SELECT a.number, a.at, a.duration_ms, a.outcome, a.status, a.answer FROM events e \
             CROSS JOIN attempts a ON a.event = e.seq WHERE a.queue = ? AND e.id = ? ORDER BY a.number",
        )
        .bind(queue.0)
        .bind(event)
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter()
            .map(|(number, at, duration_ms, outcome, status, response)| {
                let (at, duration_ms) = (unsigned(at)?, unsigned(duration_ms)?);
                Ok(StoredAttempt { number, at, duration_ms, outcome, status, response })
            })
            .collect()
    }

    /// Returns true if the endpoint has a delivery of the event, in any state.
    pub async fn delivery_exists(&self, scope: &Scope, endpoint: &EndpointId, event: &str) -> Result<bool, DbError> {
        let Some(queue) = self.find_queue(scope, endpoint).await? else { return Ok(false) };
        let found: Option<i64> = sqlx::query_scalar(
            "SELECT 1 FROM events e CROSS JOIN deliveries d ON d.event = e.seq WHERE d.queue = ? AND e.id = ?",
        )
        .bind(queue.0)
        .bind(event)
        .fetch_optional(&*self.readers())
        .await?;
        Ok(found.is_some())
    }

    /// Returns the number of an event of the tenant.
    pub async fn find_event(&self, scope: &Scope, event: &str) -> Result<Option<EventSeq>, DbError> {
        Ok(sqlx::query_scalar("SELECT seq FROM events WHERE id = ? AND plugin = ? AND tenant = ?")
            .bind(event)
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .fetch_optional(&*self.readers())
            .await?)
    }
}
