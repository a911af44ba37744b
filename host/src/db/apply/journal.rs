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
use crate::limits::CHAIN_HEADS_CACHED;

/// Cached last line of each chain after the last batch. Cleared when a batch fails, and before a batch if there are too
/// many.
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
        // Not within a batch: the lines that it adds are not in the database yet.
        if self.0.len() > CHAIN_HEADS_CACHED {
            self.clear();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::apply::Writer;
    use crate::db::testing::{TestFile, batch, change, model, scope};

    async fn append(writer: &mut Writer, version: u64) {
        let line = JournalLine {
            subject: "key_1".into(),
            operation: "change-thing".into(),
            request_id: "request_1".into(),
            decided_by: None,
            entry: "{}".into(),
        };
        let change = change(&model(vec![]), version, "acme/test").edit(|changes| changes.journal.push(line));
        writer.apply(&batch(&format!("b{version}"), vec![change])).await.unwrap();
    }

    #[tokio::test]
    async fn cached_chain_heads_are_bounded_and_chains_continue() {
        let file = TestFile::with(&model(vec![])).await;
        let mut writer = file.db.writer();
        append(&mut writer, 1).await;
        for tenant in 0..CHAIN_HEADS_CACHED {
            let head = ChainHead { seq: 1, hash: Hash::default() };
            writer.cache.chains.0.insert(scope("notes", &format!("tenant{tenant}/test")), head);
        }
        append(&mut writer, 2).await;
        assert_eq!(writer.cache.chains.0.len(), 1);
        let lines: Vec<(i64, Vec<u8>, Vec<u8>)> = sqlx::query_as("SELECT seq, prev, hash FROM journal ORDER BY seq")
            .fetch_all(&*file.db.readers())
            .await
            .unwrap();
        assert_eq!(lines.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(lines[1].1, lines[0].2, "the second line continues the chain");
    }
}
