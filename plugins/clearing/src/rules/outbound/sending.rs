//! What the platform sends, and for how long (spec/clearing: Endpoints implemented by the partner).
//!
//! An authorisation is repeated three times, and not beyond its time; EFT messages and completions until they are taken.

use super::{Outbound, Settlement, Stage};
use crate::rules::account::AccountNumber;
use crate::rules::kind::Kind;
use crate::rules::limits::{ACKNOWLEDGEMENT_MS, ACKNOWLEDGEMENT_REPEATS_MS, DETERMINATION_MS};
use crate::rules::refusal::Refusal;
use crate::rules::scheme::Operation;
use crate::rules::step::{Delivery, Effect, Message, Pauses, Staged, Step, Timer};

pub(super) fn determination(step: &mut Step<Outbound>, give_up_at_ms: u64) {
    step.then(Effect::Send {
        operation: Operation::IdentifierDetermination,
        message: Message::Determination,
        answer_within_ms: DETERMINATION_MS,
        pauses: Pauses::at_once(ACKNOWLEDGEMENT_REPEATS_MS),
        give_up_at_ms: Some(give_up_at_ms),
    });
}

/// The payment, with the account that was found for it. Its message is made now, and from now on the scheme's time counts:
/// what the resolution of a proxy took is not taken from it.
pub(super) fn to_account(step: &mut Step<Outbound>, account: Option<AccountNumber>, now_ms: u64) {
    let record = &mut step.record;
    record.stage = Stage::Request;
    record.due_by_ms = record.payment.scheme.completion_ms().map(|limit_ms| now_ms.saturating_add(limit_ms));
    record.payment.details.creation_date_time_ms = record.payment.details.creation_date_time_ms.map(|_| now_ms);
    if account.is_some() {
        record.payment.details.creditor_account_number = account;
    }
    request(step);
    if let Some(at_ms) = step.record.due_by_ms {
        step.then(Effect::Schedule { timer: Timer::Response, at_ms });
    }
}

pub(super) fn request(step: &mut Step<Outbound>) {
    let payment = &step.record.payment;
    let answer_within_ms = match (payment.kind, payment.scheme.completion_ms()) {
        // The answer is the decision.
        (Kind::AuthorisationSync, Some(completion_ms)) => completion_ms,
        _ => ACKNOWLEDGEMENT_MS,
    };
    let authorised = step.record.payment.kind.is_authorised();
    let pauses =
        if authorised { Pauses::at_once(ACKNOWLEDGEMENT_REPEATS_MS) } else { step.record.delivery.begin_round() };
    step.then(Effect::Send {
        operation: step.record.payment.kind.operation(),
        message: Message::Payment,
        answer_within_ms,
        pauses,
        give_up_at_ms: step.record.due_by_ms,
    });
}

pub(super) fn completion(step: &mut Step<Outbound>, settlement: Settlement) {
    let pauses = step.record.delivery.begin_round();
    step.then(Effect::Send {
        operation: Operation::CreditTransferCompletion,
        message: Message::Completion { outcome: settlement.outcome, settlement_date: settlement.date },
        answer_within_ms: ACKNOWLEDGEMENT_MS,
        pauses,
        give_up_at_ms: None,
    });
}

pub(super) fn redeliver(mut step: Step<Outbound>) -> Result<Step<Outbound>, Refusal> {
    if step.record.delivery != Delivery::Undelivered {
        return Err(Refusal::NotPossible { state: step.record.state() });
    }
    match step.record.settlement {
        Some(settlement) => completion(&mut step, settlement),
        None => request(&mut step),
    }
    Ok(step)
}
