//! Deletes deliveries and attempts: those whose event or endpoint was removed, and those that ended long ago.
//!
//! Connections for long queries find the rows. Each chunk is deleted in a short write transaction. Invariant: a
//! delivery that waits for an attempt exists as long as its event and its endpoint.

use sqlx::AssertSqlSafe;

use super::list::indexes_for;
use crate::clock::Timestamp;
use crate::db::apply::rows::int;
use crate::db::apply::{EventSeq, QueueId};
use crate::db::database::WriteTransaction;
use crate::db::retention::ContinueCheck;
use crate::db::{Database, DbError};
use crate::limits::DELIVERIES_PRUNED_AT_ONCE;

/// The keys of deliveries as rows contain them: queue and event.
type DeliveryKeys = Vec<(i64, EventSeq)>;

impl Database {
    /// Deletes deliveries that ended before this time, while `should_continue` returns true. Returns the number of
    /// deleted deliveries.
    pub async fn prune_deliveries(
        &self,
        before: Timestamp,
        should_continue: ContinueCheck<'_>,
    ) -> Result<u64, DbError> {
        // Sequence numbers grow approximately with time, so few rows are examined. The time of each row decides.
        let newest = self.first_event_since(before).await?;
        let mut deleted = 0;
        while should_continue() {
            let mut search = self.begin_operator_search().await?;
            let found: DeliveryKeys = sqlx::query_as(
                "SELECT queue, event FROM deliveries WHERE event < ?1 AND state IN (2, 3) AND at < ?2 LIMIT ?3",
            )
            .bind(newest)
            .bind(int(before))
            .bind(DELIVERIES_PRUNED_AT_ONCE)
            .fetch_all(search.connection()?)
            .await?;
            search.finish();
            // A delivery that was redelivered meanwhile waits again and is not deleted.
            let done = self.delete_deliveries(&found, "AND state IN (2, 3)").await?;
            deleted += done;
            if done == 0 {
                break;
            }
        }
        Ok(deleted)
    }

    /// Deletes deliveries of removed events and endpoints, while `should_continue` returns true. Returns the number of
    /// deleted deliveries.
    pub async fn prune_orphans(&self, should_continue: ContinueCheck<'_>) -> Result<u64, DbError> {
        Ok(self.prune_without_event(should_continue).await? + self.prune_without_endpoint(should_continue).await?)
    }

    async fn prune_without_event(&self, should_continue: ContinueCheck<'_>) -> Result<u64, DbError> {
        let mut deleted = 0;
        while should_continue() {
            // Retention deletes the oldest events first, so all deleted events precede the first remaining one.
            let mut search = self.begin_operator_search().await?;
            let found: DeliveryKeys = sqlx::query_as(
                "SELECT queue, event FROM deliveries \
                 WHERE event < (SELECT coalesce(min(seq), 1 << 62) FROM events) LIMIT ?",
            )
            .bind(DELIVERIES_PRUNED_AT_ONCE)
            .fetch_all(search.connection()?)
            .await?;
            search.finish();
            if found.is_empty() {
                break;
            }
            deleted += self.delete_deliveries(&found, "").await?;
        }
        Ok(deleted)
    }

    async fn delete_deliveries(&self, keys: &DeliveryKeys, only: &str) -> Result<u64, DbError> {
        let keys = serde_json::to_string(keys).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let key_list = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1)";
        let deliveries = format!("DELETE FROM deliveries WHERE (queue, event) IN ({key_list}) {only}");
        let attempts = format!(
            "DELETE FROM attempts WHERE (queue, event) IN ({key_list}) AND NOT EXISTS \
             (SELECT 1 FROM deliveries d WHERE d.queue = attempts.queue AND d.event = attempts.event)"
        );
        let delete = async move |write: &mut WriteTransaction| {
            let done = sqlx::query(AssertSqlSafe(deliveries)).bind(&keys).execute(write.connection()).await?;
            sqlx::query(AssertSqlSafe(attempts)).bind(&keys).execute(write.connection()).await?;
            Ok(done.rows_affected())
        };
        self.write(move |write| Box::pin(delete(write))).await
    }

    async fn prune_without_endpoint(&self, should_continue: ContinueCheck<'_>) -> Result<u64, DbError> {
        let mut deleted = 0;
        for (index, condition) in indexes_for(None) {
            let part = format!("deliveries INDEXED BY {index} WHERE {condition}");
            for queue in self.find_orphans(&part).await? {
                deleted += self.delete_queue(&part, queue, should_continue).await?;
            }
        }
        Ok(deleted)
    }

    /// Returns the queues of deliveries whose endpoint was removed. `part` is an index that lists some deliveries, with
    /// its condition. The query steps from queue to queue, not from row to row.
    async fn find_orphans(&self, part: &str) -> Result<Vec<QueueId>, DbError> {
        let sql = format!(
            "WITH RECURSIVE there(queue) AS (SELECT min(queue) FROM {part} UNION ALL \
             SELECT (SELECT min(queue) FROM {part} AND queue > there.queue) FROM there \
             WHERE there.queue IS NOT NULL) \
             SELECT queue FROM there WHERE queue IS NOT NULL AND queue NOT IN (SELECT queue FROM queues)"
        );
        let mut search = self.begin_operator_search().await?;
        let found: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
        search.finish();
        Ok(found.into_iter().map(QueueId).collect())
    }

    async fn delete_queue(
        &self,
        part: &str,
        queue: QueueId,
        should_continue: ContinueCheck<'_>,
    ) -> Result<u64, DbError> {
        let sql = format!("SELECT queue, event FROM {part} AND queue = ? LIMIT ?");
        let mut deleted = 0;
        while should_continue() {
            let mut search = self.begin_operator_search().await?;
            let query = sqlx::query_as(AssertSqlSafe(sql.clone())).bind(queue.0).bind(DELIVERIES_PRUNED_AT_ONCE);
            let found: DeliveryKeys = query.fetch_all(search.connection()?).await?;
            search.finish();
            if found.is_empty() {
                break;
            }
            deleted += self.delete_deliveries(&found, "").await?;
        }
        Ok(deleted)
    }

    /// Returns the number of the first event at this time or later, by binary search.
    async fn first_event_since(&self, time: Timestamp) -> Result<EventSeq, DbError> {
        let bounds = "SELECT coalesce(min(seq), 0), coalesce(max(seq), -1) + 1 FROM events";
        let (mut low, mut high): (EventSeq, EventSeq) = sqlx::query_as(bounds).fetch_one(&*self.readers()).await?;
        while low < high {
            let middle = low + (high - low) / 2;
            let at: Option<i64> = sqlx::query_scalar("SELECT at FROM events WHERE seq >= ? ORDER BY seq LIMIT 1")
                .bind(middle)
                .fetch_optional(&*self.readers())
                .await?;
            if at.is_some_and(|at| at < int(time)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}
