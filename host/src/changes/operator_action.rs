//! A line of the operators' journal about one action of an operator. A plain value, written in the same transaction as
//! the action itself.
//!
//! Invariant: it contains no secret. Keys, clients and seeds are named by their ids.

use crate::clock::Timestamp;

/// Names of all actions other than swaps. Lines of an older version may contain other names.
pub const ACTIONS: [&str; 19] = [
    "create-key",
    "revoke-key",
    "create-client",
    "rotate-client",
    "revoke-client",
    "rotate-token-keys",
    "rotate-secrets",
    "redeliver",
    "recover",
    "retry-task",
    "drop-task",
    "export-seed",
    "import-seed",
    "control-chain",
    "profile",
    "backup",
    "restore",
    "create",
    "accept",
];

/// A line of the operators' journal about an action other than a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAction {
    pub at: Timestamp,
    /// Name that the operator's program sends; not authenticated.
    pub operator: String,
    /// "*": the host as a whole, or every plugin.
    pub plugin: String,
    /// "create-key", "backup", …
    pub action: &'static str,
    /// The object of the action, or the reason why it was not done.
    pub target: String,
    pub outcome: ActionOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    Done,
    /// The host rejected it; nothing was changed.
    Refused,
    /// The host or its database failed.
    Failed,
}

impl ActionOutcome {
    /// Returns the value in the journal. Never "published", which is reserved for swaps.
    pub fn name(self) -> &'static str {
        match self {
            ActionOutcome::Done => "done",
            ActionOutcome::Refused => "refused",
            ActionOutcome::Failed => "failed",
        }
    }
}

impl OperatorAction {
    /// Returns the line of a successful action.
    pub fn done(at: Timestamp, operator: &str, (plugin, action): (&str, &'static str), target: String) -> Self {
        let (operator, plugin) = (operator.to_owned(), plugin.to_owned());
        OperatorAction { at, operator, plugin, action, target, outcome: ActionOutcome::Done }
    }
}
