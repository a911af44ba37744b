//! Notification of the bank's own system: whether a payment that was submitted to its decision is booked in the end.
//!
//! Each payment has at most one outcome, and one that is final. The notification is part of the step that decides it, so that
//! no crash separates the two. It is repeated for about a day; then it is `undelivered` and one of the concerns, and an
//! alarm is on the operators' list until the notification is sent again.

use super::Inbound;
use crate::rules::limits::{DELIVERY_REPEATS_MS, LATER_ROUND_MS, NOTICE_LATER_REPEATS_MS};
use crate::rules::step::{Delivery, Effect, Pauses, Reply, Step, Timer};

/// Notifies once the outcome is final.
pub(super) fn notify(step: &mut Step<Inbound>) {
    if step.record.is_bank_consulted && step.record.notice == Delivery::NotDue {
        send(step);
    }
}

/// A first round of attempts, or the first again.
pub(super) fn send(step: &mut Step<Inbound>) {
    if step.record.notice == Delivery::Undelivered {
        step.then(Effect::Cancel(Timer::NoticeAlarm));
    }
    begin(step, Delivery::Underway, Pauses::at_once(DELIVERY_REPEATS_MS));
}

fn begin(step: &mut Step<Inbound>, notice: Delivery, pauses: Pauses) {
    let Some(ending) = step.record.ending() else { return };
    step.record.notice = notice;
    step.then(Effect::Notify { ending, pauses });
}

pub(super) fn replied(mut step: Step<Inbound>, reply: Reply, now_ms: u64) -> Step<Inbound> {
    match (step.record.notice, reply) {
        (Delivery::Underway | Delivery::Unreached, Reply::Accepted) => step.record.notice = Delivery::Delivered,
        (Delivery::Underway, Reply::Silent | Reply::Broken) => {
            let pauses = Pauses { before_ms: LATER_ROUND_MS, between_ms: NOTICE_LATER_REPEATS_MS };
            begin(&mut step, Delivery::Unreached, pauses);
        }
        (Delivery::Underway | Delivery::Unreached, _) => {
            step.record.notice = Delivery::Undelivered;
            step.then(Effect::Schedule { timer: Timer::NoticeAlarm, at_ms: now_ms });
        }
        (Delivery::NotDue | Delivery::Delivered | Delivery::Undelivered, _) => {}
    }
    step
}
