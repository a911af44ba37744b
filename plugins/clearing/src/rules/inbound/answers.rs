//! The response of the partner: which of the three, when, and what becomes of it (spec/clearing: Endpoints hosted by the
//! platform).

use super::Inbound;
use crate::rules::event::Event;
use crate::rules::kind::Kind;
use crate::rules::limits::{ACKNOWLEDGEMENT_MS, DELIVERY_REPEATS_MS, FIRST_PAUSE_MS};
use crate::rules::refusal::Refusal;
use crate::rules::step::{Delivery, Effect, Message, Pauses, Reply, Step};

/// Tells what was decided. A synchronous authorisation is told in the answer to the request.
pub(super) fn answer(step: &mut Step<Inbound>, now_ms: u64) {
    let Some((outcome, reason)) = step.record.outcome() else { return };
    if step.record.payment.kind.is_authorised() {
        let responded = Event::responded(&step.record.payment, outcome, reason);
        step.then(Effect::Emit(responded));
    }
    if step.record.payment.kind == Kind::AuthorisationSync {
        step.record.response = Delivery::Delivered;
        return;
    }
    send(step, now_ms);
}

/// Until the scheme's time is over: after that the platform has timed out and takes no answer, unless an operator sends it
/// again. An EFT item waits.
pub(super) fn send(step: &mut Step<Inbound>, now_ms: u64) {
    let Some((outcome, reason)) = step.record.outcome() else { return };
    let message = Message::Response { outcome, reason: reason.cloned() };
    let operation = step.record.payment.kind.response();
    let give_up_at_ms = step.record.complete_by_ms.filter(|at_ms| now_ms < *at_ms);
    let pauses = match give_up_at_ms {
        None => step.record.response.begin_round(),
        // A long pause would be behind its time.
        Some(_) => {
            let before_ms = if step.record.response.is_tried() { FIRST_PAUSE_MS } else { 0 };
            step.record.response = Delivery::Underway;
            Pauses { before_ms, between_ms: DELIVERY_REPEATS_MS }
        }
    };
    step.then(Effect::Send { operation, message, answer_within_ms: ACKNOWLEDGEMENT_MS, pauses, give_up_at_ms });
}

pub(super) fn replied(mut step: Step<Inbound>, reply: Reply, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    if !step.record.response.is_tried() {
        return Ok(step);
    }
    let in_time = step.record.complete_by_ms.is_none_or(|at_ms| now_ms.saturating_add(FIRST_PAUSE_MS) <= at_ms);
    match reply {
        Reply::Accepted => step.record.response = Delivery::Delivered,
        Reply::Silent | Reply::Broken if in_time => send(&mut step, now_ms),
        Reply::Silent | Reply::Broken | Reply::Refused => step.record.response = Delivery::Undelivered,
    }
    Ok(step)
}
