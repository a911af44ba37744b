//! Deliveries and attempts that nobody needs any more are deleted: those whose event is gone, those of endpoints that are
//! gone, and those that ended long ago.
//!
//! What is to go is looked for beside the writer; each chunk of it is a short transaction. Invariant: what waits for an
//! attempt stays as long as its event and its endpoint do.

use sqlx::AssertSqlSafe;

use super::list::indexes_of;
use crate::clock::Timestamp;
use crate::db::apply::rows::int;
use crate::db::apply::{EventSeq, Lane};
use crate::db::database::WriteTransaction;
use crate::db::retention::GoOn;
use crate::db::{Database, DbError};
use crate::limits::DELIVERIES_PRUNED_AT_ONCE;

type Names = Vec<(Lane, EventSeq)>;

impl Database {
    /// Deletes what ended before this time, as long as `go_on` says so; returns how many deliveries.
    pub async fn prune_deliveries(&self, before: Timestamp, go_on: GoOn<'_>) -> Result<u64, DbError> {
        // Sequence numbers grow with time, give or take: those that are looked at are few, their own time decides.
        let newest = self.first_event_since(before).await?;
        let mut deleted = 0;
        while go_on() {
            let mut search = self.begin_survey().await?;
            let found: Names = sqlx::query_as(
                "SELECT lane, event FROM deliveries WHERE event < ?1 AND state IN (2, 3) AND at < ?2 LIMIT ?3",
            )
            .bind(newest)
            .bind(int(before))
            .bind(DELIVERIES_PRUNED_AT_ONCE)
            .fetch_all(search.connection()?)
            .await?;
            search.finish();
            // Asked for again meanwhile: it waits, and stays.
            let done = self.delete_deliveries(&found, "AND state IN (2, 3)").await?;
            deleted += done;
            if done == 0 {
                break;
            }
        }
        Ok(deleted)
    }

    /// Deletes what events and endpoints that are gone left behind, as long as `go_on` says so; returns how many deliveries.
    pub async fn prune_orphans(&self, go_on: GoOn<'_>) -> Result<u64, DbError> {
        Ok(self.prune_without_event(go_on).await? + self.prune_without_endpoint(go_on).await?)
    }

    async fn prune_without_event(&self, go_on: GoOn<'_>) -> Result<u64, DbError> {
        let mut deleted = 0;
        while go_on() {
            // Retention takes the oldest events first, so that what is gone lies before the first one that is left.
            let mut search = self.begin_survey().await?;
            let found: Names = sqlx::query_as(
                "SELECT lane, event FROM deliveries \
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

    async fn delete_deliveries(&self, names: &Names, only: &str) -> Result<u64, DbError> {
        let names = serde_json::to_string(names).map_err(|error| DbError::Corrupt(error.to_string()))?;
        let named = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1)";
        let deliveries = format!("DELETE FROM deliveries WHERE (lane, event) IN ({named}) {only}");
        let attempts = format!(
            "DELETE FROM attempts WHERE (lane, event) IN ({named}) AND NOT EXISTS \
             (SELECT 1 FROM deliveries d WHERE d.lane = attempts.lane AND d.event = attempts.event)"
        );
        let delete = async move |write: &mut WriteTransaction| {
            let done = sqlx::query(AssertSqlSafe(deliveries)).bind(&names).execute(write.connection()).await?;
            sqlx::query(AssertSqlSafe(attempts)).bind(&names).execute(write.connection()).await?;
            Ok(done.rows_affected())
        };
        self.write(move |write| Box::pin(delete(write))).await
    }

    async fn prune_without_endpoint(&self, go_on: GoOn<'_>) -> Result<u64, DbError> {
        let mut deleted = 0;
        for (index, condition) in indexes_of(None) {
            let part = format!("deliveries INDEXED BY {index} WHERE {condition}");
            for lane in self.find_orphans(&part).await? {
                deleted += self.delete_lane(&part, lane, go_on).await?;
            }
        }
        Ok(deleted)
    }

    /// Returns the lanes of deliveries whose endpoint is gone. `part` is an index that lists some deliveries, with its condition. The query
    /// steps from lane to lane, not from row to row.
    async fn find_orphans(&self, part: &str) -> Result<Vec<Lane>, DbError> {
        let sql = format!(
            "WITH RECURSIVE there(lane) AS (SELECT min(lane) FROM {part} UNION ALL \
             SELECT (SELECT min(lane) FROM {part} AND lane > there.lane) FROM there \
             WHERE there.lane IS NOT NULL) \
             SELECT lane FROM there WHERE lane IS NOT NULL AND lane NOT IN (SELECT lane FROM lanes)"
        );
        let mut search = self.begin_survey().await?;
        let found = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
        search.finish();
        Ok(found)
    }

    async fn delete_lane(&self, part: &str, lane: Lane, go_on: GoOn<'_>) -> Result<u64, DbError> {
        let sql = format!("SELECT lane, event FROM {part} AND lane = ? LIMIT ?");
        let mut deleted = 0;
        while go_on() {
            let mut search = self.begin_survey().await?;
            let query = sqlx::query_as(AssertSqlSafe(sql.clone())).bind(lane).bind(DELIVERIES_PRUNED_AT_ONCE);
            let found: Names = query.fetch_all(search.connection()?).await?;
            search.finish();
            if found.is_empty() {
                break;
            }
            deleted += self.delete_deliveries(&found, "").await?;
        }
        Ok(deleted)
    }

    /// The number of the first event that happened at this time or later, found by halving.
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
