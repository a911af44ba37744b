//! JSON types of the operators' journal.

use serde::{Deserialize, Serialize};

use super::{StepTime, TimestampText};

/// A line of the operators' journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    pub at: TimestampText,
    #[serde(rename = "who")]
    pub operator: String,
    pub plugin: String,
    /// "deploy", "rollback", "remove", "redeliver", …
    pub action: String,
    /// Hex SHA-256 of the components.
    pub from: Option<String>,
    pub to: Option<String>,
    /// "published", "refused" or "overtaken" for swaps. "done", "refused" or "failed" for other actions.
    pub outcome: String,
    /// Reasons of a failure, or the target of the action.
    pub reasons: Vec<String>,
    pub steps: Vec<StepTime>,
}
