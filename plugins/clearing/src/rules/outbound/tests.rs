//! Every command in every situation, as tables; and what holds after any sequence of commands.

use super::*;
use crate::rules::account::AccountNumber;
use crate::rules::concern::Concern;
use crate::rules::currency::ZAR;
use crate::rules::invalid::Field;
use crate::rules::message::Raw;
use crate::rules::scheme::Operation;
use crate::rules::step::{Message, Pauses};
use proptest::prelude::*;

const NOW_MS: u64 = 1_778_142_600_000;
/// Past every time that a payment of these tests has.
const LATE_MS: u64 = NOW_MS + 4_000_000;

fn raw() -> Raw {
    Raw::default()
        .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
        .with(Field::EndToEndIdentification, "E2E-1")
        .with(Field::MessageIdentification, "M-1")
        .with(Field::BankSettlementAmountValue, "100.50")
        .with(Field::BankSettlementAmountCurrency, "ZAR")
        .with(Field::DebtorAccountNumber, "62001")
        .with(Field::CreditorAccountProxy, "ada@bank")
}

fn payment(kind: Kind) -> Payment {
    let scheme = if kind.is_authorised() { "ZA_RPP" } else { "ZA_EFT" };
    Payment::read(&raw().with(Field::PaymentScheme, scheme), kind).unwrap()
}

fn answer(operation: Operation, status: &str) -> Response {
    let raw = raw().with(Field::TransactionStatus, status).with(Field::StatusReason, "AC04");
    Response::read(&raw, operation, ZAR).unwrap()
}

/// What happens to a payment, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    Resolved,
    Unresolved,
    LookupSilent,
    LookupBroken,
    LookupDue,
    Taken,
    Refused,
    Broken,
    Silent,
    Approved,
    Rejected,
    ApprovedLate,
    DueEarly,
    Due,
    Settled,
    Unsettled,
}

use Happens::*;

const ALL: [Happens; 16] = [
    Resolved,
    Unresolved,
    LookupSilent,
    LookupBroken,
    LookupDue,
    Taken,
    Refused,
    Broken,
    Silent,
    Approved,
    Rejected,
    ApprovedLate,
    DueEarly,
    Due,
    Settled,
    Unsettled,
];

fn settlement(outcome: Outcome) -> Command {
    Command::Settle(Settlement { outcome, date: Date::of_ms(NOW_MS) })
}

fn command(payment: &Payment, happens: Happens) -> (Command, u64) {
    let response = payment.kind.response();
    let account = AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
    match happens {
        Resolved => (Command::Determined(Determined::Account(account)), NOW_MS),
        Unresolved => {
            let reason = StatusReason::of(status::PROXY_UNKNOWN);
            (Command::Determined(Determined::NoAccount(reason)), NOW_MS)
        }
        LookupSilent => (Command::Determined(Determined::Unanswered(Reply::Silent)), NOW_MS),
        LookupBroken => (Command::Determined(Determined::Unanswered(Reply::Broken)), NOW_MS),
        LookupDue => (Command::DeterminationDue, LATE_MS),
        Taken => (Command::RequestReply(Reply::Accepted), NOW_MS),
        Refused => (Command::RequestReply(Reply::Refused), NOW_MS),
        Broken => (Command::RequestReply(Reply::Broken), NOW_MS),
        Silent => (Command::RequestReply(Reply::Silent), NOW_MS),
        Approved => (Command::Respond(Box::new(answer(response, "APPROVED"))), NOW_MS),
        Rejected => (Command::Respond(Box::new(answer(response, "REJECTED"))), NOW_MS),
        ApprovedLate => (Command::Respond(Box::new(answer(response, "APPROVED"))), LATE_MS),
        DueEarly => (Command::ResponseDue, NOW_MS),
        Due => (Command::ResponseDue, LATE_MS),
        Settled => (settlement(Outcome::Approved), NOW_MS),
        Unsettled => (settlement(Outcome::Rejected), NOW_MS),
    }
}

fn happen(record: Outbound, happens: Happens) -> Result<Step<Outbound>, Refusal> {
    let (command, now_ms) = command(&record.payment, happens);
    step(record, command, now_ms)
}

fn begin(kind: Kind, route: Route) -> Step<Outbound> {
    submit(payment(kind), route, NOW_MS).unwrap()
}

fn after(begun: &Outbound, past: &[Happens]) -> Outbound {
    past.iter().fold(begun.clone(), |record, happens| happen(record, *happens).unwrap().record)
}

