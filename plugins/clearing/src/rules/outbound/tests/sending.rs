//! Time, receiver and repeats of messages.

use super::*;
use crate::rules::concern::Concern;
use crate::rules::step::Pauses;

#[test]
fn an_attempt_waits_for_what_it_asks() {
    let waits_ms = |step: Step<Outbound>| {
        let sent = step.effects.into_iter().find_map(|effect| match effect {
            Effect::Send { answer_within_ms, pauses, give_up_at_ms, .. } => {
                Some((answer_within_ms, pauses.between_ms.len(), give_up_at_ms.map(|at_ms| at_ms - NOW_MS)))
            }
            _ => None,
        });
        sent.unwrap()
    };
    assert_eq!(waits_ms(begin(Kind::Authorisation, Route::Determine)), (10_000, 3, Some(10_000)));
    assert_eq!(waits_ms(begin(Kind::Authorisation, Route::Send(None))), (1_000, 3, Some(10_000)));
    assert_eq!(waits_ms(begin(Kind::AuthorisationSync, Route::Send(None))), (10_000, 3, Some(10_000)));
    assert_eq!(waits_ms(begin(Kind::CreditTransfer, Route::Send(None))), (1_000, 11, None));
    assert_eq!(waits_ms(begin(Kind::DirectDebit, Route::Send(None))), (1_000, 11, None));
}

#[test]
fn the_time_of_the_payment_begins_when_it_is_sent() {
    let mut payment = payment(Kind::Authorisation);
    payment.details.creation_date_time_ms = Some(NOW_MS);
    let begun = submit(payment, Route::Determine, NOW_MS).unwrap().record;
    let (resolved, _) = command(&begun.payment, Resolved);
    let sent = step(begun, resolved, NOW_MS + 9_000).unwrap().record;
    assert_eq!(sent.due_by_ms, Some(NOW_MS + 19_000));
    assert_eq!(sent.payment.details.creation_date_time_ms, Some(NOW_MS + 9_000));
}

#[test]
fn a_resolved_account_must_be_the_one_that_the_payment_names() {
    for (named, expected) in [("620-01", State::Processing), ("62009", State::Rejected)] {
        let mut payment = payment(Kind::Authorisation);
        let named = AccountNumber::parse(Field::CreditorAccountNumber, named).unwrap();
        payment.details.creditor_account_number = Some(named);
        let begun = submit(payment, Route::Determine, NOW_MS).unwrap().record;
        let resolved = happen(begun, Resolved).unwrap().record;
        assert_eq!(resolved.state, expected);
        let reason = resolved.reason.map(|reason| reason.as_str().to_owned());
        assert_eq!(reason.as_deref(), (expected == State::Rejected).then_some("BE23"));
    }
}

#[test]
fn a_response_belongs_to_its_kind_of_payment() {
    let authorised = begin(Kind::Authorisation, Route::Send(None)).record;
    let transfer = begin(Kind::CreditTransfer, Route::Send(None)).record;
    for (record, operation) in [
        (&authorised, Operation::CreditTransferResponse),
        (&authorised, Operation::DirectDebitResponse),
        (&transfer, Operation::CreditTransferAuthorisationResponse),
        (&transfer, Operation::DirectDebitResponse),
    ] {
        let response = Command::Respond(Box::new(answer(operation, "APPROVED")));
        assert_eq!(step(record.clone(), response, NOW_MS), Err(Refusal::WrongOperation), "{operation:?}");
    }
}

#[test]
fn what_the_platform_refuses_the_partner_never_sees() {
    let reason = StatusReason::of(status::ACCOUNT_UNKNOWN);
    let step = begin(Kind::Authorisation, Route::Reject(reason.clone()));
    assert_eq!(step.moves, [(State::Received, State::Processing), (State::Processing, State::Rejected)]);
    assert_eq!((step.effects, step.record.reason), (vec![], Some(reason)));
}

#[test]
fn what_reached_nobody_is_listed_and_tried_at_the_long_pause_until_it_is_taken() {
    let completed = after(&begin(Kind::Authorisation, Route::Send(None)).record, &[Taken, Approved, Settled]);
    let sent = begin(Kind::CreditTransfer, Route::Send(None)).record;
    for (record, reply) in
        [(completed, Command::CompletionReply as fn(Reply) -> Command), (sent, Command::RequestReply)]
    {
        assert_eq!(Concern::of_outbound(&record), []);
        let silent = step(record, reply(Reply::Silent), NOW_MS).unwrap();
        assert_eq!(Concern::of_outbound(&silent.record), [Concern::Undelivered]);
        let Effect::Send { pauses, .. } = &silent.effects[0] else { panic!("{silent:?}") };
        assert_eq!(*pauses, Pauses { before_ms: 300_000, between_ms: &[300_000; 12] });
        let taken = step(silent.record, reply(Reply::Accepted), LATE_MS).unwrap().record;
        assert_eq!((taken.delivery, Concern::of_outbound(&taken)), (Delivery::Delivered, vec![]));
    }
}

#[test]
fn a_completion_is_delivered_or_listed() {
    use Delivery::{Delivered, Undelivered, Unreached};
    let begun = begin(Kind::Authorisation, Route::Send(None)).record;
    let completed = after(&begun, &[Taken, Approved, Settled]);
    let table = [
        (Reply::Accepted, Delivered, 0),
        (Reply::Silent, Unreached, 1),
        (Reply::Broken, Unreached, 1),
        (Reply::Refused, Undelivered, 0),
    ];
    for (reply, expected, sent) in table {
        let step = step(completed.clone(), Command::CompletionReply(reply), NOW_MS).unwrap();
        assert_eq!((step.record.delivery, step.effects.len()), (expected, sent), "{reply:?}");
        let again = super::step(step.record, Command::Redeliver, LATE_MS);
        let expected = if expected == Undelivered { "complete APPROVED" } else { NO };
        assert_eq!(summary(&completed, again), expected, "{reply:?}, sent again");
    }
}
