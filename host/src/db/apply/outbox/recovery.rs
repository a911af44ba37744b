//! Recovers deliveries that were given up, a bounded number in each transaction.
//!
//! Invariants: the position of a scan is written in the transaction that examined its deliveries, so a command is
//! completed even if the process crashes. A queue has one command at a time. Further commands are merged into it. A
//! scan examines each delivery once. If commands arrived during a scan, another scan follows and examines all
//! deliveries that are still given up.

use sqlx::SqliteConnection;

use super::{EventSeq, QueueId};
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::db::apply::rows::int;

/// The remaining part of a command for one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::db) struct Recovery {
    pub queue: QueueId,
    /// Deliveries that were given up before this time are not recovered.
    pub since: Timestamp,
    /// The time at which the deliveries are due.
    pub due_at: Timestamp,
    /// The event of the last examined delivery.
    pub after: EventSeq,
}

/// The result of one transaction.
pub(in crate::db) struct RecoveredPart {
    /// Number of examined deliveries.
    pub examined: usize,
    /// Number of recovered deliveries.
    pub recovered: usize,
    /// `None` if all deliveries are examined.
    pub remaining: Option<Recovery>,
}

/// Selects deliveries of a queue that were given up, in the order of their events.
///
/// The query names its index, because SQLite has no statistics before the first shutdown. Without them SQLite would
/// read all deliveries of the queue.
pub(in crate::db) const GIVEN_UP: &str = "SELECT event, at FROM deliveries INDEXED BY deliveries_given_up \
                                          WHERE queue = ? AND event > ? AND state = 3 ORDER BY event LIMIT ?";

/// Examines at most the next `limit` given-up deliveries. Those that were given up at or after `since` become due.
pub(in crate::db) async fn recover_part(
    connection: &mut SqliteConnection,
    recovery: Recovery,
    limit: usize,
) -> Result<RecoveredPart, DbError> {
    if limit == 0 {
        return Ok(RecoveredPart { examined: 0, recovered: 0, remaining: Some(recovery) });
    }
    let examined: Vec<(EventSeq, i64)> = sqlx::query_as(GIVEN_UP)
        .bind(recovery.queue.0)
        .bind(recovery.after)
        .bind(int(limit as u64))
        .fetch_all(&mut *connection)
        .await?;
    let since = int(recovery.since);
    let events: Vec<EventSeq> = examined.iter().filter(|(_, at)| *at >= since).map(|(event, _)| *event).collect();
    if !events.is_empty() {
        let sql = "UPDATE deliveries SET state = 1, due = ?2, at = ?2 \
                   WHERE queue = ?1 AND event IN (SELECT value FROM json_each(?3))";
        sqlx::query(sql)
            .bind(recovery.queue.0)
            .bind(int(recovery.due_at))
            .bind(serde_json::Value::from(events.as_slice()).to_string())
            .execute(connection)
            .await?;
    }
    let last = examined.last().filter(|_| examined.len() >= limit).map(|(event, _)| *event);
    let remaining = last.map(|after| Recovery { after, ..recovery });
    Ok(RecoveredPart { examined: examined.len(), recovered: events.len(), remaining })
}

/// Executes a command in its batch. If an earlier command for the queue is not completed, merges the two and examines
/// nothing. Otherwise examines at most `limit` deliveries and leaves the rest to `Database::recover_deliveries`.
pub(super) async fn begin(
    connection: &mut SqliteConnection,
    recovery: Recovery,
    limit: usize,
) -> Result<RecoveredPart, DbError> {
    if merge(connection, &recovery).await? {
        return Ok(RecoveredPart { examined: 0, recovered: 0, remaining: Some(recovery) });
    }
    let part = recover_part(connection, recovery, limit).await?;
    if let Some(remaining) = &part.remaining {
        insert(connection, remaining).await?;
    }
    Ok(part)
}

/// Widens the bounds of an uncompleted command and returns true, or returns false if there is none. The scan continues
/// at its position, so repeated commands cannot prevent its end. Deliveries before the position may have been given up
/// again, so another scan follows.
async fn merge(connection: &mut SqliteConnection, command: &Recovery) -> Result<bool, DbError> {
    let sql = "UPDATE recoveries SET since = min(since, ?2), ordered_at = max(ordered_at, ?3), again = again OR after > 0 \
               WHERE queue = ?1";
    let merged = sqlx::query(sql)
        .bind(command.queue.0)
        .bind(int(command.since))
        .bind(int(command.due_at))
        .execute(connection)
        .await?;
    Ok(merged.rows_affected() > 0)
}

async fn insert(connection: &mut SqliteConnection, remaining: &Recovery) -> Result<(), DbError> {
    sqlx::query("INSERT INTO recoveries (queue, since, ordered_at, after) VALUES (?, ?, ?, ?)")
        .bind(remaining.queue.0)
        .bind(int(remaining.since))
        .bind(int(remaining.due_at))
        .bind(remaining.after)
        .execute(connection)
        .await?;
    Ok(())
}
