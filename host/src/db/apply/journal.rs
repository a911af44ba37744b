//! The tenants' journal: one chain of hashes for each plugin and tenant.
//!
//! hash = SHA-256(hash of the line before | canonical line); the canonical line is the JSON array
//! [plugin, tenant, seq, at, subject, operation, request id, entry]. The first line follows 32 zero bytes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use sha2::{Digest, Sha256};
use sqlx::SqliteConnection;

use super::Batch;
use super::rows::{ChunkedSql, int, write_rows};
use crate::changes::change_set::{JournalLine, Timestamp};
use crate::changes::scope::Scope;
use crate::db::{Database, DbError};

type Hash = [u8; 32];

/// Where each chain ends, as the last batch left it. Forgotten whenever a batch fails.
#[derive(Default)]
pub(super) struct Chains(HashMap<Scope, End>);

#[derive(Clone, Copy)]
struct End {
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
    ChunkedSql::new(
        "INSERT INTO journal (plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry) VALUES ",
        "(?,?,?,?,?,?,?,?,?,?)",
        "",
    )
});

impl Chains {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub async fn write(&mut self, connection: &mut SqliteConnection, batch: &Batch) -> Result<(), DbError> {
        let mut lines = Vec::new();
        for accepted in &batch.changes {
            let changes = &accepted.changes;
            for line in &changes.journal {
                let end = self.end_of(connection, &changes.scope).await?;
                let (seq, prev) = (end.seq + 1, end.hash);
                let hash = chain(&prev, &changes.scope, (seq, changes.now), line);
                self.0.insert(changes.scope.clone(), End { seq, hash });
                lines.push(Line { scope: &changes.scope, at: changes.now, seq, prev, hash, line });
            }
        }
        write_rows(connection, &JOURNAL, &lines, |query, row| {
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
                .bind(row.line.entry.clone())
        })
        .await?;
        Ok(())
    }

    async fn end_of(&mut self, connection: &mut SqliteConnection, scope: &Scope) -> Result<End, DbError> {
        if let Some(end) = self.0.get(scope) {
            return Ok(*end);
        }
        let row: Option<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT seq, hash FROM journal WHERE plugin = ? AND tenant = ? ORDER BY seq DESC LIMIT 1")
                .bind(scope.plugin().clone())
                .bind(scope.tenant().clone())
                .fetch_optional(connection)
                .await?;
        match row {
            None => Ok(End { seq: 0, hash: Hash::default() }),
            Some((seq, hash)) => Ok(End { seq, hash: hash_of(hash)? }),
        }
    }
}

fn hash_of(bytes: Vec<u8>) -> Result<Hash, DbError> {
    bytes.try_into().map_err(|_| DbError::Corrupt("journal: a hash has 32 bytes".into()))
}

fn chain(prev: &Hash, scope: &Scope, (seq, at): (i64, Timestamp), line: &JournalLine) -> Hash {
    let canonical = serde_json::json!([
        &**scope.plugin(),
        &**scope.tenant(),
        seq,
        at,
        &*line.subject,
        &*line.operation,
        &*line.request_id,
        &*line.entry
    ]);
    Sha256::new().chain_update(prev).chain_update(canonical.to_string()).finalize().into()
}

/// What `check_journal` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalCheck {
    /// All lines follow from the one before; so many are there.
    Sound { lines: u64 },
    /// The line with this number is missing, or was changed.
    Broken { seq: u64 },
}

impl Database {
    /// Follows the chain of one scope from its oldest line that is kept. A cut end does not show: compare `lines`.
    pub async fn check_journal(&self, scope: &Scope) -> Result<JournalCheck, DbError> {
        let mut lines = 0;
        let mut end: Option<End> = None;
        loop {
            let after = end.map_or(0, |end| end.seq);
            let page = self.list_journal(scope, after).await?;
            if page.is_empty() {
                return Ok(JournalCheck::Sound { lines });
            }
            for row in page {
                let follows = end.is_none_or(|end| end.seq + 1 == row.seq && end.hash == row.prev);
                let hash = chain(&row.prev, scope, (row.seq, row.at), &row.line);
                if !follows || hash != row.hash || (row.seq == 1 && row.prev != Hash::default()) {
                    return Ok(JournalCheck::Broken { seq: u64::try_from(row.seq).unwrap_or(0) });
                }
                end = Some(End { seq: row.seq, hash });
                lines += 1;
            }
        }
    }

    async fn list_journal(&self, scope: &Scope, after: i64) -> Result<Vec<StoredLine>, DbError> {
        type Columns = (i64, Vec<u8>, Vec<u8>, i64, String, String, String, String);
        let rows: Vec<Columns> = sqlx::query_as(
            "SELECT seq, prev, hash, at, subject, operation, request_id, entry FROM journal \
             WHERE plugin = ? AND tenant = ? AND seq > ? ORDER BY seq LIMIT 1000",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(after)
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter().map(StoredLine::new).collect()
    }
}

struct StoredLine {
    seq: i64,
    prev: Hash,
    hash: Hash,
    at: Timestamp,
    line: JournalLine,
}

impl StoredLine {
    #[allow(clippy::type_complexity, reason = "a row, in the order of its columns")]
    fn new(row: (i64, Vec<u8>, Vec<u8>, i64, String, String, String, String)) -> Result<StoredLine, DbError> {
        let (seq, prev, hash, at, subject, operation, request_id, entry) = row;
        let text = |text: String| -> Arc<str> { text.into() };
        Ok(StoredLine {
            seq,
            prev: hash_of(prev)?,
            hash: hash_of(hash)?,
            at: u64::try_from(at).map_err(|_| DbError::Corrupt("journal: a time before 1970".into()))?,
            line: JournalLine {
                subject: text(subject),
                operation: text(operation),
                request_id: text(request_id),
                entry: text(entry),
            },
        })
    }
}
