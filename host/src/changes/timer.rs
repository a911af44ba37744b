//! A durable timer, the body of a record of `host_collections::TASKS`, and the keys of tasks of every kind.
//!
//! A plain value. Invariant: a timer has a due time, or the host has given it up and an operator decides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scope::Scope;
use crate::changes::host_collections::{EFFECTS, TASKS};
use crate::clock::Timestamp;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timer {
    /// Earliest time at which the task runs. `None` once the host has given it up.
    pub due: Option<Timestamp>,
    pub name: String,
    pub key: String,
    pub payload: Box<RawValue>,
    /// Hops of the call that scheduled the timer.
    #[serde(default, skip_serializing_if = "is_zero_hops")]
    pub hops: u8,
    #[serde(flatten)]
    pub fault_history: FaultHistory,
}

/// Faults of the runs of a task so far. For a settled effect, the runs that receive its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FaultHistory {
    /// Number of runs that ended in a fault.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub faults: u32,
    /// The last fault, for operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(super) fn is_zero_hops(hops: &u8) -> bool {
    *hops == 0
}

impl Timer {
    pub fn new(name: &str, key: &str, due: Timestamp, payload: Box<RawValue>) -> Timer {
        let (name, key) = (name.to_owned(), key.to_owned());
        Timer { due: Some(due), name, key, payload, hops: 0, fault_history: FaultHistory::default() }
    }

    /// Parses the body of a record.
    pub fn parse(body: &str) -> Result<Timer, serde_json::Error> {
        serde_json::from_str(body)
    }
}

/// Identifies a task: a timer, or an effect whose outcome is reported to a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskKey {
    pub scope: Scope,
    pub kind: TaskKind,
    /// Id of its record.
    pub id: Arc<str>,
}

impl TaskKey {
    /// Returns the name of the task in the manifest.
    pub fn name(&self) -> &str {
        self.id.split(':').next().unwrap_or_default()
    }
}

/// Tasks that one worker processes: the timers of one plugin and tenant, or its effects to one destination. A
/// destination that hangs therefore delays no other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskQueue {
    pub scope: Scope,
    /// Destination of the effects, by its name in the plugin. `None` for timers.
    pub destination: Option<Arc<str>>,
}

impl TaskQueue {
    pub fn kind(&self) -> TaskKind {
        if self.destination.is_some() { TaskKind::Effect } else { TaskKind::Timer }
    }

    pub fn key(&self, id: Arc<str>) -> TaskKey {
        TaskKey { scope: self.scope.clone(), kind: self.kind(), id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskKind {
    Timer,
    Effect,
}

impl TaskKind {
    /// Returns the host collection that stores the tasks of this kind.
    pub fn collection(self) -> &'static str {
        match self {
            TaskKind::Timer => TASKS,
            TaskKind::Effect => EFFECTS,
        }
    }

    /// Returns the kind of the tasks in a host collection.
    pub fn of(collection: &str) -> Option<TaskKind> {
        [TaskKind::Timer, TaskKind::Effect].into_iter().find(|kind| kind.collection() == collection)
    }
}

/// Returns the id of the record of a timer or an effect. Names contain no colon, so different pairs have different ids.
pub fn record_id(name: &str, key: &str) -> String {
    format!("{name}:{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_round_trips_through_its_record() {
        let mut timer = Timer::new("ring", "a:b", 5, RawValue::from_string(r#"{"x":1}"#.to_owned()).unwrap());
        timer.fault_history = FaultHistory { faults: 2, fault: Some("broken".to_owned()) };
        let read = Timer::parse(&serde_json::to_string(&timer).unwrap()).unwrap();
        assert_eq!((read.due, read.key.as_str(), read.payload.get()), (Some(5), "a:b", r#"{"x":1}"#));
        assert_eq!(read.fault_history, timer.fault_history);
    }
}
