//! JSON types of tasks and effects.

use serde::{Deserialize, Serialize};

use super::TimestampText;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    Timer,
    Effect,
}

/// Selects a task. Plugin and tenant are required only if the id is ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSelector {
    pub kind: TaskKind,
    #[serde(default)]
    pub plugin: Option<String>,
    /// "acme/test"
    #[serde(default)]
    pub tenant: Option<String>,
    /// "name:key"
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    pub kind: TaskKind,
    pub plugin: String,
    pub tenant: String,
    /// "name:key"
    pub id: String,
    /// "waiting", "settled" (an effect whose outcome has not been reported to its plugin), "given-up".
    pub state: String,
    /// `None` if it was given up.
    pub due_at: Option<TimestampText>,
    pub created_at: TimestampText,
    /// Number of runs that ended in a fault.
    pub faults: u32,
    /// The last fault.
    pub fault: Option<String>,
    /// The outgoing call of an effect. `None` for timers.
    pub call: Option<CallStatus>,
}

/// Progress of an effect. It does not contain the body of the call, which is tenant data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStatus {
    pub destination: String,
    pub method: String,
    pub path: String,
    /// Number of attempts that have begun.
    pub attempts: u32,
    /// Reason why the last attempt had no final outcome.
    pub failure: Option<String>,
    /// "answered 201", "not sent: dns", "unknown: timeout".
    pub outcome: Option<String>,
}

/// Result of a retry or a drop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    pub plugin: String,
    pub tenant: String,
    pub id: String,
}
