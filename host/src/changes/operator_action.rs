//! A line of the operators' journal about one action of an operator. A plain value. The line of a change to keys, OAuth
//! clients, tasks or deliveries is written in the transaction of that change.
//!
//! Invariant: it contains no secret. Keys, clients and seeds are named by their ids.

use crate::clock::Timestamp;

// Actions whose line is written in the transaction of the change, by modules below the operators' listener.
pub const CREATE_KEY: &str = "create-key";
pub const REVOKE_KEY: &str = "revoke-key";
pub const CREATE_CLIENT: &str = "create-client";
pub const ROTATE_CLIENT: &str = "rotate-client";
pub const REVOKE_CLIENT: &str = "revoke-client";
pub const ROTATE_TOKEN_KEYS: &str = "rotate-token-keys";

// Actions of commands that run only without a host.
pub const RESTORE: &str = "restore";
pub const CREATE_DATABASE: &str = "create";
pub const ACCEPT_DATABASE: &str = "accept";
pub const OFFLINE_ACTIONS: [&str; 3] = [RESTORE, CREATE_DATABASE, ACCEPT_DATABASE];

/// A line of the operators' journal about an action other than a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAction {
    pub at: Timestamp,
    /// Name that the operator's program sends. It is not authenticated.
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
    /// The host rejected the action. Nothing was changed.
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
