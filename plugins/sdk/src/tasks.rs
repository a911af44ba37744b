//! Durable timers and the results of tasks.

pub use crate::bindings::exports::tenon::plugin::handler::{Outcome, Task as FiredTask, Verdict};

use serde::Deserialize;

use crate::answer::Stop;
use crate::call::Call;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// Result of a task.
///
/// `Ok(Verdict::Done)` applies the changes of the run. `Ok(Verdict::Later(at))` changes nothing and runs the task again
/// at that time. `Err(Stop::Wait)` waits for the replies to questions. Any other `Err` is a fault, even a refusal: the
/// host runs the task again after each of its delays, then sets it aside for the operator.
pub type TaskOutcome = Result<Verdict, Stop>;

/// Handler of a task, called when the task is due. [`Call::json`] reads its payload. The request has no method, path,
/// parameters, query, headers and context.
pub type TaskHandler = for<'a> fn(&Call<'a>, &FiredTask) -> TaskOutcome;

/// A declared task: the handler of a timer, of the outcome of an effect, of a failed request, or of a change on a
/// blockchain.
#[derive(Clone, Copy)]
pub struct Task {
    pub(crate) name: &'static str,
    pub(crate) handler: TaskHandler,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) delays_ms: Option<&'static [u64]>,
}

/// Returns a task. `name` consists of lower case letters, digits and hyphens.
pub const fn task(name: &'static str, handler: TaskHandler) -> Task {
    Task { name, handler, deadline_ms: None, delays_ms: None }
}

impl Task {
    /// Sets the deadline of one run, questions included. Without this, the limit of the plugin applies.
    pub const fn deadline_ms(mut self, milliseconds: u64) -> Task {
        self.deadline_ms = Some(milliseconds);
        self
    }

    /// Sets the delays between runs that end in a fault, at most 32. There is one more run than delays, and the last
    /// run has [`FiredTask::last`] set. Without this, there are eight retries over four hours. The operator's
    /// configuration takes precedence.
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

    /// Schedules a task at `at` (milliseconds since 1970), and replaces a waiting task with the same name and key.
    /// `payload` is one JSON text.
    pub fn schedule(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.host.tasks_schedule(name, key, at, payload);
    }

    /// Cancels a waiting task. Returns true if there was one.
    pub fn cancel(&self, name: &str, key: &str) -> bool {
        self.host.tasks_cancel(name, key)
    }
}

/// Payload of a task that runs after a request which ended in a fault or missed its deadline (`on-fault` and
/// `on-deadline` of the manifest).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailedRequest {
    /// Name of the error: "plugin-failed", "deadline-exceeded", …
    pub failure: String,
    pub operation: String,
    pub method: String,
    pub path: String,
    pub parameters: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    /// Body of the request, as JSON text.
    #[serde(default)]
    pub body: Option<String>,
    /// Subject of the caller's principal.
    pub subject: String,
    pub request_id: String,
    #[serde(default)]
    pub idempotency_key: Option<String>,
}
