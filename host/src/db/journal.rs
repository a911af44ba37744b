//! The tenants' journal: one chain of hashes for each plugin and tenant. Lines are added by `apply::journal`.
//!
//! hash = SHA-256(hash of the line before | canonical line); the canonical line is the JSON array
//! [plugin, tenant, seq, at, subject, operation, request id, entry, version, component], without the last two where the line
//! does not say who decided it. The first line follows 32 zero bytes, and the one after a cut by retention the last line
//! that was deleted (`journal_cuts`).
//!
//! - `follow`: whether chains are what was written. `list`: lines for people. `prune`: retention.

mod follow;
mod list;
mod prune;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::DbError;
use crate::changes::change_set::{DecidedBy, JournalLine};
use crate::clock::Timestamp;

pub use follow::{Chain, ChainFilter, ChainsPage, Flaw, FlawKind, FollowBounds};
pub use list::{LineBounds, LineFilter, LinePage};

pub type Hash = [u8; 32];

/// A line as it lies in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLine {
    pub plugin: String,
    pub tenant: String,
    pub seq: i64,
    pub prev: Hash,
    pub hash: Hash,
    pub at: Timestamp,
    pub line: JournalLine,
}

/// `owner`: plugin and tenant.
pub(super) fn hash_line(prev: &Hash, owner: (&str, &str), (seq, at): (i64, Timestamp), line: &JournalLine) -> Hash {
    let JournalLine { subject, operation, request_id, decided_by, entry } = line;
    let plain = (owner.0, owner.1, seq, at, &**subject, &**operation, &**request_id, &**entry);
    let canonical = match decided_by {
        None => serde_json::json!(plain),
        Some(by) => {
            let (plugin, tenant, seq, at, subject, operation, request_id, entry) = plain;
            serde_json::json!([
                plugin,
                tenant,
                seq,
                at,
                subject,
                operation,
                request_id,
                entry,
                by.version,
                by.component
            ])
        }
    };
    Sha256::new().chain_update(prev).chain_update(canonical.to_string()).finalize().into()
}

pub(super) fn hash_of(bytes: Vec<u8>) -> Result<Hash, DbError> {
    bytes.try_into().map_err(|_| DbError::Corrupt("journal: a hash has 32 bytes".into()))
}

/// What the file has. One of an older version, in a backup, has no word of who decided, nor of what retention has deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Older,
    Present,
}

impl Form {
    async fn of(connection: &mut SqliteConnection) -> Result<Form, DbError> {
        let sql = "SELECT count(*) FROM pragma_table_info('journal') WHERE name = 'component'";
        let columns: i64 = sqlx::query_scalar(sql).fetch_one(connection).await?;
        Ok(if columns == 0 { Form::Older } else { Form::Present })
    }

    /// Those of a `StoredLine`.
    fn columns(self) -> &'static str {
        match self {
            Form::Older => {
                "plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry, \
                 NULL AS version, NULL AS component"
            }
            Form::Present => {
                "plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry, version, component"
            }
        }
    }
}

impl StoredLine {
    /// `None` where a column holds what the host cannot have written.
    fn read(row: &SqliteRow) -> Option<StoredLine> {
        let text = |name: &str| row.try_get::<String, _>(name).ok();
        let hash = |name: &str| hash_of(row.try_get::<Vec<u8>, _>(name).ok()?).ok();
        let named = |name: &str| row.try_get::<Option<String>, _>(name).ok();
        let decided_by = match (named("version")?, named("component")?) {
            (None, None) => None,
            (Some(version), Some(component)) => Some(Arc::new(DecidedBy { version, component })),
            _ => return None,
        };
        Some(StoredLine {
            plugin: text("plugin")?,
            tenant: text("tenant")?,
            seq: row.try_get("seq").ok()?,
            prev: hash("prev")?,
            hash: hash("hash")?,
            at: u64::try_from(row.try_get::<i64, _>("at").ok()?).ok()?,
            line: JournalLine {
                subject: text("subject")?.into(),
                operation: text("operation")?.into(),
                request_id: text("request_id")?.into(),
                decided_by,
                entry: text("entry")?.into(),
            },
        })
    }

    /// What it should be by what stands in the line.
    fn expected_hash(&self) -> Hash {
        hash_line(&self.prev, (&self.plugin, &self.tenant), (self.seq, self.at), &self.line)
    }

    /// About what it takes in memory and in an answer.
    fn bytes(&self) -> usize {
        let line = &self.line;
        [&*line.entry, &line.subject, &line.operation, &line.request_id].iter().map(|text| text.len()).sum()
    }
}
