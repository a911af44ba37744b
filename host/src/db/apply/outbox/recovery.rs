//! Makes deliveries again that were given up, a bounded number in each transaction.
//!
//! Invariants: the last delivery that was examined is written in the transaction that examined it, so a command is completed
//! whenever the process ends. An endpoint has one command at a time: those that come meanwhile are executed together with it. A
//! scan examines each delivery once. If commands came during a scan, one more scan follows it, and examines again all that are
//! still given up.

use sqlx::SqliteConnection;

use super::{EventSeq, Lane};
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::db::apply::rows::int;

/// The part of a command that is left for one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::db) struct Recovery {
    pub lane: Lane,
    /// Deliveries that were given up earlier stay as they are.
    pub since: Timestamp,
    /// The time at which the deliveries are due.
    pub ordered_at: Timestamp,
    /// The last event whose delivery was examined.
    pub after: EventSeq,
}

/// The result of one transaction.
pub(in crate::db) struct RecoveredPart {
    /// Deliveries that were examined.
    pub seen: usize,
    /// Deliveries that are made again.
    pub recovered: usize,
    /// `None`: all were examined.
    pub rest: Option<Recovery>,
}

/// The query names its index, because SQLite has no statistics before the first stop. Without them it reads all deliveries of
/// the lane.
pub(in crate::db) const GIVEN_UP: &str = "SELECT event, at FROM deliveries INDEXED BY deliveries_given_up \
                                          WHERE lane = ? AND event > ? AND state = 3 ORDER BY event LIMIT ?";

/// Examines the next `limit` deliveries that were given up.
pub(in crate::db) async fn recover_part(
    connection: &mut SqliteConnection,
    recovery: Recovery,
    limit: usize,
) -> Result<RecoveredPart, DbError> {
    if limit == 0 {
        return Ok(RecoveredPart { seen: 0, recovered: 0, rest: Some(recovery) });
    }
    let seen: Vec<(EventSeq, i64)> = sqlx::query_as(GIVEN_UP)
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
    let rest = last.map(|after| Recovery { after, ..recovery });
    Ok(RecoveredPart { seen: seen.len(), recovered: events.len(), rest })
}

/// Executes a command in its batch. If an earlier command for the endpoint is not completed, the two become one, and nothing is
/// examined here. Otherwise at most `limit` deliveries are, and the rest is left to `Database::recover_deliveries`.
pub(super) async fn begin(
    connection: &mut SqliteConnection,
    recovery: Recovery,
    limit: usize,
) -> Result<RecoveredPart, DbError> {
    if join(connection, &recovery).await? {
        return Ok(RecoveredPart { seen: 0, recovered: 0, rest: Some(recovery) });
    }
    let part = recover_part(connection, recovery, limit).await?;
    if let Some(rest) = &part.rest {
        postpone(connection, rest).await?;
    }
    Ok(part)
}

/// Widens the bounds of a command that is not completed. It goes on where it is, so repeated commands do not keep it from its end.
/// Deliveries behind it may have been given up again since, so all are examined again after it.
async fn join(connection: &mut SqliteConnection, later: &Recovery) -> Result<bool, DbError> {
    let sql = "UPDATE recoveries SET since = min(since, ?2), ordered_at = max(ordered_at, ?3), again = again OR after > 0 \
               WHERE lane = ?1";
    let joined = sqlx::query(sql)
        .bind(later.lane)
        .bind(int(later.since))
        .bind(int(later.ordered_at))
        .execute(connection)
        .await?;
    Ok(joined.rows_affected() > 0)
}

async fn postpone(connection: &mut SqliteConnection, rest: &Recovery) -> Result<(), DbError> {
    sqlx::query("INSERT INTO recoveries (lane, since, ordered_at, after) VALUES (?, ?, ?, ?)")
        .bind(rest.lane)
        .bind(int(rest.since))
        .bind(int(rest.ordered_at))
        .bind(rest.after)
        .execute(connection)
        .await?;
    Ok(())
}
