//! Every command in every situation, as tables; and what holds after any sequence of commands.

use std::collections::BTreeMap;

use super::*;
use crate::rules::concern::Concern;
use crate::rules::currency::ZAR;
use crate::rules::invalid::Field;
use crate::rules::limits;
use crate::rules::message::Raw;
use crate::rules::step::Message;
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
}

fn payment(kind: Kind) -> Payment {
    let raw = raw().with(Field::PaymentScheme, kind.operation().schemes()[0]);
    Payment::read(&raw, kind).unwrap()
}

fn account(number: &str) -> AccountNumber {
    AccountNumber::parse(Field::CreditorAccountNumber, number).unwrap()
}

fn completion(status: &str) -> Completion {
    let raw = raw().with(Field::SettlementDate, "2026-05-07").with(Field::TransactionStatus, status);
    Completion::read(&raw, ZAR).unwrap()
}

/// What happens to a payment, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    Approve,
    ApproveOther,
    ApproveLate,
    Reject,
    DueEarly,
    Due,
    GiveUp,
    Settled,
    Unsettled,
    Unclear,
    Contradicts,
    OverdueEarly,
    Overdue,
}

use Happens::*;

const ALL: [Happens; 13] = [
    Approve,
    ApproveOther,
    ApproveLate,
    Reject,
    DueEarly,
    Due,
    GiveUp,
    Settled,
    Unsettled,
    Unclear,
    Contradicts,
    OverdueEarly,
    Overdue,
];

fn command(happens: Happens) -> (Command, u64) {
    let mut other = completion("APPROVED");
    other.about.end_to_end_identification = Some("other".to_owned());
    match happens {
        Approve => (Command::Approve(account("62001")), NOW_MS),
        ApproveOther => (Command::Approve(account("62002")), NOW_MS),
        ApproveLate => (Command::Approve(account("62001")), LATE_MS),
        Reject => (Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED)), NOW_MS),
        DueEarly => (Command::DecisionDue, NOW_MS),
        Due => (Command::DecisionDue, LATE_MS),
        GiveUp => (Command::GiveUp, NOW_MS),
        Settled => (Command::Complete(Box::new(completion("APPROVED"))), NOW_MS),
        Unsettled => (Command::Complete(Box::new(completion("REJECTED"))), NOW_MS),
        Unclear => (Command::Complete(Box::new(completion("PENDING"))), NOW_MS),
        Contradicts => (Command::Complete(Box::new(other)), NOW_MS),
        OverdueEarly => (Command::CompletionDue, NOW_MS),
        Overdue => (Command::CompletionDue, LATE_MS),
    }
}

fn happen(record: Inbound, happens: Happens) -> Result<Step<Inbound>, Refusal> {
    let (command, now_ms) = command(happens);
    step(record, command, now_ms)
}

fn after(kind: Kind, past: &[Happens]) -> Inbound {
    let received = receive(payment(kind), Budgets::default(), NOW_MS).unwrap().record;
    past.iter().fold(received, |record, happens| happen(record, *happens).unwrap().record)
}

/// One line: where it went, what moved, what was said, what was noted; "=" where nothing happened.
fn told(before: &Inbound, outcome: Result<Step<Inbound>, Refusal>) -> String {
    let step = match outcome {
        Ok(step) => step,
        Err(refusal) => return format!("{refusal:?}").split([' ', '{']).next().unwrap().to_owned(),
    };
    let mut words: Vec<String> = step.moves.iter().map(|(_, to)| to.name().to_owned()).collect();
    for effect in &step.effects {
        match effect {
            Effect::Post(posting) => words.push(posting.movement.name().to_owned()),
            Effect::Send { message: Message::Response { outcome, reason }, .. } => {
                let reason = reason.as_ref().map_or("", StatusReason::as_str);
                words.push(format!("say {}{reason}", outcome.status().name()));
            }
            Effect::Schedule { timer, .. } => words.push(format!("wait {timer:?}")),
            Effect::Notify { ending, .. } => words.push(format!("notify {}", ending.booking.name())),
            _ => {}
        }
    }
    if step.record.overdue && !before.overdue {
        words.push("mark".to_owned());
    }
    if step.record.completion.is_some() && before.completion.is_none() {
        words.push("note".to_owned());
    }
    if words.is_empty() {
        assert_eq!((&step.record, step.effects.len()), (before, 0), "nothing happened, yet something changed");
        return "=".to_owned();
    }
    words.join(", ")
}

