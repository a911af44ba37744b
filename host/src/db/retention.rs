//! What grows for ever is deleted here, the oldest first, by age or by bytes, in chunks.
//!
//! Each chunk is a short transaction of its own, so that commits go on between them. Pages that become free are used
//! again; the file does not shrink. When and how much is the caller's decision: nothing here runs by itself.

use sqlx::AssertSqlSafe;

use super::apply::rows::int;
use super::records::unsigned;
use super::{Database, DbError};
use crate::clock::Timestamp;
use crate::limits::{BATCHES_KEPT, PRUNE_ROWS, ROW_BYTES};

/// A table that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growing {
    /// Kept answers: once one is gone, its idempotency key is a new one.
    Answers,
    Events,
    /// The tenants' journal: only where the operator configured it. Each chain goes on from the line that was deleted last.
    Journal,
    Swaps,
    /// Messages that were stored instead of being sent.
    Outbox,
    /// Ids of batches; the newest `BATCHES_KEPT` always stay.
    Batches,
}

impl Growing {
    pub const ALL: [Growing; 6] =
        [Growing::Answers, Growing::Events, Growing::Journal, Growing::Swaps, Growing::Outbox, Growing::Batches];

    fn table(self) -> &'static str {
        match self {
            Growing::Answers => "answers",
            Growing::Events => "events",
            Growing::Journal => "journal",
            Growing::Swaps => "swaps",
            Growing::Outbox => "outbox",
            Growing::Batches => "batches",
        }
    }

    /// By its name in `[retention.NAME]`: the same as its table.
    pub fn parse(name: &str) -> Option<Growing> {
        Growing::ALL.into_iter().find(|growing| growing.table() == name)
    }

    /// Bytes of what a row carries, in SQL.
    fn content(self) -> &'static str {
        match self {
            Growing::Answers => "length(sealed)",
            Growing::Events => "length(CAST(body AS BLOB))",
            Growing::Journal => "length(CAST(entry AS BLOB))",
            Growing::Swaps => "length(reasons) + length(steps_ms)",
            Growing::Outbox => "length(body) + length(path)",
            Growing::Batches => "length(id)",
        }
    }

    /// The newest rows that stay whatever their age and size.
    fn kept(self) -> u32 {
        if self == Growing::Batches { BATCHES_KEPT } else { 0 }
    }

    /// Returns the SQL condition of rows that may be deleted. A restart takes the component of a plugin from its last published line,
    /// so the last published line stays.
    fn prunable(self) -> &'static str {
        match self {
            Growing::Swaps => {
                "WHERE rowid NOT IN (SELECT max(seq) FROM swaps WHERE outcome = 'published' GROUP BY plugin)"
            }
            _ => "",
        }
    }
}

/// Asked between two chunks: a host that stops does not wait for the end.
pub type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

impl Database {
    /// Deletes rows from before this time, as long as `go_on` says so; returns how many. Rows are looked at in the order in
    /// which they came, up to the first chunk that holds a younger one.
    pub async fn prune_older(&self, what: Growing, before: Timestamp, go_on: GoOn<'_>) -> Result<u64, DbError> {
        let mut deleted = 0;
        while go_on() {
            let chunk = self.prune_chunk(what, PRUNE_ROWS, before).await?;
            deleted += chunk;
            if chunk < u64::from(PRUNE_ROWS) {
                break;
            }
        }
        Ok(deleted)
    }

