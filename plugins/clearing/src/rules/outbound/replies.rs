//! What the partner's replies to the platform's messages mean (spec/clearing: States and transitions, Errors).

use super::{Outbound, Stage, sending, time_out};
use crate::rules::account::AccountNumber;
use crate::rules::directory;
use crate::rules::event::Event;
use crate::rules::refusal::Refusal;
use crate::rules::state::State;
use crate::rules::status::StatusReason;
use crate::rules::step::{Delivery, Effect, Reply, Step, Timer};

/// The reply to an identifier determination.
#[derive(Clone, Debug, PartialEq)]
pub enum Determined {
    Account(AccountNumber),
    /// No account that can be used: a negative outcome, not an error.
    NoAccount(StatusReason),
    /// Neither: an error, or silence.
    Unanswered(Reply),
}

/// Resolved, the payment is sent; its own time begins.
pub(super) fn determined(
    mut step: Step<Outbound>,
    determined: Determined,
    now_ms: u64,
) -> Result<Step<Outbound>, Refusal> {
    let record = &step.record;
    if record.stage != Stage::Determination || record.state != State::Processing {
        return Ok(step);
    }
    // Too late to be of use, and the timer is about to say so.
    if record.due_by_ms.is_some_and(|at_ms| now_ms >= at_ms) {
        time_out(&mut step)?;
        return Ok(step);
    }
    // Who answers has received the question.
    if let (false, Some(proxy)) =
        (matches!(determined, Determined::Unanswered(_)), &step.record.payment.details.creditor_account_proxy)
    {
        let received = Event::determination_received(proxy);
        step.then(Effect::Emit(received));
    }
    let named = step.record.payment.details.creditor_account_number.as_ref();
    let determined = match determined {
        Determined::Account(account) => match directory::check_same(named, &account) {
            Ok(()) => Determined::Account(account),
            Err(reason) => Determined::NoAccount(reason),
        },
        other => other,
    };
    match determined {
        Determined::Account(account) => sending::to_account(&mut step, Some(account), now_ms),
        Determined::NoAccount(reason) => {
            step.go(State::Rejected)?;
            step.record.reason = Some(reason);
        }
        Determined::Unanswered(Reply::Silent) => {
            time_out(&mut step)?;
            return Ok(step);
        }
        Determined::Unanswered(_) => step.go(State::Failed)?,
    }
    step.then(Effect::Cancel(Timer::Determination));
    Ok(step)
}

pub(super) fn request(mut step: Step<Outbound>, reply: Reply) -> Result<Step<Outbound>, Refusal> {
    // The response was quicker, or it is over: what the acknowledgement says does not matter any more.
    let open = matches!(step.record.state, State::Received | State::Processing);
    if !open || step.record.received || step.record.stage != Stage::Request {
        return Ok(step);
    }
    let authorised = step.record.payment.kind.is_authorised();
    match reply {
        Reply::Accepted => mark_received(&mut step)?,
        Reply::Silent if authorised => time_out(&mut step)?,
        Reply::Refused | Reply::Broken if authorised => {
            step.go(State::Failed)?;
            step.then(Effect::Cancel(Timer::Response));
        }
        // EFT messages wait in a queue of their own until they are taken.
        Reply::Silent | Reply::Broken => sending::request(&mut step),
        // It may have been a repeat that was refused, of what was taken: it does not fail, it stands in the report.
        Reply::Refused => step.record.delivery = Delivery::Undelivered,
    }
    Ok(step)
}

/// The partner has the payment: it has acknowledged it, or answered before its acknowledgement arrived.
pub(super) fn mark_received(step: &mut Step<Outbound>) -> Result<(), Refusal> {
    if step.record.received {
        return Ok(());
    }
    step.record.received = true;
    if !step.record.payment.kind.is_authorised() {
        step.record.delivery = Delivery::Delivered;
    }
    let received = Event::received(&step.record.payment);
    step.then(Effect::Emit(received));
    Ok(())
}

/// A completion must be delivered: who does not answer is asked again, who refuses it stands in the report.
pub(super) fn completion(mut step: Step<Outbound>, reply: Reply) -> Result<Step<Outbound>, Refusal> {
    let Some(settlement) = step.record.settlement.filter(|_| step.record.delivery.is_tried()) else {
        return Ok(step);
    };
    match reply {
        Reply::Accepted => step.record.delivery = Delivery::Delivered,
        Reply::Silent | Reply::Broken => sending::completion(&mut step, settlement),
        Reply::Refused => step.record.delivery = Delivery::Undelivered,
    }
    Ok(step)
}
