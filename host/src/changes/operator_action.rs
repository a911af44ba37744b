//! An action of an operator, as the operators' journal keeps it. A plain value: the code that writes the action writes this
//! beside it, in the same transaction.
//!
//! Invariant: it holds no secret. Keys, clients and seeds are named by their ids.

use crate::clock::Timestamp;

/// Names of all actions other than swaps. An older version may have written lines with others.
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
    /// Name that the operator's program gives itself; not proven.
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
    /// The host refused it; nothing was changed.
    Refused,
    /// The host or its database failed.
    Failed,
}

impl ActionOutcome {
    /// The word in the journal. Never "published", which is for swaps alone.
    pub fn name(self) -> &'static str {
        match self {
            ActionOutcome::Done => "done",
            ActionOutcome::Refused => "refused",
            ActionOutcome::Failed => "failed",
        }
    }
}

impl OperatorAction {
    /// Returns the line of an action that was done.
    pub fn done(at: Timestamp, operator: &str, (plugin, action): (&str, &'static str), target: String) -> Self {
        let (operator, plugin) = (operator.to_owned(), plugin.to_owned());
        OperatorAction { at, operator, plugin, action, target, outcome: ActionOutcome::Done }
    }
}
