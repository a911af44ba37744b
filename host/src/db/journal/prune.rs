//! Retention of the journals: deletes the first lines of each chain, which continues from the cut.
//!
//! Invariants: deleted lines are always the beginning of a chain. The last deleted line is recorded in the same
//! transaction.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::db::database::WriteTransaction;
use crate::db::{Database, DbError};

/// The lines of one chain that can be deleted.
#[derive(Default)]
struct Cut {
    /// Number and hash of the last line to delete.
    last: Option<(i64, Vec<u8>)>,
    /// A line to keep was found. All later lines are kept, even if their call began earlier.
    ended: bool,
}

impl Database {
    /// Examines the oldest `rows` lines and deletes those that are older than `before`, in each chain up to the first
    /// line to keep. Returns the number of deleted lines.
    pub(in crate::db) async fn prune_journal(&self, rows: u32, before: Timestamp) -> Result<u64, DbError> {
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        self.write(move |write| Box::pin(async move { delete_lines(write, rows, before).await })).await
    }
}

async fn delete_lines(write: &mut WriteTransaction, rows: u32, before: i64) -> Result<u64, DbError> {
    let sql = "SELECT plugin, tenant, seq, hash, at FROM journal ORDER BY rowid LIMIT ?";
    let oldest: Vec<(String, String, i64, Vec<u8>, i64)> =
        sqlx::query_as(sql).bind(rows).fetch_all(write.connection()).await?;
    let mut cuts: HashMap<(String, String), Cut> = HashMap::new();
    for (plugin, tenant, seq, hash, at) in oldest {
        let cut = cuts.entry((plugin, tenant)).or_default();
        cut.ended |= at >= before;
        if !cut.ended {
            cut.last = Some((seq, hash));
        }
    }
    let mut deleted = 0;
    for ((plugin, tenant), cut) in cuts {
        let Some((seq, hash)) = cut.last else { continue };
        let record = "INSERT INTO journal_cuts VALUES (?, ?, ?, ?) \
                         ON CONFLICT DO UPDATE SET seq = excluded.seq, hash = excluded.hash";
        let record = sqlx::query(record).bind(&plugin).bind(&tenant).bind(seq).bind(hash);
        record.execute(write.connection()).await?;
        let delete = sqlx::query("DELETE FROM journal WHERE plugin = ? AND tenant = ? AND seq <= ?");
        let delete = delete.bind(plugin).bind(tenant).bind(seq);
        deleted += delete.execute(write.connection()).await?.rows_affected();
    }
    Ok(deleted)
}
