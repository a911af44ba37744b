//! JSON about tasks and effects.

use serde::{Deserialize, Serialize};

use super::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskSort {
    Timer,
    Effect,
}

/// A task, named as far as need be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskName {
    pub kind: TaskSort,
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
    pub kind: TaskSort,
    pub plugin: String,
    pub tenant: String,
    /// "name:key"
    pub id: String,
    /// "waiting", "settled" (an effect whose outcome has not been told), "given-up".
    pub state: String,
    /// Null where it was given up.
    pub due_at: Option<Moment>,
    pub created_at: Moment,
    /// Runs that ended in a fault.
    pub faults: u32,
    /// The last of them.
    pub fault: Option<String>,
    /// Of an effect.
    pub call: Option<CallStatus>,
}

/// Where an effect has got to. Never its body: that is the tenant's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStatus {
    pub destination: String,
    pub method: String,
    pub path: String,
    /// Attempts that have begun.
    pub attempts: u32,
    /// Why the last one gave no final answer.
    pub failure: Option<String>,
    /// "answered 201", "not sent: dns", "unknown: timeout".
    pub outcome: Option<String>,
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    pub plugin: String,
    pub tenant: String,
    pub id: String,
}
