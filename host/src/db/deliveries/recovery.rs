//! Continues recoveries whose batch could not examine all deliveries. Endpoints alternate.

use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::Instant;

use crate::db::apply::{QueueId, Recovery, recover_part};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// The result of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredDeliveries {
    pub queue: QueueId,
    /// Number of examined deliveries.
    pub deliveries: usize,
    /// True if any examined delivery is due again.
    pub is_due: bool,
    /// The time for which the transaction held the writer's connection.
    pub took: Duration,
}

impl Database {
    /// Examines at most `limit` deliveries of the next queue after `last` that has a command. Returns `None` if there
    /// is no command.
    pub async fn recover_deliveries(
        &self,
        last: QueueId,
        limit: usize,
    ) -> Result<Option<RecoveredDeliveries>, DbError> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT queue FROM recoveries LIMIT 1").fetch_optional(&*self.readers()).await?;
        if found.is_none() {
            return Ok(None);
        }
        self.write_lazily(move |write| Box::pin(async move { recover_next(write.connection(), last, limit).await }))
            .await
    }
}

async fn recover_next(
    connection: &mut SqliteConnection,
    last: QueueId,
    limit: usize,
) -> Result<Option<RecoveredDeliveries>, DbError> {
    let started_at = Instant::now();
    let sql = "SELECT queue, since, ordered_at, after FROM recoveries ORDER BY queue <= ?, queue LIMIT 1";
    let row: Option<(i64, i64, i64, i64)> = sqlx::query_as(sql).bind(last.0).fetch_optional(&mut *connection).await?;
    let Some((queue, since, due_at, after)) = row else { return Ok(None) };
    let queue = QueueId(queue);
    let recovery = Recovery { queue, since: unsigned(since)?, due_at: unsigned(due_at)?, after };
    let part = recover_part(connection, recovery, limit).await?;
    let exists: Option<i64> = sqlx::query_scalar("SELECT queue FROM queues WHERE queue = ?")
        .bind(queue.0)
        .fetch_optional(&mut *connection)
        .await?;
    match part.remaining.filter(|_| exists.is_some()) {
        Some(remaining) => {
            let query =
                sqlx::query("UPDATE recoveries SET after = ? WHERE queue = ?").bind(remaining.after).bind(queue.0);
            query.execute(connection).await?;
        }
        None => {
            let sql = match exists {
                Some(_) => "DELETE FROM recoveries WHERE queue = ? AND again = 0",
                None => "DELETE FROM recoveries WHERE queue = ?",
            };
            sqlx::query(sql).bind(queue.0).execute(&mut *connection).await?;
            // If the row remains, commands arrived during the scan, and their scan begins now.
            let sql = "UPDATE recoveries SET after = 0, again = 0 WHERE queue = ?";
            sqlx::query(sql).bind(queue.0).execute(connection).await?;
        }
    }
    let is_due = part.recovered > 0 && exists.is_some();
    Ok(Some(RecoveredDeliveries { queue, deliveries: part.examined, is_due, took: started_at.elapsed() }))
}
