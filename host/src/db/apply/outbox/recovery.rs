//! Makes deliveries again that were given up, a bounded number in each transaction.
//!
//! Invariants: the place up to which they were looked through is written together with what was found there, so that an order is
//! carried out to its end whenever the process ends. It looks at each delivery once.

use sqlx::SqliteConnection;

use super::{EventSeq, Lane};
use crate::changes::change_set::Timestamp;
use crate::db::DbError;
use crate::db::apply::rows::int;

/// What is left to look through for one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::db) struct Recovery {
    pub lane: Lane,
    pub since: Timestamp,
    pub ordered_at: Timestamp,
    pub after: EventSeq,
}

/// What one transaction did for a recovery.
pub(in crate::db) struct RecoveredPart {
    /// Deliveries that were looked at.
    pub seen: usize,
    /// Those that are made again.
    pub recovered: usize,
    /// `None`: all were looked at.
    pub rest: Option<Recovery>,
}

/// Looks at the next `limit` deliveries that were given up.
pub(in crate::db) async fn recover_part(
    connection: &mut SqliteConnection,
    recovery: Recovery,
    limit: usize,
) -> Result<RecoveredPart, DbError> {
    let sql = "SELECT event, at FROM deliveries WHERE lane = ? AND event > ? AND state = 3 ORDER BY event LIMIT ?";
    let seen: Vec<(EventSeq, i64)> = sqlx::query_as(sql)
        .bind(recovery.lane)
        .bind(recovery.after)
        .bind(int(limit as u64))
        .fetch_all(&mut *connection)
        .await?;
    let since = int(recovery.since);
    let events: Vec<EventSeq> = seen.iter().filter(|(_, at)| *at >= since).map(|(event, _)| *event).collect();
    if !events.is_empty() {
        let sql = "UPDATE deliveries SET state = 1, due = ?2, at = ?2 \
                   WHERE lane = ?1 AND event IN (SELECT value FROM json_each(?3))";
        sqlx::query(sql)
            .bind(recovery.lane)
            .bind(int(recovery.ordered_at))
            .bind(serde_json::Value::from(events.as_slice()).to_string())
            .execute(connection)
            .await?;
    }
    let last = seen.last().filter(|_| seen.len() >= limit).map(|(event, _)| *event);
    let rest = match limit {
        0 => Some(recovery),
        _ => last.map(|after| Recovery { after, ..recovery }),
    };
    Ok(RecoveredPart { seen: seen.len(), recovered: events.len(), rest })
}

/// For `Database::recover_deliveries`. Of two orders for one endpoint the wider bounds count.
pub(super) async fn postpone(connection: &mut SqliteConnection, rest: &Recovery) -> Result<(), DbError> {
    let sql = "INSERT INTO recoveries (lane, since, ordered_at, after) VALUES (?, ?, ?, ?) ON CONFLICT (lane) DO UPDATE SET \
               since = min(since, excluded.since), ordered_at = max(ordered_at, excluded.ordered_at), \
               after = min(after, excluded.after)";
    sqlx::query(sql)
        .bind(rest.lane)
        .bind(int(rest.since))
        .bind(int(rest.ordered_at))
        .bind(rest.after)
        .execute(connection)
        .await?;
    Ok(())
}
