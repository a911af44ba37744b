//! Deletes the oldest rows of growing tables, by age or by size, in chunks.
//!
//! Each chunk is a short transaction, so that commits can run between chunks. Freed pages are reused, but the file does
//! not shrink. The caller decides when and how much to delete. Nothing here runs by itself.

use sqlx::AssertSqlSafe;

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::clock::Timestamp;
use crate::limits::{BATCHES_KEPT, PRUNE_ROWS, ROW_BYTES};

/// A table that grows without limit unless old rows are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowingTable {
    /// Idempotency records. Once a record is deleted, its idempotency key counts as new.
    IdempotencyRecords,
    Events,
    /// The tenants' journals. Pruned only if the operator configured it. Each chain continues from its last deleted
    /// line.
    Journal,
    Swaps,
    /// Messages stored instead of sent.
    Outbox,
    /// Ids of batches. The newest `BATCHES_KEPT` are never deleted.
    Batches,
}

impl GrowingTable {
    pub const ALL: [GrowingTable; 6] = [
        GrowingTable::IdempotencyRecords,
        GrowingTable::Events,
        GrowingTable::Journal,
        GrowingTable::Swaps,
        GrowingTable::Outbox,
        GrowingTable::Batches,
    ];

    fn table(self) -> &'static str {
        match self {
            GrowingTable::IdempotencyRecords => "answers",
            GrowingTable::Events => "events",
            GrowingTable::Journal => "journal",
            GrowingTable::Swaps => "swaps",
            GrowingTable::Outbox => "outbox",
            GrowingTable::Batches => "batches",
        }
    }

    /// Returns the table with this name, as in `[retention.NAME]`.
    pub fn parse(name: &str) -> Option<GrowingTable> {
        GrowingTable::ALL.into_iter().find(|growing| growing.table() == name)
    }

    /// Returns the SQL expression for the content bytes of a row.
    fn content(self) -> &'static str {
        match self {
            GrowingTable::IdempotencyRecords => "length(sealed)",
            GrowingTable::Events => "length(CAST(body AS BLOB))",
            GrowingTable::Journal => "length(CAST(entry AS BLOB))",
            GrowingTable::Swaps => "length(reasons) + length(steps_ms)",
            GrowingTable::Outbox => "length(body) + length(path)",
            GrowingTable::Batches => "length(id)",
        }
    }

    /// Returns the number of newest rows that are never deleted.
    fn protected_rows(self) -> u32 {
        if self == GrowingTable::Batches { BATCHES_KEPT } else { 0 }
    }

    /// Returns the SQL condition for rows that may be deleted.
    ///
    /// The last published line of each plugin is kept, because a restart reads the plugin's component from it.
    fn prunable(self) -> &'static str {
        match self {
            GrowingTable::Swaps => {
                "WHERE rowid NOT IN (SELECT max(seq) FROM swaps WHERE outcome = 'published' GROUP BY plugin)"
            }
            _ => "",
        }
    }
}

/// Called before each chunk. Returns false to end the deletion early, so that a shutdown does not wait for it.
pub type ContinueCheck<'a> = &'a (dyn Fn() -> bool + Sync);

impl Database {
    /// Deletes rows older than `before` while `should_continue` returns true. Returns the number of deleted rows.
    ///
    /// Rows are checked in the order of their insertion, up to the first chunk that contains a newer row.
    pub async fn prune_older(
        &self,
        what: GrowingTable,
        before: Timestamp,
        should_continue: ContinueCheck<'_>,
    ) -> Result<u64, DbError> {
        let mut deleted = 0;
        while should_continue() {
            let chunk = self.prune_chunk(what, PRUNE_ROWS, before).await?;
            deleted += chunk;
            if chunk < u64::from(PRUNE_ROWS) {
                break;
            }
        }
        Ok(deleted)
    }

    /// Deletes the oldest rows until the table takes about `bytes_max` bytes, while `should_continue` returns true.
    ///
    /// Returns the number of deleted rows.
    pub async fn prune_larger(
        &self,
        what: GrowingTable,
        bytes_max: u64,
        should_continue: ContinueCheck<'_>,
    ) -> Result<u64, DbError> {
        let (rows, row_bytes) = self.estimate(what).await?;
        let keep = bytes_max / row_bytes.max(1);
        let mut excess = rows.saturating_sub(keep);
        let mut deleted = 0;
        while excess > 0 && should_continue() {
            let chunk = u32::try_from(excess).map_or(PRUNE_ROWS, |excess| excess.min(PRUNE_ROWS));
            let done = self.prune_chunk(what, chunk, u64::MAX).await?;
            if done == 0 {
                break;
            }
            deleted += done;
            excess = excess.saturating_sub(done);
        }
        Ok(deleted)
    }

    /// Estimates the size of the table in bytes.
    pub async fn estimate_bytes(&self, what: GrowingTable) -> Result<u64, DbError> {
        let (rows, row_bytes) = self.estimate(what).await?;
        Ok(rows.saturating_mul(row_bytes))
    }

