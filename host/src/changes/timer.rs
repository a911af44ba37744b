//! A durable timer, the body of a record of `host_collections::TASKS`; and where tasks of every kind stand.
//!
//! A plain value. Invariant: it has a time to run at, or the host has given it up and an operator decides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scope::Scope;
use crate::changes::host_collections::{EFFECTS, TASKS};
use crate::clock::Timestamp;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timer {
    /// Never run before it; `None`: given up.
    pub due: Option<Timestamp>,
    pub name: String,
    pub key: String,
    pub payload: Box<RawValue>,
    /// Hops of the call that scheduled it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hops: u8,
    #[serde(flatten)]
    pub trouble: Trouble,
}

/// What has gone wrong with a task so far; of a settled effect as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trouble {
    /// Runs that ended in a fault.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub faults: u32,
    /// The last of them, for operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(super) fn is_none(hops: &u8) -> bool {
    *hops == 0
}

impl Timer {
    pub fn new(name: &str, key: &str, due: Timestamp, payload: Box<RawValue>) -> Timer {
        let (name, key) = (name.to_owned(), key.to_owned());
        Timer { due: Some(due), name, key, payload, hops: 0, trouble: Trouble::default() }
    }

    /// From the body of its record.
    pub fn parse(body: &str) -> Result<Timer, serde_json::Error> {
        serde_json::from_str(body)
    }
}

/// Where a task stands: a timer, or an effect whose outcome is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskPlace {
    pub scope: Scope,
    pub kind: TaskKind,
    /// Of its record.
    pub id: Arc<str>,
}

impl TaskPlace {
    /// Of the task, as its manifest declares it.
    pub fn name(&self) -> &str {
        self.id.split(':').next().unwrap_or_default()
    }
}

/// What is worked on together: the timers of one plugin and tenant, or its effects to one destination, so that one which
/// hangs keeps no other waiting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskLine {
    pub scope: Scope,
    /// Of effects, as the plugin calls it; `None`: timers.
    pub destination: Option<Arc<str>>,
}

impl TaskLine {
    pub fn kind(&self) -> TaskKind {
        if self.destination.is_some() { TaskKind::Effect } else { TaskKind::Timer }
    }

    pub fn place(&self, id: Arc<str>) -> TaskPlace {
        TaskPlace { scope: self.scope.clone(), kind: self.kind(), id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskKind {
    Timer,
    Effect,
}

impl TaskKind {
    /// Of the host's own.
    pub fn collection(self) -> &'static str {
        match self {
            TaskKind::Timer => TASKS,
            TaskKind::Effect => EFFECTS,
        }
    }

    pub fn of(collection: &str) -> Option<TaskKind> {
        [TaskKind::Timer, TaskKind::Effect].into_iter().find(|kind| kind.collection() == collection)
    }
}

/// The id of its record, and of an effect's: names hold no colon, so no two pairs share one.
pub fn record_id(name: &str, key: &str) -> String {
    format!("{name}:{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_read_as_it_was_written() {
        let mut timer = Timer::new("ring", "a:b", 5, RawValue::from_string(r#"{"x":1}"#.to_owned()).unwrap());
        timer.trouble = Trouble { faults: 2, fault: Some("broken".to_owned()) };
        let read = Timer::parse(&serde_json::to_string(&timer).unwrap()).unwrap();
        assert_eq!((read.due, read.key.as_str(), read.payload.get()), (Some(5), "a:b", r#"{"x":1}"#));
        assert_eq!(read.trouble, timer.trouble);
    }
}