fn check(kind: Kind, table: &[(&[Happens], [&str; 13])]) {
    for (past, expected) in table {
        let before = after(kind, past);
        for (happens, expected) in ALL.into_iter().zip(expected) {
            let found = told(&before, happen(before.clone(), happens));
            assert_eq!(found, *expected, "{kind:?} after {past:?}: {happens:?}");
        }
    }
}

const NO: &str = "NotPossible";
const SAID: &str = "AlreadyDecided";
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
                [completed, completed, AB05, rejected, early, AB05, "failed", "=", SAID, "=", OTHER, "=", "="],
            ),
            (
                &[Unsettled],
                [released, released, AB05, rejected, early, AB05, "failed", SAID, "=", "=", OTHER, "=", "="],
            ),
            (
                &[Approve],
                [
                    "=",
                    SAID,
                    "=",
                    SAID,
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
                    SAID,
                    "=",
                    SAID,
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
            (&[Approve, Unsettled], ["=", SAID, "=", SAID, "=", "=", "=", SAID, "=", "=", OTHER, "=", "="]),
            (&[Approve, Settled], ["=", SAID, "=", SAID, "=", "=", "=", "=", SAID, "=", OTHER, "=", "="]),
            (&[Reject], [SAID, SAID, SAID, "=", "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
            (&[Due], [SAID, SAID, SAID, "=", "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
            (&[GiveUp], [SAID, SAID, SAID, SAID, "=", "=", "=", NO, "note", "=", OTHER, "=", "="]),
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
            (&[Approve], ["=", SAID, "=", SAID, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
            (&[Reject], [SAID, SAID, SAID, "=", "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
            (&[GiveUp], [SAID, SAID, SAID, SAID, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
        ],
    );
}

#[test]
fn an_eft_credit_transfer_is_completed_when_it_is_applied_and_its_rejection_is_a_return() {
    let approved = "completed, book, say APPROVED";
    let late = "processing, rejected, return, say REJECTEDAB05";
    let early = "wait DecisionBudget";
    let table: &[(&[Happens], [&str; 13])] = &[
        (&[Approve], ["=", SAID, "=", SAID, "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
        (&[Reject], [SAID, SAID, SAID, "=", "=", "=", "=", WRONG, WRONG, WRONG, WRONG, "=", "="]),
    ];
    check(Kind::CreditTransfer, table);
    let received = after(Kind::CreditTransfer, &[]);
    let rejected = "processing, rejected, return, say REJECTEDAC04";
    let table = [(Approve, approved), (ApproveLate, late), (Due, late), (DueEarly, early), (Reject, rejected)];
    for (happens, expected) in table {
        assert_eq!(told(&received, happen(received.clone(), happens)), expected, "{happens:?}");
    }
    assert_eq!(received.state, State::Received);
    let given_up = happen(received, GiveUp).unwrap().record;
    assert_eq!((given_up.state, &given_up.decision), (State::Failed, &Decision::GivenUp));
    assert_eq!(happen(given_up, Approve), Err(Refusal::AlreadyDecided));
}

/// As an earlier version stored it: completed before it was decided.
#[test]
fn an_eft_credit_transfer_that_was_completed_on_receipt_is_still_decided() {
    let stored = Inbound { state: State::Completed, ..after(Kind::CreditTransfer, &[]) };
    for (happens, expected) in [(Approve, "book, say APPROVED"), (Reject, "return, say REJECTEDAC04")] {
        assert_eq!(told(&stored, happen(stored.clone(), happens)), expected, "{happens:?}");
    }
    assert_eq!(happen(stored, GiveUp).unwrap().record.state, State::Completed);
}

#[test]
fn a_pending_completion_changes_nothing_and_the_final_one_is_applied() {
    for (last, movement) in [(Settled, "completed, book, note"), (Unsettled, "release, note")] {
        let held = after(Kind::Authorisation, &[Approve, Unclear, Unclear]);
        assert_eq!(held, after(Kind::Authorisation, &[Approve]));
        assert_eq!(told(&held, happen(held.clone(), last)), movement);
        // It came late, and says nothing against what is final.
        let ended = after(Kind::Authorisation, &[Approve, last]);
        assert_eq!(told(&ended, happen(ended.clone(), Unclear)), "=");
    }
}

/// Of a bank whose own system is asked: each story, and what that system is notified of.
#[test]
fn the_bank_is_notified_of_the_final_outcome_once() {
    use Kind::{Authorisation, AuthorisationSync, CreditTransfer, DirectDebit};
    let table: &[(Kind, &[Happens], &[&str])] = &[
        (Authorisation, &[Approve], &[]),
        (Authorisation, &[Approve, Unclear, Overdue], &[]),
        (Authorisation, &[Approve, Settled, Settled], &["post"]),
        (Authorisation, &[Approve, Unsettled, Unsettled], &["release"]),
        (Authorisation, &[Settled, Approve], &["post"]),
        (Authorisation, &[Unsettled, Approve], &["release"]),
        (Authorisation, &[Reject, Reject, Unsettled], &["release AC04"]),
        (Authorisation, &[Due], &["release AB05"]),
        (Authorisation, &[ApproveLate], &["release AB05"]),
        (Authorisation, &[GiveUp, Unsettled], &["release"]),
        (AuthorisationSync, &[Approve, Settled], &["post"]),
        (AuthorisationSync, &[Reject], &["release AC04"]),
        (CreditTransfer, &[], &[]),
        (CreditTransfer, &[Approve, Approve], &["post"]),
        (CreditTransfer, &[Reject], &["release AC04"]),
        (CreditTransfer, &[GiveUp], &["release"]),
        (DirectDebit, &[Approve, Approve], &["post"]),
        (DirectDebit, &[Due, Due], &["release AB05"]),
    ];
    for (kind, story, expected) in table {
        for (is_asked, expected) in [(true, *expected), (false, &[])] {
            let mut record = Inbound { is_asked, ..after(*kind, &[]) };
            let mut notified = Vec::new();
            for happens in *story {
                let step = happen(record, *happens).unwrap();
                record = step.record;
                notified.extend(step.effects.into_iter().filter_map(|effect| match effect {
                    Effect::Notify { ending, .. } => Some(ending),
                    _ => None,
                }));
            }
            let notified: Vec<String> = notified
                .into_iter()
                .map(|ending| {
                    let reason = ending.reason.map(|reason| format!(" {}", reason.as_str())).unwrap_or_default();
                    format!("{}{reason}", ending.booking.name())
                })
                .collect();
            assert_eq!(notified, expected, "{kind:?} {story:?} {is_asked}");
        }
    }
}

#[test]
fn a_notification_is_repeated_within_bounds_and_then_listed() {
    use Delivery::{Delivered, Undelivered, Underway, Unreached};
    let booked = step(Inbound { is_asked: true, ..after(Kind::DirectDebit, &[]) }, command(Approve).0, NOW_MS);
    let booked = booked.unwrap().record;
    assert_eq!(booked.notice, Underway);
    let alarm = Effect::Schedule { timer: Timer::NoticeAlarm, at_ms: NOW_MS };
    let table: &[(&[Reply], Delivery)] = &[
        (&[Reply::Accepted], Delivered),
        (&[Reply::Accepted, Reply::Silent], Delivered),
        (&[Reply::Refused], Undelivered),
        (&[Reply::Silent], Unreached),
        (&[Reply::Broken, Reply::Accepted], Delivered),
        (&[Reply::Broken, Reply::Silent], Undelivered),
        (&[Reply::Silent, Reply::Refused], Undelivered),
    ];
    for (replies, expected) in table {
        let (mut record, mut effects) = (booked.clone(), Vec::new());
        for reply in *replies {
            let next = step(record, Command::NoticeReply(*reply), NOW_MS).unwrap();
            (record, effects) = (next.record, next.effects);
        }
        assert_eq!(record.notice, *expected, "{replies:?}");
        let sent = effects.iter().any(|effect| matches!(effect, Effect::Notify { .. }));
        assert_eq!((sent, effects.contains(&alarm)), (*expected == Unreached, *expected == Undelivered), "{replies:?}");
        let listed = !Concern::of_inbound(&record).is_empty();
        assert_eq!(listed, matches!(expected, Unreached | Undelivered), "{replies:?}");
        let again = super::step(record, Command::Redeliver, LATE_MS);
        let expected = if *expected == Undelivered { Some(Underway) } else { None };
        assert_eq!(again.ok().map(|step| step.record.notice), expected, "{replies:?}, sent again");
    }
    let rounds = [limits::DELIVERY_REPEATS_MS, limits::NOTICE_LATER_REPEATS_MS];
    assert!(rounds.iter().all(|delays| delays.len() <= 31), "a round has at most 32 attempts");
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

#[test]
fn a_synchronous_authorisation_is_answered_and_not_told_again() {
    let record = after(Kind::AuthorisationSync, &[]);
    assert_eq!(record.outcome(), None);
    let step = happen(record, Approve).unwrap();
    assert_eq!(step.record.outcome(), Some((Outcome::Approved, None)));
    assert_eq!(step.record.response, Delivery::Delivered);
    assert!(!step.effects.iter().any(|effect| matches!(effect, Effect::Send { .. })));
}

#[test]
fn a_response_is_delivered_or_listed() {
    use Delivery::{Delivered, Undelivered, Underway, Unreached};
    let early = (NOW_MS, Kind::Authorisation);
    let barely = (NOW_MS + 59_000, Kind::Authorisation);
    let hardly = (NOW_MS + 59_001, Kind::Authorisation);
    let late = (LATE_MS, Kind::Authorisation);
    let eft = (LATE_MS, Kind::DirectDebit);
    let table = [
        (early, Reply::Accepted, Delivered, 0),
        (early, Reply::Silent, Underway, 1),
        (early, Reply::Broken, Underway, 1),
        (barely, Reply::Silent, Underway, 1),
        (hardly, Reply::Silent, Undelivered, 0),
        (early, Reply::Refused, Undelivered, 0),
        (late, Reply::Silent, Undelivered, 0),
        (late, Reply::Accepted, Delivered, 0),
        (eft, Reply::Silent, Unreached, 1),
        (eft, Reply::Refused, Undelivered, 0),
    ];
    for ((now_ms, kind), reply, expected, sent) in table {
        let decided = after(kind, &[Approve]);
        let step = step(decided, Command::ResponseReply(reply), now_ms).unwrap();
        assert_eq!((step.record.response, step.effects.len()), (expected, sent), "{kind:?} {reply:?}");
        let listed = !Concern::of_inbound(&step.record).is_empty();
        assert_eq!(listed, matches!(expected, Unreached | Undelivered), "{kind:?} {reply:?}");
        let again = super::step(step.record, Command::Redeliver, LATE_MS);
        let expected = if expected == Undelivered { Some(Underway) } else { None };
        assert_eq!(again.ok().map(|step| step.record.response), expected, "{kind:?} {reply:?}, sent again");
    }
}

const STARTS: [Kind; 4] = [Kind::Authorisation, Kind::AuthorisationSync, Kind::CreditTransfer, Kind::DirectDebit];

/// Everything that happened to one payment.
struct Life {
    record: Inbound,
    balances: BTreeMap<String, i128>,
    postings: Vec<String>,
    said: Vec<Outcome>,
    moves: Vec<(State, State)>,
}

impl Life {
    fn begin(kind: Kind) -> Life {
        let step = receive(payment(kind), Budgets::default(), NOW_MS).unwrap();
        let (balances, postings, said, moves) = Default::default();
        let record = step.record.clone();
        let mut life = Life { record, balances, postings, said, moves };
        life.take(step);
        life
    }

    fn go_on(&mut self, happens: Happens) {
        if let Ok(step) = happen(self.record.clone(), happens) {
            self.take(step);
        }
    }

    fn take(&mut self, step: Step<Inbound>) {
        self.record = step.record;
        self.moves.extend(step.moves);
        for effect in step.effects {
            match effect {
                Effect::Post(posting) => {
                    self.postings.push(posting.id());
                    *self.balances.entry(posting.debit.name()).or_default() -= i128::from(posting.minor);
                    *self.balances.entry(posting.credit.name()).or_default() += i128::from(posting.minor);
                }
                Effect::Send { message: Message::Response { outcome, .. }, .. } => self.said.push(outcome),
                _ => {}
            }
        }
    }

    /// What lies on accounts whose name begins so.
    fn on(&self, account: &str) -> i128 {
        self.balances.iter().filter(|(name, _)| name.starts_with(account)).map(|(_, balance)| balance).sum()
    }
}

fn any_happens() -> impl Strategy<Value = Happens> {
    proptest::sample::select(ALL.to_vec())
}

/// Commands that may come in any order without changing how it ends, each at least once.
fn in_any_order(needed: &'static [Happens]) -> impl Strategy<Value = Vec<Happens>> {
    let harmless = [needed, &[DueEarly, OverdueEarly, Overdue, Contradicts]].concat();
    proptest::collection::vec(proptest::sample::select(harmless), 0..6)
        .prop_map(move |more| [needed, more.as_slice()].concat())
        .prop_shuffle()
}

proptest! {
    #[test]
    fn no_money_is_made_and_no_edge_invented(
        kind in proptest::sample::select(STARTS.to_vec()),
        story in proptest::collection::vec(any_happens(), 0..12),
    ) {
        let mut life = Life::begin(kind);
        for happens in story {
            life.go_on(happens);
            prop_assert_eq!(life.balances.values().sum::<i128>(), 0);
        }
        prop_assert!(life.moves.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert!(life.moves.iter().all(|(from, to)| from.may_become(*to)));
        let once: std::collections::BTreeSet<&String> = life.postings.iter().collect();
        prop_assert_eq!(once.len(), life.postings.len(), "posted twice: {:?}", &life.postings);
        prop_assert!(life.said.len() <= 1, "said {:?}", &life.said);
    }

    #[test]
    fn the_books_say_what_the_state_says(
        kind in proptest::sample::select(STARTS.to_vec()),
        story in proptest::collection::vec(any_happens(), 0..12),
    ) {
        let mut life = Life::begin(kind);
        story.into_iter().for_each(|happens| life.go_on(happens));
        let record = &life.record;
        let approved = matches!(record.decision, Decision::Approved(_));
        let (held, unapplied, customer) = match (kind, record.state) {
            (Kind::CreditTransfer, State::Completed) if approved => (0, 0, 10_050),
            (Kind::CreditTransfer, _) if matches!(record.decision, Decision::Rejected(_)) => (0, 0, 0),
            (Kind::CreditTransfer, _) => (0, 10_050, 0),
            (Kind::DirectDebit, State::Approved) => (0, 0, -10_050),
            (_, State::Completed) => (0, 0, 10_050),
            (_, State::Approved) if record.completion.is_none() => (10_050, 0, 0),
            _ => (0, 0, 0),
        };
        prop_assert_eq!((life.on("held/"), life.on("unapplied/"), life.on("customer/")), (held, unapplied, customer));
    }

    #[test]
    fn a_completion_may_overtake_the_approval(story in in_any_order(&[Approve, Settled])) {
        let mut life = Life::begin(Kind::Authorisation);
        story.into_iter().for_each(|happens| life.go_on(happens));
        prop_assert_eq!(&life.record, &after(Kind::Authorisation, &[Approve, Settled]));
        prop_assert_eq!((life.balances["held/62001"], life.balances["customer/62001"]), (0, 10_050));
    }

    #[test]
    fn what_is_not_settled_is_released_in_any_order(story in in_any_order(&[Approve, Unsettled])) {
        let mut life = Life::begin(Kind::Authorisation);
        story.into_iter().for_each(|happens| life.go_on(happens));
        prop_assert_eq!(&life.record, &after(Kind::Authorisation, &[Approve, Unsettled]));
        prop_assert_eq!((life.on("held/"), life.on("customer/"), life.on("settlement/")), (0, 0, 0));
    }
}
