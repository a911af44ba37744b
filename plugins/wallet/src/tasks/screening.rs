//! A new address is looked up on the sanctions lists after it was made: its key is taken for good, and a question would have it
//! taken anew in each round of the call.

use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, task};

use crate::providers;
use crate::records::addresses::{self, Address};

pub const TASKS: &[Task] = &[task("screen", screen)];

/// Until a provider that does not answer is asked again.
const PAUSE_MS: u64 = 60_000;

pub fn begin(call: &Call, address: &Address) {
    if address.body.screening.is_some() {
        call.tasks().schedule("screen", &address.id, call.now(), "{}");
    }
}

/// One that stands on a list is switched off.
fn screen(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some(mut address) = addresses::load(call, &task.key)? else { return Ok(Verdict::Done) };
    let verdict = match providers::screen(call, address.body.blockchain, &address.body.address) {
        Ok(verdict) => verdict,
        Err(Stop::Refusal(_)) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        Err(stop) => return Err(stop),
    };
    address.body.is_active &= !verdict.as_ref().is_some_and(|verdict| verdict.is_sanctioned);
    address.body.screening = providers::note(verdict.as_ref())?;
    addresses::save(call, &address)?;
    Ok(Verdict::Done)
}
