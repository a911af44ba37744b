//! Every command in every situation, as tables.

use super::*;

const NO: &str = "NotPossible";
const DONE: &str = "AlreadyDecided";
const WRONG: &str = "WrongOperation";
const OTHER: &str = "Differs";
const AB05: &str = "rejected, say REJECTEDAB05";

#[test]
fn an_authorisation_knows_every_command_in_every_situation() {
    let approved = "approved, hold, say APPROVED, wait Completion";
    let rejected = "rejected, say REJECTEDAC04";
    let early = "wait DecisionBudget";
    let completed = "approved, completed, hold, say APPROVED, book";
    let released = "approved, hold, say APPROVED, release";
    check(
        Kind::Authorisation,
        &[
            (&[], [approved, approved, AB05, rejected, early, AB05, "failed", "note", "note", "=", OTHER, "=", "="]),
            (
                &[Settled],
                [completed, completed, AB05, rejected, early, AB05, "failed", "=", DONE, "=", OTHER, "=", "="],
            ),
            (
                &[Unsettled],
                [released, released, AB05, rejected, early, AB05, "failed", DONE, "=", "=", OTHER, "=", "="],
            ),
            (
                &[Approve],
                [
                    "=",
                    DONE,
                    "=",
                    DONE,
                    "=",
                    "=",
                    "=",
                    "completed, book, note",
                    "release, note",
                    "=",
                    OTHER,
                    "wait Completion",
                    "mark",
                ],
            ),
            (
                &[Approve, Overdue],
                [
                    "=",
                    DONE,
                    "=",
                    DONE,
                    "=",
                    "=",
                    "=",
                    "completed, book, note",
                    "release, note",
                    "=",
                    OTHER,
                    "wait Completion",
                    "=",
                ],
            ),
            (&[Approve, Unsettled], ["=", DONE, "=", DONE, "=", "=", "=", DONE, "=", "=", OTHER, "=", "="]),
            (&[Approve, Settled], ["=", DONE, "=", DONE, "=", "=", "=", "=", DONE, "=", OTHER, "=", "="]),
            (&[Reject], [DONE, DONE, DONE, "=", "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
            (&[Due], [DONE, DONE, DONE, "=", "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
            (&[GiveUp], [DONE, DONE, DONE, DONE, "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
        ],
    );
}

#[test]
fn a_direct_debit_is_final_when_it_is_approved() {
    let approved = "approved, book, say APPROVED";
    let rejected = "rejected, say REJECTEDAC04";
    let early = "wait DecisionBudget";
    check(
        Kind::DirectDebit,
        &[
            (&[], [approved, approved, AB05, rejected, early, AB05, "failed", WRONG, WRONG, WRONG, WRONG, "=", "="]),
            (&[Approve], ["=", DONE, "=", DONE, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
            (&[Reject], [DONE, DONE, DONE, "=", "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
            (&[GiveUp], [DONE, DONE, DONE, DONE, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
        ],
    );
}

#[test]
fn an_eft_credit_transfer_is_completed_when_it_is_applied_and_its_rejection_is_a_return() {
    let approved = "completed, book, say APPROVED";
    let late = "processing, rejected, return, say REJECTEDAB05";
    let early = "wait DecisionBudget";
    let table: &[(&[Happens], [&str; 13])] = &[
        (&[Approve], ["=", DONE, "=", DONE, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
        (&[Reject], [DONE, DONE, DONE, "=", "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
    ];
    check(Kind::CreditTransfer, table);
    let received = after(Kind::CreditTransfer, &[]);
    let rejected = "processing, rejected, return, say REJECTEDAC04";
    let table = [(Approve, approved), (ApproveLate, late), (Due, late), (DueEarly, early), (Reject, rejected)];
    for (happens, expected) in table {
        assert_eq!(summary(&received, happen(received.clone(), happens)), expected, "{happens:?}");
    }
    assert_eq!(received.state, State::Received);
    let given_up = happen(received, GiveUp).unwrap().record;
    assert_eq!((given_up.state, &given_up.decision), (State::Failed, &Decision::GivenUp));
    assert_eq!(happen(given_up, Approve), Err(Refusal::AlreadyDecided));
}

/// An earlier version stored the payment as completed before it was decided.
#[test]
fn an_eft_credit_transfer_that_was_completed_on_receipt_is_still_decided() {
    let stored = Inbound { state: State::Completed, ..after(Kind::CreditTransfer, &[]) };
    for (happens, expected) in [(Approve, "book, say APPROVED"), (Reject, "return, say REJECTEDAC04")] {
        assert_eq!(summary(&stored, happen(stored.clone(), happens)), expected, "{happens:?}");
    }
    assert_eq!(happen(stored, GiveUp).unwrap().record.state, State::Completed);
}

#[test]
fn a_pending_completion_changes_nothing_and_the_final_one_is_applied() {
    for (last, movement) in [(Settled, "completed, book, note"), (Unsettled, "release, note")] {
        let held = after(Kind::Authorisation, &[Approve, Unclear, Unclear]);
        assert_eq!(held, after(Kind::Authorisation, &[Approve]));
        assert_eq!(summary(&held, happen(held.clone(), last)), movement);
        // It came late and does not change the final outcome.
        let ended = after(Kind::Authorisation, &[Approve, last]);
        assert_eq!(summary(&ended, happen(ended.clone(), Unclear)), "=");
    }
}

#[test]
fn a_payment_is_received_with_its_event_and_its_timers() {
    let begins: &[(State, State)] = &[(State::Received, State::Processing)];
    let table = [
        (Kind::Authorisation, begins, "authorisation_received", 30_000),
        (Kind::AuthorisationSync, begins, "authorisation_received", 30_000),
        (Kind::CreditTransfer, &[], "credit_transfer.received", 3_600_000),
        (Kind::DirectDebit, begins, "direct_debit.received", 3_600_000),
    ];
    for (kind, moves, event, budget_ms) in table {
        let step = receive(payment(kind), Budgets::default(), NOW_MS).unwrap();
        assert_eq!(step.moves, moves, "{kind:?}");
        let emitted = |effect: &Effect| matches!(effect, Effect::Emit(emitted) if emitted.name().ends_with(event));
        assert!(step.effects.iter().any(emitted), "{kind:?}");
        let budget = Effect::Schedule { timer: Timer::DecisionBudget, at_ms: NOW_MS + budget_ms };
        assert!(step.effects.contains(&budget), "{kind:?}");
    }
}

#[test]
fn a_known_uetr_is_the_same_message_or_none() {
    let known = after(Kind::Authorisation, &[Approve, Settled]);
    let again = payment(Kind::Authorisation);
    assert_eq!(receive_again(&known, &again), Ok(()));
    let other = Payment { end_to_end_identification: "other".to_owned(), ..again };
    let fields = vec![Field::EndToEndIdentification];
    assert_eq!(receive_again(&known, &other), Err(Refusal::Differs { fields }));
    let by = Kind::Authorisation;
    let sync = payment(Kind::AuthorisationSync);
    assert_eq!(receive_again(&known, &sync), Err(Refusal::UetrTaken { by }));
}
