//! The partner's view.

use serde_json::{Value, json};
use tenon_plugin::host::Effect as Outgoing;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestCall, TestHost, response};

use super::{Ledger, essence, stories};
use crate::records::{Transaction, View};
use crate::rules::account::AccountNumber;
use crate::rules::currency::ZAR;
use crate::rules::deadline::Budgets;
use crate::rules::inbound::{self, Command, Inbound};
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::{Completion, Payment, Raw};
use crate::rules::refusal::Refusal;
use crate::rules::status::{self, StatusReason};
use crate::rules::step::{Reply, Timer};
use crate::tests::support::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    Repeated,
    Changed,
    /// What is due is run; the directory has the account, or has it closed.
    RunOpen,
    RunClosed,
    GivenUp,
    Settled,
    Unsettled,
    Contradicted,
    Late,
    Taken,
    Refused,
    Broken,
    Silent,
    Redelivered,
}

use Happens::*;

const ALL: [Happens; 14] = [
    Repeated,
    Changed,
    RunOpen,
    RunClosed,
    GivenUp,
    Settled,
    Unsettled,
    Contradicted,
    Late,
    Taken,
    Refused,
    Broken,
    Silent,
    Redelivered,
];
const LATE_MS: u64 = 4_000_000;

fn path(kind: Kind) -> String {
    format!("/v1{}", kind.operation().path())
}

fn raw(body: &Value) -> Raw {
    Field::ALL.into_iter().fold(Raw::default(), |raw, field| match &body[field.name()] {
        Value::Null => raw,
        Value::String(text) => raw.with(field, text.as_str()),
        number => raw.with(field, number.to_string()),
    })
}

fn completion(status: &str, changes: Value) -> Value {
    let mut body = message(COMPLETE, json!({ "transaction_status": status }));
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body
}

fn set_standing(host: &TestHost, status: &str) {
    put_account(host, &json!({"account_number": "62001", "status": status}));
}

/// A host, and what the rules say that it must hold.
struct Pair {
    host: TestHost,
    record: Inbound,
    ledger: Ledger,
}

impl Pair {
    fn begin(kind: Kind) -> Pair {
        let (host, path) = (partner(json!({})), path(kind));
        let sent = minimal(&path);
        assert!([200, 202].contains(&send(&host, &path, &sent).status));
        let payment = Payment::read(&raw(&sent), kind).unwrap();
        let step = inbound::receive(payment, Budgets::default(), host.now()).unwrap();
        let mut pair = Pair { host, record: step.record, ledger: Ledger::default() };
        pair.ledger.take(step.effects);
        if kind == Kind::AuthorisationSync {
            pair.command(approve()).unwrap();
        }
        pair
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let step = inbound::step(self.record.clone(), command, self.host.now())?;
        self.record = step.record;
        self.ledger.take(step.effects);
        Ok(())
    }

    fn complete(&mut self, body: &Value) -> bool {
        let command = Command::Complete(Box::new(Completion::read(&raw(body), ZAR).unwrap()));
        let said = send(&self.host, COMPLETE, body).status;
        let expected = self.command(command).is_ok();
        assert_eq!(said, if expected { 202 } else { 422 }, "{body}");
        expected
    }

    fn run(&mut self, decided: Command, standing: &str) {
        set_standing(&self.host, standing);
        self.host.run_due();
        while let Some(timer) = self.ledger.next_due(self.host.now()) {
            let command = match timer {
                Timer::Decide => decided.clone(),
                Timer::DecisionBudget => Command::DecisionDue,
                _ => Command::CompletionDue,
            };
            // A decision that comes too late is none.
            let _ = self.command(command);
        }
    }

    /// The directory is broken for as long as the host tries.
    fn give_up(&mut self) {
        let decides = self.ledger.timers.get("decide").is_some_and(|at_ms| *at_ms <= self.host.now());
        if !decides {
            return;
        }
        self.host.put_record("accounts", "62001", &json!({"broken": true}));
        for _ in 0..tenon_plugin::test_kit::TASK_RUNS_MAX {
            while self.host.run_one().is_some() {}
            self.host.advance_ms(1_000);
        }
        self.ledger.timers.remove("decide");
        while let Some(timer) = self.ledger.next_due(self.host.now()) {
            let due = if timer == Timer::DecisionBudget { Command::DecisionDue } else { Command::CompletionDue };
            let _ = self.command(due);
        }
        let _ = self.command(Command::GiveUp);
        self.host.put_record("accounts", "62001", &json!({
            "id": "62001", "account_number": "62001", "status": "open", "currency": "ZAR", "legal_name": null,
            "credit_limit": null, "debit_limit": null, "proxies": [], "created_at": "2026-05-07", "updated_at": "2026-05-07",
        }));
        // What fell due while it was broken.
        self.host.run_due();
    }

