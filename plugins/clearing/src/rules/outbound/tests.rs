//! A payment to the platform and the commands that these tests give it.

mod sending;
mod sequences;
mod situations;

use super::*;
use crate::rules::account::AccountNumber;
use crate::rules::currency::ZAR;
use crate::rules::invalid::Field;
use crate::rules::message::Raw;
use crate::rules::scheme::Operation;
use crate::rules::step::Message;

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

/// Summarizes a step in one line: states, messages, events, notes; "=" if nothing happened.
fn summary(before: &Outbound, outcome: Result<Step<Outbound>, Refusal>) -> String {
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
            let found = summary(&before, happen(before.clone(), happens));
            assert_eq!(found, *expected, "after {past:?}: {happens:?}");
        }
    }
}

const NO: &str = "NotPossible";
const DONE: &str = "AlreadyDecided";
const WRONG: &str = "WrongOperation";
const LATE: &str = "TooLate";
