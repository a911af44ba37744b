//! Makes deliveries again for commands whose batch could not examine all of them. Endpoints take turns.

use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::Instant;

use crate::db::apply::{Lane, Recovery, recover_part};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// The result of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredDeliveries {
    pub lane: Lane,
    /// Deliveries that were examined.
    pub deliveries: usize,
    /// True if any of them is due again.
    pub is_due: bool,
    /// How long it held the writer's connection.
    pub took: Duration,
}

impl Database {
    /// Examines at most `limit` deliveries of one endpoint: of the next one after `last` for which there is a command. `None`
    /// if there is none.
    pub async fn recover_deliveries(&self, last: Lane, limit: usize) -> Result<Option<RecoveredDeliveries>, DbError> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT lane FROM recoveries LIMIT 1").fetch_optional(&*self.readers()).await?;
        if found.is_none() {
            return Ok(None);
        }
        self.write_lazily(move |write| Box::pin(async move { recover_next(write.connection(), last, limit).await }))
            .await
    }
}

async fn recover_next(
    connection: &mut SqliteConnection,
    last: Lane,
    limit: usize,
) -> Result<Option<RecoveredDeliveries>, DbError> {
    let begun = Instant::now();
    let sql = "SELECT lane, since, ordered_at, after FROM recoveries ORDER BY lane <= ?, lane LIMIT 1";
    let row: Option<(Lane, i64, i64, i64)> = sqlx::query_as(sql).bind(last).fetch_optional(&mut *connection).await?;
    let Some((lane, since, ordered_at, after)) = row else { return Ok(None) };
    let recovery = Recovery { lane, since: unsigned(since)?, ordered_at: unsigned(ordered_at)?, after };
    let part = recover_part(connection, recovery, limit).await?;
    let exists: Option<i64> =
        sqlx::query_scalar("SELECT lane FROM lanes WHERE lane = ?").bind(lane).fetch_optional(&mut *connection).await?;
    match part.rest.filter(|_| exists.is_some()) {
        Some(rest) => {
            let query = sqlx::query("UPDATE recoveries SET after = ? WHERE lane = ?").bind(rest.after).bind(lane);
            query.execute(connection).await?;
        }
        None => {
            let sql = match exists {
                Some(_) => "DELETE FROM recoveries WHERE lane = ? AND again = 0",
                None => "DELETE FROM recoveries WHERE lane = ?",
            };
            sqlx::query(sql).bind(lane).execute(&mut *connection).await?;
            // If it is still there, later commands begin now.
            let sql = "UPDATE recoveries SET after = 0, again = 0 WHERE lane = ?";
            sqlx::query(sql).bind(lane).execute(connection).await?;
        }
    }
    let is_due = part.recovered > 0 && exists.is_some();
    Ok(Some(RecoveredDeliveries { lane, deliveries: part.seen, is_due, took: begun.elapsed() }))
}