    fn reply(&mut self, outcome: Outcome, reply: Reply) {
        let Some(started) = self.host.effects().pop() else { return };
        let Outgoing { then, key, .. } = started.effect;
        self.host.settle(&then, &key, outcome);
        self.ledger.sent = false;
        self.command(Command::ResponseReply(reply)).unwrap();
        // Nothing else may fall due by it.
        assert!(matches!(self.host.run_one(), Some(Ok(()))));
    }

    fn happen(&mut self, happens: Happens) {
        let answered = |status| Outcome::Answered(response(status, &json!({})));
        let kind = self.record.payment.kind;
        let path = path(kind);
        match happens {
            Repeated => assert!([200, 202, 500].contains(&send(&self.host, &path, &minimal(&path)).status)),
            Changed => {
                let changed = message(&path, json!({"end_to_end_identification": "other"}));
                assert_eq!(send(&self.host, &path, &changed).status, 422);
            }
            RunOpen => self.run(approve(), "open"),
            RunClosed => self.run(Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED)), "closed"),
            GivenUp => self.give_up(),
            Settled => drop(self.complete(&completion("APPROVED", json!({})))),
            Unsettled => drop(self.complete(&completion("REJECTED", json!({})))),
            Contradicted => {
                assert!(!self.complete(&completion("APPROVED", json!({"end_to_end_identification": "other"}))));
            }
            Late => self.host.advance_ms(LATE_MS),
            Taken => self.reply_if_alone(answered(202), Reply::Accepted),
            Refused => self.reply_if_alone(answered(422), Reply::Refused),
            Broken => self.reply_if_alone(answered(500), Reply::Broken),
            Silent => self.reply_if_alone(Outcome::Unknown("timeout".to_owned()), Reply::Silent),
            Redelivered => {
                let path = format!("/v1/clearing/transactions/{UETR}/redelivery");
                let expected = if self.command(Command::Redeliver).is_ok() { 202 } else { 422 };
                assert_eq!(send(&self.host, &path, &json!({})).status, expected);
            }
        }
    }

    /// Where a timer is due as well, which of them is first is the world's business: see the conversation.
    fn reply_if_alone(&mut self, outcome: Outcome, reply: Reply) {
        if self.ledger.timers.values().all(|at_ms| *at_ms > self.host.now()) {
            self.reply(outcome, reply);
        }
    }

    fn check(&self, which: &str) {
        let kept = Transaction::new(self.record.clone(), None, self.host.now()).kept;
        let expected = serde_json::to_value(self.record.to_text(&kept).ok().unwrap()).unwrap();
        let shown = self.host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).json();
        assert_eq!(essence(shown), essence(expected), "{which}");
        let balances: Vec<(String, i128)> = self.host.balances().into_iter().map(|((it, _), sum)| (it, sum)).collect();
        assert_eq!(balances, self.ledger.balances.clone().into_iter().collect::<Vec<_>>(), "{which}");
        let timers: Vec<(String, u64)> = self.host.tasks().into_iter().map(|task| (task.name, task.at)).collect();
        let expected: Vec<(String, u64)> =
            self.ledger.timers.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
        assert_eq!(timers, expected, "{which}");
        assert_eq!(events(&self.host), self.ledger.events, "{which}");
        assert_eq!(self.host.effects().len(), usize::from(self.ledger.sent), "{which}");
    }
}

fn approve() -> Command {
    Command::Approve(AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap())
}

fn check(kind: Kind) {
    for story in stories(&ALL) {
        let mut pair = Pair::begin(kind);
        story.iter().for_each(|happens| pair.happen(*happens));
        pair.check(&format!("{kind:?} after {story:?}"));
    }
}

#[test]
fn an_authorisation_is_what_the_rules_say_whatever_happens() {
    check(Kind::Authorisation);
}

#[test]
fn a_synchronous_authorisation_is_what_the_rules_say_whatever_happens() {
    check(Kind::AuthorisationSync);
}

#[test]
fn a_credit_transfer_is_what_the_rules_say_whatever_happens() {
    check(Kind::CreditTransfer);
}

#[test]
fn a_direct_debit_is_what_the_rules_say_whatever_happens() {
    check(Kind::DirectDebit);
}