    /// Deletes the oldest rows until the table takes about `bytes_max` bytes, as long as `go_on` says so; returns how many.
    pub async fn prune_larger(&self, what: Growing, bytes_max: u64, go_on: GoOn<'_>) -> Result<u64, DbError> {
        let (rows, row_bytes) = self.estimate(what).await?;
        let keep = bytes_max / row_bytes.max(1);
        let mut excess = rows.saturating_sub(keep);
        let mut deleted = 0;
        while excess > 0 && go_on() {
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

    /// About how many bytes the table takes.
    pub async fn estimate_bytes(&self, what: Growing) -> Result<u64, DbError> {
        let (rows, row_bytes) = self.estimate(what).await?;
        Ok(rows.saturating_mul(row_bytes))
    }

    /// (rows that may go, bytes of one): numbers have next to no gaps, and the newest rows stand for all.
    async fn estimate(&self, what: Growing) -> Result<(u64, u64), DbError> {
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

    async fn prune_chunk(&self, what: Growing, rows: u32, before: Timestamp) -> Result<u64, DbError> {
        if what == Growing::Journal {
            return self.prune_journal(rows, before).await;
        }
        let sql = format!(
            "DELETE FROM {0} WHERE rowid IN (SELECT rowid FROM {0} {1} ORDER BY rowid LIMIT ?1) AND at < ?2 \
             AND rowid <= (SELECT max(rowid) FROM {0}) - ?3",
            what.table(),
            what.prunable()
        );
        let before = int(before.min(i64::MAX.unsigned_abs()));
        let delete = sqlx::query(AssertSqlSafe(sql)).bind(rows).bind(before).bind(what.kept());
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
    async fn events_older_than_the_limit_go_and_the_others_stay() {
        let file = with_events(2_500).await;
        // The event n happened at 1 000 + n.
        assert_eq!(file.db.prune_older(Growing::Events, 3_001, &|| true).await.unwrap(), 2_000);
        assert_eq!(left(&file).await, (500, 2_001));
        assert_eq!(file.db.prune_older(Growing::Events, 3_001, &|| true).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn pruning_ends_between_two_chunks_when_the_host_stops() {
        let file = with_events(2_500).await;
        let asked = AtomicU32::new(0);
        let once = || asked.fetch_add(1, Relaxed) == 0;
        assert_eq!(file.db.prune_older(Growing::Events, 3_001, &once).await.unwrap(), 1_000);
        assert_eq!(file.db.prune_larger(Growing::Events, 0, &|| false).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_table_that_is_too_large_loses_its_oldest_rows() {
        let file = with_events(2_500).await;
        let bytes = file.db.estimate_bytes(Growing::Events).await.unwrap();
        assert_eq!(file.db.prune_larger(Growing::Events, bytes / 5, &|| true).await.unwrap(), 2_000);
        assert_eq!(left(&file).await, (500, 2_001));
    }

    #[tokio::test]
    async fn last_published_line_of_each_plugin_stays() {
        let file = TestFile::open().await;
        let line = |at: u64, plugin: &str, outcome: &str| SwapRow {
            at,
            who: "ada".into(),
            plugin: plugin.into(),
            action: "deploy".into(),
            from_hash: None,
            to_hash: Some(format!("{at}")),
            file_hash: None,
            outcome: outcome.into(),
            reasons: Vec::new(),
            steps_ms: Vec::new(),
        };
        let mut lines =
            vec![line(1, "notes", "published"), line(2, "notes", "published"), line(3, "bank", "published")];
        lines.extend((4..=2_000).map(|at| line(at, "notes", "refused")));
        file.db.record_swaps(lines).await.unwrap();
        assert_eq!(file.db.prune_older(Growing::Swaps, 1_500, &|| true).await.unwrap(), 1_497);
        // The estimate does not count the numbers between a line that stays and the others.
        let bytes = file.db.estimate_bytes(Growing::Swaps).await.unwrap();
        assert_eq!(file.db.prune_larger(Growing::Swaps, bytes, &|| true).await.unwrap(), 0);
        assert_eq!(file.db.prune_larger(Growing::Swaps, bytes / 2, &|| true).await.unwrap(), 251);
        file.db.prune_larger(Growing::Swaps, 0, &|| true).await.unwrap();
        file.db.prune_older(Growing::Swaps, u64::MAX, &|| true).await.unwrap();
        for (plugin, at) in [("notes", 2), ("bank", 3)] {
            assert_eq!(file.db.last_published(plugin).await.unwrap().map(|line| line.at), Some(at), "{plugin}");
        }
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM swaps").fetch_one(&*file.db.readers()).await.unwrap();
        assert_eq!(left, 2);
    }

    #[tokio::test]
    async fn the_newest_batch_ids_always_stay() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let mut writer = file.db.writer();
        for version in 1..=20 {
            writer.apply(&batch(&format!("b{version}"), vec![change(&model, version, "acme/test")])).await.unwrap();
        }
        for what in Growing::ALL {
            file.db.prune_older(what, u64::MAX, &|| true).await.unwrap();
            file.db.prune_larger(what, 0, &|| true).await.unwrap();
        }
        assert_eq!(file.db.latest_version().await.unwrap(), 20);
    }
}
