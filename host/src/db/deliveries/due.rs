//! The queries of the scheduler: deliveries without an attempt, due retries, and the events to send.

use std::collections::HashMap;
use std::sync::Arc;

use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::apply::rows::int;
use crate::db::apply::{EventSeq, QueueId, StoredEvent};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// A delivery that waits for its first attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshDelivery {
    pub event: EventSeq,
    pub subject: Arc<str>,
}

/// A delivery that waits for another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRetry {
    pub event: EventSeq,
    /// Number of attempts made.
    pub attempts: u32,
    pub due: Timestamp,
}

// The queries name their indexes and fix the order of their tables. Otherwise SQLite, with its statistics, would read
// all events if an endpoint has few deliveries.
pub(super) const FRESH: &str = "SELECT d.event, e.subject FROM deliveries d INDEXED BY deliveries_fresh \
                                CROSS JOIN events e ON e.seq = d.event \
                                WHERE d.state = 0 AND d.queue = ? AND d.event >= ? ORDER BY d.event LIMIT ?";
pub(super) const DUE: &str = "SELECT event, attempts, due FROM deliveries INDEXED BY deliveries_due \
                              WHERE state = 1 AND queue = ? AND due >= ? ORDER BY due LIMIT ?";

impl Database {
    /// Returns the deliveries of a queue that have no attempt, beginning at event `from`, oldest first.
    pub async fn find_fresh(&self, queue: QueueId, from: EventSeq, limit: u32) -> Result<Vec<FreshDelivery>, DbError> {
        let rows: Vec<(EventSeq, String)> =
            sqlx::query_as(FRESH).bind(queue.0).bind(from).bind(limit).fetch_all(&*self.readers()).await?;
        Ok(rows.into_iter().map(|(event, subject)| FreshDelivery { event, subject: subject.into() }).collect())
    }

    /// Returns retries of a queue that are due at `from` or later, the earliest first.
    pub async fn find_due(&self, queue: QueueId, from: Timestamp, limit: u32) -> Result<Vec<DueRetry>, DbError> {
        let rows: Vec<(EventSeq, u32, i64)> =
            sqlx::query_as(DUE).bind(queue.0).bind(int(from)).bind(limit).fetch_all(&*self.readers()).await?;
        rows.into_iter().map(|(event, attempts, due)| Ok(DueRetry { event, attempts, due: unsigned(due)? })).collect()
    }

    /// Returns events by their number. Events deleted by retention are absent. `StoredEvent::queues` is empty.
    pub async fn load_events(&self, seqs: &[EventSeq]) -> Result<HashMap<EventSeq, Arc<StoredEvent>>, DbError> {
        type Row = (EventSeq, String, String, String, String, String, String, i64, bool, u8);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT seq, id, plugin, tenant, type, subject, body, at, only IS NOT NULL, hops FROM events \
             WHERE seq IN (SELECT value FROM json_each(?))",
        )
        .bind(serde_json::Value::from(seqs).to_string())
        .fetch_all(&*self.readers())
        .await?;
        let mut events = HashMap::with_capacity(rows.len());
        for (seq, id, plugin, tenant, event_type, subject, body, at, is_test, hops) in rows {
            let Some(scope) = Scope::new(plugin.into(), tenant.into()) else { continue };
            let event = StoredEvent {
                seq,
                id: id.into(),
                scope,
                event_type: event_type.into(),
                subject: subject.into(),
                body: body.into(),
                at: unsigned(at)?,
                queues: Vec::new(),
                is_test,
                hops,
            };
            events.insert(seq, Arc::new(event));
        }
        Ok(events)
    }
}
