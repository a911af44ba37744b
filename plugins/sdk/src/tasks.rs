//! Durable timers, as a handler uses them, and how a task ends.

pub use crate::bindings::exports::tenon::plugin::handler::{Outcome, Task as FiredTask, Verdict};

use serde::Deserialize;

use crate::answer::Stop;
use crate::call::Call;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// What a task returns. `Ok(Verdict::Done)` applies what it changed; `Verdict::Later(at)` changes nothing and runs it again
/// then; `Err` is a fault, refusals included: tried again with growing delays, then set aside for the operator.
pub type TaskOutcome = Result<Verdict, Stop>;

/// Runs when a task falls due. [`Call::json`] reads its payload; a request's other parts are empty.
pub type TaskHandler = for<'a> fn(&Call<'a>, &FiredTask) -> TaskOutcome;

/// A sort of task that the plugin may schedule, or that an effect or a failed request becomes.
#[derive(Clone, Copy)]
pub struct Task {
    pub(crate) name: &'static str,
    pub(crate) handler: TaskHandler,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) delays_ms: Option<&'static [u64]>,
}

/// `name`: lower case letters, digits and hyphens.
pub const fn task(name: &'static str, handler: TaskHandler) -> Task {
    Task { name, handler, deadline_ms: None, delays_ms: None }
}

impl Task {
    /// Of one run, questions included; absent: the limit of the plugin.
    pub const fn deadline_ms(mut self, milliseconds: u64) -> Task {
        self.deadline_ms = Some(milliseconds);
        self
    }

    /// Between runs that end in a fault: one run more than there are delays, the last with [`FiredTask::last`]; at most 32.
    /// Absent: eight runs more, over four hours. What the operator says comes before it.
    pub const fn delays_ms(mut self, milliseconds: &'static [u64]) -> Task {
        self.delays_ms = Some(milliseconds);
        self
    }
}

/// The timers of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Tasks<'a> {
    host: HostRef<'a>,
}

impl<'a> Tasks<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Tasks<'a> {
        Tasks { host }
    }

    /// Replaces a waiting one of the same name and key. `at`: milliseconds since 1970; `payload` is one JSON text.
    pub fn schedule(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.host.tasks_schedule(name, key, at, payload);
    }

    /// Whether one was waiting.
    pub fn cancel(&self, name: &str, key: &str) -> bool {
        self.host.tasks_cancel(name, key)
    }
}

/// The payload of a task that follows a request which ended in a fault, or missed its deadline: see the manifest's
/// `on-fault` and `on-deadline`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailedRequest {
    /// "plugin-failed", "deadline-exceeded", …
    pub failure: String,
    pub operation: String,
    pub method: String,
    pub path: String,
    pub parameters: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    /// The JSON text that it carried.
    #[serde(default)]
    pub body: Option<String>,
    /// Who called.
    pub subject: String,
    pub request_id: String,
    #[serde(default)]
    pub idempotency_key: Option<String>,
}