    /// Estimates the number of deletable rows and the bytes per row.
    ///
    /// Assumes that row numbers have almost no gaps, and that the newest rows are representative.
    async fn estimate(&self, what: GrowingTable) -> Result<(u64, u64), DbError> {
        let sql = format!(
            "SELECT coalesce((SELECT max(rowid) FROM {0}) - (SELECT min(rowid) FROM {0} {3}) + 1, 0), \
             coalesce((SELECT CAST(avg(bytes) AS INTEGER) FROM (SELECT {1} AS bytes FROM {0} ORDER BY rowid DESC LIMIT {2})), 0)",
            what.table(),
            what.content(),
            PRUNE_ROWS,
            what.prunable()
        );
        let (rows, bytes): (i64, i64) = sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&*self.readers()).await?;
        Ok((unsigned(rows)?, unsigned(bytes)?.saturating_add(ROW_BYTES)))
    }

    async fn prune_chunk(&self, what: GrowingTable, rows: u32, before: Timestamp) -> Result<u64, DbError> {
        if what == GrowingTable::Journal {
            return self.prune_journal(rows, before).await;
        }
        let sql = format!(
            "DELETE FROM {0} WHERE rowid IN (SELECT rowid FROM {0} {1} ORDER BY rowid LIMIT ?1) AND at < ?2 \
             AND rowid <= (SELECT max(rowid) FROM {0}) - ?3",
            what.table(),
            what.prunable()
        );
        let before = int(before.min(i64::MAX.unsigned_abs()));
        let delete = sqlx::query(AssertSqlSafe(sql)).bind(rows).bind(before).bind(what.protected_rows());
        self.execute(delete).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::db::swaps::SwapRow;
    use crate::db::testing::{TestFile, batch, change, model};

    async fn with_events(count: u64) -> TestFile {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=count).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        file
    }

    async fn left(file: &TestFile) -> (i64, i64) {
        sqlx::query_as("SELECT count(*), min(seq) FROM events").fetch_one(&*file.db.readers()).await.unwrap()
    }

    #[tokio::test]
    async fn only_events_older_than_the_limit_are_deleted() {
        let file = with_events(2_500).await;
        // The event n happened at 1 000 + n.
        assert_eq!(file.db.prune_older(GrowingTable::Events, 3_001, &|| true).await.unwrap(), 2_000);
        assert_eq!(left(&file).await, (500, 2_001));
        assert_eq!(file.db.prune_older(GrowingTable::Events, 3_001, &|| true).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn pruning_ends_between_two_chunks_on_shutdown() {
        let file = with_events(2_500).await;
        let calls = AtomicU32::new(0);
        let once = || calls.fetch_add(1, Relaxed) == 0;
        assert_eq!(file.db.prune_older(GrowingTable::Events, 3_001, &once).await.unwrap(), 1_000);
        assert_eq!(file.db.prune_larger(GrowingTable::Events, 0, &|| false).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn oldest_rows_of_a_too_large_table_are_deleted() {
        let file = with_events(2_500).await;
        let bytes = file.db.estimate_bytes(GrowingTable::Events).await.unwrap();
        assert_eq!(file.db.prune_larger(GrowingTable::Events, bytes / 5, &|| true).await.unwrap(), 2_000);
        assert_eq!(left(&file).await, (500, 2_001));
    }

    #[tokio::test]
    async fn last_published_line_of_each_plugin_is_kept() {
        let file = TestFile::open().await;
        let line = |at: u64, plugin: &str, outcome: &str| SwapRow {
            at,
            operator: "ada".into(),
            plugin: plugin.into(),
            action: "deploy".into(),
            from_hash: None,
            to_hash: Some(format!("{at}")),
            version: None,
            file_hash: None,
            outcome: outcome.into(),
            reasons: Vec::new(),
            steps_ms: Vec::new(),
        };
        let mut lines =
            vec![line(1, "notes", "published"), line(2, "notes", "published"), line(3, "bank", "published")];
        lines.extend((4..=2_000).map(|at| line(at, "notes", "refused")));
        file.db.record_swaps(lines).await.unwrap();
        assert_eq!(file.db.prune_older(GrowingTable::Swaps, 1_500, &|| true).await.unwrap(), 1_497);
        // The estimate does not count the row numbers between a kept line and the others.
        let bytes = file.db.estimate_bytes(GrowingTable::Swaps).await.unwrap();
        assert_eq!(file.db.prune_larger(GrowingTable::Swaps, bytes, &|| true).await.unwrap(), 0);
        assert_eq!(file.db.prune_larger(GrowingTable::Swaps, bytes / 2, &|| true).await.unwrap(), 251);
        file.db.prune_larger(GrowingTable::Swaps, 0, &|| true).await.unwrap();
        file.db.prune_older(GrowingTable::Swaps, u64::MAX, &|| true).await.unwrap();
        for (plugin, at) in [("notes", 2), ("bank", 3)] {
            assert_eq!(file.db.find_published_swaps(plugin, 1).await.unwrap()[0].at, at, "{plugin}");
        }
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM swaps").fetch_one(&*file.db.readers()).await.unwrap();
        assert_eq!(left, 2);
    }

    #[tokio::test]
    async fn newest_batch_ids_are_never_deleted() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let mut writer = file.db.writer();
        for version in 1..=20 {
            writer.apply(&batch(&format!("b{version}"), vec![change(&model, version, "acme/test")])).await.unwrap();
        }
        for what in GrowingTable::ALL {
            file.db.prune_older(what, u64::MAX, &|| true).await.unwrap();
            file.db.prune_larger(what, 0, &|| true).await.unwrap();
        }
        assert_eq!(file.db.latest_version().await.unwrap(), 20);
    }
}
