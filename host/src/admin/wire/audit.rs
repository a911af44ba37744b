//! Queries and JSON types of the tenants' journal.
//!
//! Invariant: members are added, never renamed. Auditors keep the output of `tenon audit verify --json` for years.

use serde::{Deserialize, Serialize};

use super::TimestampText;

/// Query for lines, newest first. `None` selects every value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditLinesQuery {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub operation: Option<String>,
    pub subject: Option<String>,
    /// Request id.
    pub request: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<TimestampText>,
    /// Latest time, exclusive.
    pub until: Option<TimestampText>,
    /// `next` of the previous page. With plugin and tenant, it is a line number.
    pub after: Option<i64>,
    /// From 1 to `limits::ADMIN_PAGE_MAX`. `None` selects `limits::ADMIN_PAGE_DEFAULT`.
    pub limit: Option<u32>,
}

/// Query for the hash chains, each verified to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditChainsQuery {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// `next` of the previous page.
    pub after: Option<String>,
}

/// A journal line with everything that its hash covers, except the hash of the previous line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub seq: i64,
    pub at: TimestampText,
    pub subject: String,
    pub operation: String,
    pub request_id: String,
    /// Version of the plugin that decided. `None` for lines from before the version was recorded.
    pub version: Option<String>,
    /// Hex SHA-256 of its component.
    pub component: Option<String>,
    /// JSON text as the plugin wrote it.
    pub entry: String,
    /// Hex SHA-256.
    pub hash: String,
}

/// The hash chain of one plugin and tenant, verified from its first stored line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainStatus {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    /// Number of valid lines.
    pub lines: u64,
    /// Number of the first valid line. `None` if there is none.
    pub first: Option<i64>,
    /// Number of the last valid line, or `deleted` if there is none.
    pub last: i64,
    /// Hex SHA-256 of the line `last`.
    pub head: String,
    /// The last line that retention deleted. 0 if there is none.
    pub deleted: i64,
    /// The first invalid line. Later lines were not verified.
    pub flaw: Option<ChainFlaw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFlaw {
    pub seq: i64,
    #[serde(rename = "what")]
    pub kind: FlawKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlawKind {
    Changed,
    Missing,
    Misplaced,
    /// The line after the last existing one is missing, although an earlier report lists it.
    CutOff,
    /// An earlier report lists another hash for this line.
    Rewritten,
}
