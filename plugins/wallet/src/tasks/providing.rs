//! What a provider answers to an order, and looking at what has become of it.

use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, json, task};

use crate::providing;
use crate::records::outgoing::{self, Out};
use crate::rules::status::Status;

pub const TASKS: &[Task] = &[task("ordered", ordered), task("poll", poll)];

fn under_way(call: &Call, task: &FiredTask) -> Result<Option<Out>, Stop> {
    Ok(outgoing::load(call, &task.key)?.filter(|out| out.record.status == Status::Processing))
}

fn ordered(call: &Call, task: &FiredTask) -> TaskOutcome {
    match under_way(call, task)? {
        Some(mut out) => providing::ordered(call, &mut out, task.outcome.as_ref()),
        None => Ok(Verdict::Done),
    }
}

fn poll(call: &Call, task: &FiredTask) -> TaskOutcome {
    let looks: usize = json::from_text(&task.payload)?;
    match under_way(call, task)? {
        Some(mut out) => providing::poll(call, &mut out, looks),
        None => Ok(Verdict::Done),
    }
}
