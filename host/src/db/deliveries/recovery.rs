//! Goes on with the orders to make deliveries again that were too many for their batch. Endpoints take turns.

use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::Instant;

use crate::db::apply::{Lane, Recovery, recover_part};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// What one transaction made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredDeliveries {
    pub lane: Lane,
    /// Deliveries that were looked at.
    pub deliveries: usize,
    /// How long it held the writer's connection.
    pub took: Duration,
}

impl Database {
    /// Looks at most at `limit` deliveries of one endpoint, the next one after `last` that has any. `None` where none has.
    pub async fn recover_deliveries(&self, last: Lane, limit: usize) -> Result<Option<RecoveredDeliveries>, DbError> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT lane FROM recoveries LIMIT 1").fetch_optional(&*self.readers()).await?;
        if found.is_none() {
            return Ok(None);
        }
        self.write_lazily(move |write| Box::pin(async move { go_on(write.connection(), last, limit).await })).await
    }
}

async fn go_on(
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
    match part.rest {
        Some(rest) => {
            let query = sqlx::query("UPDATE recoveries SET after = ? WHERE lane = ?").bind(rest.after).bind(lane);
            query.execute(connection).await?;
        }
        None => {
            sqlx::query("DELETE FROM recoveries WHERE lane = ?").bind(lane).execute(connection).await?;
        }
    }
    Ok(Some(RecoveredDeliveries { lane, deliveries: part.seen, took: begun.elapsed() }))
}
