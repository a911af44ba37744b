//! Retention of the journal: each chain loses its first lines and goes on from where it was cut.
//!
//! Invariants: what is deleted is always the beginning of a chain; the last of it is noted in the same transaction.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::db::database::WriteTransaction;
use crate::db::{Database, DbError};

/// How far one chain can be cut.
#[derive(Default)]
struct Cut {
    /// Number and hash of the last line that goes.
    last: Option<(i64, Vec<u8>)>,
    /// A line that stays was met: so do all behind it, also those whose call began earlier.
    ended: bool,
}

impl Database {
    /// Of the oldest `rows` lines, those from before this time; returns how many.
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
        let noted = "INSERT INTO journal_cuts VALUES (?, ?, ?, ?) \
                         ON CONFLICT DO UPDATE SET seq = excluded.seq, hash = excluded.hash";
        let noted = sqlx::query(noted).bind(&plugin).bind(&tenant).bind(seq).bind(hash);
        noted.execute(write.connection()).await?;
        let delete = sqlx::query("DELETE FROM journal WHERE plugin = ? AND tenant = ? AND seq <= ?");
        let delete = delete.bind(plugin).bind(tenant).bind(seq);
        deleted += delete.execute(write.connection()).await?.rows_affected();
    }
    Ok(deleted)
}
