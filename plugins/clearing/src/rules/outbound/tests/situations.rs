//! Every command in every situation, as tables.

use super::*;

#[test]
fn a_proxy_is_resolved_before_the_payment_is_sent() {
    let begun = begin(Kind::Authorisation, Route::Determine);
    assert_eq!(summary(&begun.record, Ok(begun.clone())), "processing, identifier-determination, wait Determination");
    let sent = "determination_received, credit-transfer-authorisation, wait Response";
    check(
        &begun.record,
        &[
            (
                &[],
                [
                    sent,
                    "rejected, determination_received",
                    "timed_out",
                    "failed",
                    "timed_out",
                    "=",
                    "=",
                    "=",
                    "=",
                    NO,
                    NO,
                    LATE,
                    "=",
                    "=",
                    NO,
                    NO,
                ],
            ),
            (&[Unresolved], ["=", "=", "=", "=", "=", "=", "=", "=", "=", NO, NO, NO, "=", "=", NO, NO]),
            (&[LookupSilent], ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", NO, NO]),
            (&[LookupBroken], ["=", "=", "=", "=", "=", "=", "=", "=", "=", NO, NO, NO, "=", "=", NO, NO]),
        ],
    );
    let sent = after(&begun.record, &[Resolved]);
    assert_eq!(sent.payment.details.creditor_account_number.unwrap().as_str(), "62001");
    assert_eq!(after(&begun.record, &[LookupDue]).reason.unwrap().as_str(), "AB01");
    assert_eq!(after(&begun.record, &[Resolved, Due]).reason.unwrap().as_str(), "AB05");
}

#[test]
fn an_authorisation_knows_every_command_in_every_situation() {
    let begun = begin(Kind::Authorisation, Route::Send(None)).record;
    let early = "wait Response";
    let (yes, no) = ("approved, authorisation_responded, note", "rejected, authorisation_responded, note");
    let (yes_first, no_first) = (
        "approved, authorisation_received, authorisation_responded, note",
        "rejected, authorisation_received, authorisation_responded, note",
    );
    let completed = "completed, completed, complete APPROVED";
    let unsettled = "complete REJECTED";
    check(
        &begun,
        &[
            (
                &[],
                [
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "authorisation_received",
                    "failed",
                    "failed",
                    "timed_out",
                    yes_first,
                    no_first,
                    LATE,
                    early,
                    "timed_out",
                    NO,
                    NO,
                ],
            ),
            (&[Taken], ["=", "=", "=", "=", "=", "=", "=", "=", "=", yes, no, LATE, early, "timed_out", NO, NO]),
            (
                &[Approved],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", early, "mark", completed, unsettled],
            ),
            (
                &[Approved, Due],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", "=", "=", completed, unsettled],
            ),
            (
                &[Approved, Unsettled],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", "=", "=", DONE, "="],
            ),
            (&[Approved, Settled], ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", "=", "=", "=", DONE]),
            (&[Rejected], ["=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", DONE, "=", "=", NO, NO]),
            (&[Due], ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", NO, unsettled]),
            (&[Silent], ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", NO, unsettled]),
            (&[Broken], ["=", "=", "=", "=", "=", "=", "=", "=", "=", NO, NO, NO, "=", "=", NO, unsettled]),
            (
                &[Silent, Unsettled],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", DONE, "="],
            ),
        ],
    );
}

#[test]
fn an_eft_credit_transfer_is_sent_until_it_is_taken() {
    let begun = begin(Kind::CreditTransfer, Route::Send(None)).record;
    let applied = "completed, received, note";
    let returned = "processing, rejected, received, note";
    check(
        &begun,
        &[
            (
                &[],
                [
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "received",
                    "list",
                    "credit-transfer, list",
                    "credit-transfer, list",
                    applied,
                    returned,
                    applied,
                    "=",
                    "=",
                    WRONG,
                    WRONG,
                ],
            ),
            (
                &[Taken],
                [
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "completed, note",
                    "processing, rejected, note",
                    "completed, note",
                    "=",
                    "=",
                    WRONG,
                    WRONG,
                ],
            ),
            (
                &[Taken, Rejected],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", DONE, "=", "=", WRONG, WRONG],
            ),
        ],
    );
    let returned = after(&begun, &[Taken, Rejected]);
    assert_eq!((returned.state, returned.response.unwrap().outcome), (State::Rejected, Outcome::Rejected));
    assert_eq!(returned.reason.unwrap().as_str(), "AC04");
}

/// An earlier version stored the payment as completed with its acknowledgement.
#[test]
fn an_eft_credit_transfer_that_was_completed_with_its_acknowledgement_keeps_its_state() {
    let taken = after(&begin(Kind::CreditTransfer, Route::Send(None)).record, &[Taken]);
    let stored = Outbound { state: State::Completed, ..taken };
    assert_eq!(summary(&stored, happen(stored.clone(), Rejected)), "note");
}

#[test]
fn a_direct_debit_is_final_when_it_is_answered() {
    let begun = begin(Kind::DirectDebit, Route::Send(None)).record;
    let (yes, no) = ("approved, received, note", "rejected, received, note");
    check(
        &begun,
        &[
            (
                &[],
                [
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "received",
                    "list",
                    "direct-debit, list",
                    "direct-debit, list",
                    yes,
                    no,
                    yes,
                    "=",
                    "=",
                    WRONG,
                    WRONG,
                ],
            ),
            (&[Approved], ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", "=", "=", WRONG, WRONG]),
            (&[Rejected], ["=", "=", "=", "=", "=", "=", "=", "=", "=", DONE, "=", DONE, "=", "=", WRONG, WRONG]),
            (
                &[Refused],
                [
                    "=",
                    "=",
                    "=",
                    "=",
                    "=",
                    "received",
                    "=",
                    "direct-debit",
                    "direct-debit",
                    yes,
                    no,
                    yes,
                    "=",
                    "=",
                    WRONG,
                    WRONG,
                ],
            ),
        ],
    );
}
