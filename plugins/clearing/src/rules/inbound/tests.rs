//! A payment from the platform and the commands that these tests give it.

mod deliveries;
mod sequences;
mod situations;

use super::*;
use crate::rules::currency::ZAR;
use crate::rules::invalid::Field;
use crate::rules::message::Raw;
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

/// Summarizes a step in one line: states, movements, responses, notes; "=" if nothing happened.
fn summary(before: &Inbound, outcome: Result<Step<Inbound>, Refusal>) -> String {
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
            let found = summary(&before, happen(before.clone(), happens));
            assert_eq!(found, *expected, "{kind:?} after {past:?}: {happens:?}");
        }
    }
}
