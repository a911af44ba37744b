//! JSON about the tenants' journal. What `tenon audit verify --json` prints is kept for years: members are added, never
//! renamed.

use serde::{Deserialize, Serialize};

use super::Moment;

/// One line, with all that its hash covers besides the hash of the line before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub seq: i64,
    pub at: Moment,
    pub subject: String,
    pub operation: String,
    pub request_id: String,
    /// Version of the plugin that decided; null where it was not noted yet.
    pub version: Option<String>,
    /// Hex SHA-256 of its component.
    pub component: Option<String>,
    /// One JSON text, as the plugin wrote it.
    pub entry: String,
    /// Hex SHA-256.
    pub hash: String,
}

/// The chain of one plugin and tenant, followed from its first line that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainStatus {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    /// That follow from each other.
    pub lines: u64,
    /// Null where none is left.
    pub first: Option<i64>,
    /// 0 where there never was one.
    pub last: i64,
    /// Hex SHA-256 of the last.
    pub head: String,
    /// The last line that retention deleted; 0: none.
    pub deleted: i64,
    /// The first line that is wrong; what stands behind it was not looked at.
    pub flaw: Option<ChainFlaw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFlaw {
    pub seq: i64,
    pub what: FlawSort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlawSort {
    Changed,
    Missing,
    Misplaced,
    /// An earlier report has this line as the last; it is not there any more.
    CutOff,
    /// An earlier report has another hash for this line.
    Rewritten,
}
