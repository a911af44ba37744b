//! A transaction that goes on from another: neither `failed` nor `incomplete` has a way out (spec/wallet: States and
//! transitions), so a new one is linked to it. Each is continued at most once.

use super::{Hold, Outgoing, Task, money};
use crate::rules::amount::Units;
use crate::rules::refusal::Refusal;
use crate::rules::status::Status;
use crate::rules::step::Step;

/// Both are stored in one commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    pub old: Outgoing,
    pub new: Step<Outgoing>,
}

/// A failed transaction once more: with holds of its own, since those of the failed one are released, and signed anew. Not a payout:
/// it needs a quote that the client has accepted, and that of the failed one was used.
pub fn retry(old: Outgoing, id: String) -> Result<Linked, Refusal> {
    let mut linked = link(old, id, Status::Failed)?;
    if matches!(linked.new.record.task, Task::Offramp { .. }) {
        return Err(Refusal::QuoteNeeded);
    }
    money::hold(&mut linked.new);
    Ok(linked)
}

/// An incomplete transaction goes on: it takes over the hold, and the hash of what may have left, so that nothing is paid twice. Who
/// resumes a swap takes what it has brought.
pub fn resume(old: Outgoing, id: String) -> Result<Linked, Refusal> {
    let mut linked = link(old, id, Status::Incomplete)?;
    linked.new.record.hash = linked.old.hash.clone();
    if let Task::Swap { at_least, .. } = &mut linked.new.record.task {
        *at_least = Units::ZERO;
    }
    linked.old.hold = Hold::Passed;
    Ok(linked)
}

fn link(mut old: Outgoing, id: String, from: Status) -> Result<Linked, Refusal> {
    if old.status != from {
        return Err(Refusal::NotPossible { status: old.status });
    }
    if let Some(by) = old.continued_by {
        return Err(Refusal::AlreadyContinued { by });
    }
    let new = Outgoing {
        id: id.clone(),
        status: Status::Pending,
        hold: Hold::Held,
        hash: None,
        error_code: None,
        continues: Some(old.id.clone()),
        continued_by: None,
        ..old.clone()
    };
    old.continued_by = Some(id);
    Ok(Linked { old, new: Step::of(new) })
}
