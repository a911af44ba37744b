//! The tenants' journals: one hash chain for each plugin and tenant. `apply::journal` adds the lines.
//!
//! hash = SHA-256(hash of the previous line | canonical line). The canonical line is the JSON array [plugin, tenant,
//! seq, at, subject, operation, request id, entry, version, component], without the last two members if the line does
//! not contain the deciding component. The first line follows 32 zero bytes. The first line after a cut by retention
//! follows the last deleted line (`journal_cuts`).
//!
//! - `verify`: checks the integrity of chains. `list`: lists lines. `prune`: retention.

mod list;
mod prune;
#[cfg(test)]
mod tests;
mod verify;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::DbError;
use crate::changes::change_set::{DecidedBy, JournalLine};
use crate::clock::Timestamp;

pub use list::{LineBounds, LineFilter, LinePage};
pub use verify::{Chain, ChainFilter, ChainsPage, Flaw, FlawKind, VerifyBounds};

pub type Hash = [u8; 32];

/// A stored line.
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

/// Returns the hash of a line. `owner` is the plugin and the tenant.
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
    bytes.try_into().map_err(|_| DbError::Corrupt("journal: a hash must have 32 bytes".into()))
}

/// Schema of the journal in the file. An older schema, in a backup, has no deciding component and no cuts by retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalSchema {
    Older,
    Current,
}

impl JournalSchema {
    async fn of(connection: &mut SqliteConnection) -> Result<JournalSchema, DbError> {
        let sql = "SELECT count(*) FROM pragma_table_info('journal') WHERE name = 'component'";
        let columns: i64 = sqlx::query_scalar(sql).fetch_one(connection).await?;
        Ok(if columns == 0 { JournalSchema::Older } else { JournalSchema::Current })
    }

    /// Returns the columns of a `StoredLine`.
    fn columns(self) -> &'static str {
        match self {
            JournalSchema::Older => {
                "plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry, \
                 NULL AS version, NULL AS component"
            }
            JournalSchema::Current => {
                "plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry, version, component"
            }
        }
    }
}

impl StoredLine {
    /// Reads a line. Returns `None` if a column contains a value that the host cannot have written.
    fn read(row: &SqliteRow) -> Option<StoredLine> {
        let text = |name: &str| row.try_get::<String, _>(name).ok();
        let hash = |name: &str| hash_of(row.try_get::<Vec<u8>, _>(name).ok()?).ok();
        let optional = |name: &str| row.try_get::<Option<String>, _>(name).ok();
        let decided_by = match (optional("version")?, optional("component")?) {
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

    /// Computes the hash from the content of the line.
    fn expected_hash(&self) -> Hash {
        hash_line(&self.prev, (&self.plugin, &self.tenant), (self.seq, self.at), &self.line)
    }

    /// Returns the approximate size in memory and in a response.
    fn bytes(&self) -> usize {
        let line = &self.line;
        [&*line.entry, &line.subject, &line.operation, &line.request_id].iter().map(|text| text.len()).sum()
    }
}
