//! What falls due: timers of payments, and what became of messages that were sent.
//!
//! A task that comes too late, or for a payment that nobody knows, is over without a change; a rule's "no" to it is no
//! fault. Invariant: nothing here decides what a timer or a reply means: the rules do.

mod partner;
mod platform;

use tenon_plugin::effects::Response;
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Content, Stop, Task, task};

use crate::audit;
use crate::rules::step::Reply;
use crate::rules::uetr::Uetr;

/// Between runs of a decision that breaks: all of them, and the last one that settles it, lie within the shortest budget.
const DECIDE_DELAYS_MS: &[u64] = &[200, 400, 800, 1_600];

/// Follows a synchronous authorisation that ended without an answer of this plugin.
pub const SYNC_BROKEN: &str = "sync-broken";
/// When no repeat of it was decided in its time.
pub const SYNC_ABANDONED: &str = "sync-abandoned";

pub const TASKS: &[Task] = &[
    task("decide", partner::decide).delays_ms(DECIDE_DELAYS_MS),
    task("decision-due", partner::decision_due),
    task("completion-due", partner::completion_due),
    task(SYNC_BROKEN, partner::sync_broken),
    task(SYNC_ABANDONED, partner::sync_abandoned),
    task("bank-notified", partner::bank_notified),
    // Repeats would give an operator no new information.
    task("bank-not-notified", partner::bank_not_notified).delays_ms(&[]),
    task("response-settled", partner::response_settled),
    task("determination-due", platform::determination_due),
    task("response-due", platform::response_due),
    task("determination-settled", platform::determination_settled),
    task("request-settled", platform::request_settled),
    task("completion-settled", platform::completion_settled),
];

/// The payment that a task is for: the key, or its last part.
fn uetr(task: &FiredTask) -> Result<Uetr, Stop> {
    let text = task.key.rsplit(':').next().unwrap_or_default();
    Uetr::parse(text).map_err(|_| Stop::fault("the key of the task is no uetr"))
}

/// Over; a rule's "no" came too late to matter.
fn done(ended: Result<(), Stop>) -> TaskOutcome {
    match ended {
        Ok(()) | Err(Stop::Refusal(_)) => Ok(Verdict::Done),
        Err(stop) => Err(stop),
    }
}

/// How a message of ours was taken, and what was answered. Noted in the journal.
fn reply<'a>(call: &Call, task: &'a FiredTask, operation: &str) -> Result<(Reply, Option<&'a Response>), Stop> {
    let (status, response, why) = match &task.outcome {
        Some(Outcome::Answered(response)) => (Some(response.status), Some(response), response.status.to_string()),
        Some(Outcome::NotSent(why) | Outcome::Unknown(why)) => (None, None, why.clone()),
        None => (None, None, "no outcome".to_owned()),
    };
    let body = response.and_then(|response| match &response.content {
        Content::Json(text) => Some(text.as_str()),
        _ => None,
    });
    audit::note_reply(call, operation, uetr(task)?.as_str(), &why, body)?;
    Ok((Reply::of_status(status), response))
}
