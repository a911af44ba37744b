//! Appends lines to the hash chains of the tenants' journals. `db::journal` defines the chains.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Batch;
use super::rows::{ChunkedSql, int};
use super::script::Script;
use crate::changes::change_set::JournalLine;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::db::journal::{Hash, hash_line, hash_of};

/// Cached last line of each chain after the last batch. Cleared when a batch fails.
#[derive(Default)]
pub(super) struct ChainHeads(HashMap<Scope, ChainHead>);

#[derive(Clone, Copy)]
struct ChainHead {
    seq: i64,
    hash: Hash,
}

struct Line<'a> {
    scope: &'a Scope,
    at: Timestamp,
    seq: i64,
    prev: Hash,
    hash: Hash,
    line: &'a JournalLine,
}

static JOURNAL: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "journal (plugin, tenant, seq, prev, hash, at, subject, operation, request_id, version, component, \
         entry)",
        "(?,?,?,?,?,?,?,?,?,?,?,?)",
        "",
    )
});

impl ChainHeads {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub async fn write<'b>(&mut self, script: &mut Script<'b>, batch: &'b Batch) -> Result<(), DbError> {
        let mut lines = Vec::new();
        for accepted in &batch.changes {
            let changes = &accepted.changes;
            for line in &changes.journal {
                let head = self.head_of(script, &changes.scope).await?;
                let (seq, prev) = (head.seq + 1, head.hash);
                let owner = (&**changes.scope.plugin(), &**changes.scope.tenant());
                let hash = hash_line(&prev, owner, (seq, changes.now), line);
                self.0.insert(changes.scope.clone(), ChainHead { seq, hash });
                lines.push(Line { scope: &changes.scope, at: changes.now, seq, prev, hash, line });
            }
        }
        script.add(&JOURNAL, lines, |query, row: &Line<'_>| {
            let decided_by = row.line.decided_by.as_ref();
            query
                .bind(row.scope.plugin().clone())
                .bind(row.scope.tenant().clone())
                .bind(row.seq)
                .bind(row.prev.to_vec())
                .bind(row.hash.to_vec())
                .bind(int(row.at))
                .bind(row.line.subject.clone())
                .bind(row.line.operation.clone())
                .bind(row.line.request_id.clone())
                .bind(decided_by.map(|by| by.version.clone()))
                .bind(decided_by.map(|by| by.component.clone()))
                .bind(row.line.entry.clone())
        });
        Ok(())
    }

    async fn head_of(&mut self, script: &mut Script<'_>, scope: &Scope) -> Result<ChainHead, DbError> {
        if let Some(head) = self.0.get(scope) {
            return Ok(*head);
        }
        // The last stored line, or the last one that retention has deleted.
        let row: Option<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT seq, hash FROM (SELECT seq, hash FROM journal WHERE plugin = ?1 AND tenant = ?2 ORDER BY seq DESC LIMIT 1) \
             UNION ALL SELECT seq, hash FROM journal_cuts WHERE plugin = ?1 AND tenant = ?2 ORDER BY seq DESC LIMIT 1",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .fetch_optional(script.connection().await?)
        .await?;
        match row {
            None => Ok(ChainHead { seq: 0, hash: Hash::default() }),
            Some((seq, hash)) => Ok(ChainHead { seq, hash: hash_of(hash)? }),
        }
    }
}