/// One line: where it went, what was sent, what was told, what was noted; "=" where nothing happened.
fn told(before: &Outbound, outcome: Result<Step<Outbound>, Refusal>) -> String {
    let step = match outcome {
        Ok(step) => step,
        Err(refusal) => return format!("{refusal:?}").split([' ', '{']).next().unwrap().to_owned(),
    };
    let mut words: Vec<String> = step.moves.iter().map(|(_, to)| to.name().to_owned()).collect();
    for effect in &step.effects {
        match effect {
            Effect::Send { message: Message::Completion { outcome, .. }, .. } => {
                words.push(format!("complete {}", outcome.status().name()));
            }
            Effect::Send { operation, .. } => words.push(operation.name().to_owned()),
            Effect::Emit(event) => words.push(event.name().rsplit('.').next().unwrap().to_owned()),
            Effect::Schedule { timer, .. } => words.push(format!("wait {timer:?}")),
            _ => {}
        }
    }
    let notes = [
        (step.record.overdue && !before.overdue, "mark"),
        (step.record.response.is_some() && before.response.is_none(), "note"),
        (step.record.delivery.is_listed() && !before.delivery.is_listed(), "list"),
    ];
    words.extend(notes.into_iter().filter(|(noted, _)| *noted).map(|(_, word)| word.to_owned()));
    if words.is_empty() {
        assert_eq!((&step.record, step.effects.len()), (before, 0), "nothing happened, yet something changed");
        return "=".to_owned();
    }
    words.join(", ")
}

fn check(begun: &Outbound, table: &[(&[Happens], [&str; 16])]) {
    for (past, expected) in table {
        let before = after(begun, past);
        for (happens, expected) in ALL.into_iter().zip(expected) {
            let found = told(&before, happen(before.clone(), happens));
            assert_eq!(found, *expected, "after {past:?}: {happens:?}");
        }
    }
}

const NO: &str = "NotPossible";
const SAID: &str = "AlreadyDecided";
const WRONG: &str = "WrongOperation";
const LATE: &str = "TooLate";

#[test]
fn a_proxy_is_resolved_before_the_payment_is_sent() {
    let begun = begin(Kind::Authorisation, Route::Determine);
    assert_eq!(told(&begun.record, Ok(begun.clone())), "processing, identifier-determination, wait Determination");
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
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", early, "mark", completed, unsettled],
            ),
            (
                &[Approved, Due],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", "=", "=", completed, unsettled],
            ),
            (
                &[Approved, Unsettled],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", "=", "=", SAID, "="],
            ),
            (&[Approved, Settled], ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", "=", "=", "=", SAID]),
            (&[Rejected], ["=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", SAID, "=", "=", NO, NO]),
            (&[Due], ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", NO, unsettled]),
            (&[Silent], ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", NO, unsettled]),
            (&[Broken], ["=", "=", "=", "=", "=", "=", "=", "=", "=", NO, NO, NO, "=", "=", NO, unsettled]),
            (
                &[Silent, Unsettled],
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", LATE, LATE, LATE, "=", "=", SAID, "="],
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
                ["=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", SAID, "=", "=", WRONG, WRONG],
            ),
        ],
    );
    let returned = after(&begun, &[Taken, Rejected]);
    assert_eq!((returned.state, returned.response.unwrap().outcome), (State::Rejected, Outcome::Rejected));
    assert_eq!(returned.reason.unwrap().as_str(), "AC04");
}

/// As an earlier version stored it: completed with its acknowledgement.
#[test]
fn an_eft_credit_transfer_that_was_completed_with_its_acknowledgement_keeps_its_state() {
    let taken = after(&begin(Kind::CreditTransfer, Route::Send(None)).record, &[Taken]);
    let stored = Outbound { state: State::Completed, ..taken };
    assert_eq!(told(&stored, happen(stored.clone(), Rejected)), "note");
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
            (&[Approved], ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", "=", "=", WRONG, WRONG]),
            (&[Rejected], ["=", "=", "=", "=", "=", "=", "=", "=", "=", SAID, "=", SAID, "=", "=", WRONG, WRONG]),
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
        assert_eq!(told(&completed, again), expected, "{reply:?}, sent again");
    }
}

proptest! {
    #[test]
    fn no_edge_is_invented_and_each_event_is_told_once(
        kind in proptest::sample::select(Kind::ALL.to_vec()),
        resolves: bool,
        story in proptest::collection::vec(proptest::sample::select(ALL.to_vec()), 0..14),
    ) {
        let route = if resolves && kind.is_authorised() { Route::Determine } else { Route::Send(None) };
        let begun = begin(kind, route);
        let (mut record, mut moves, mut effects) = (begun.record, begun.moves, begun.effects);
        for happens in story {
            if let Ok(step) = happen(record.clone(), happens) {
                record = step.record;
                moves.extend(step.moves);
                effects.extend(step.effects);
            }
        }
        prop_assert!(moves.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert!(moves.iter().all(|(from, to)| from.may_become(*to)));
        let events: Vec<&str> =
            effects.iter().filter_map(|effect| if let Effect::Emit(event) = effect { Some(event.name()) } else { None }).collect();
        let once: std::collections::BTreeSet<&&str> = events.iter().collect();
        prop_assert_eq!(once.len(), events.len(), "told twice: {:?}", &events);
    }

    #[test]
    fn response_and_acknowledgement_may_cross(
        more in proptest::collection::vec(proptest::sample::select(vec![Taken, Approved, DueEarly]), 0..5),
        seed in proptest::sample::select(vec![[Taken, Approved], [Approved, Taken]]),
    ) {
        let begun = begin(Kind::Authorisation, Route::Send(None)).record;
        let story = [seed.as_slice(), more.as_slice()].concat();
        prop_assert_eq!(after(&begun, &story), after(&begun, &[Taken, Approved]));
    }
}
