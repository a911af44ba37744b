//! The platform's view.

use serde_json::{Value, json};
use tenon_plugin::host::Effect as Outgoing;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestCall, TestHost, response};

use super::{Ledger, essence, stories};
use crate::records::{Transaction, View};
use crate::rules::account::AccountNumber;
use crate::rules::currency::ZAR;
use crate::rules::date::Date;
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::{Payment, Raw, Response};
use crate::rules::outbound::replies::Determined;
use crate::rules::outbound::route::Route;
use crate::rules::outbound::{self, Command, Outbound, Settlement};
use crate::rules::refusal::Refusal;
use crate::rules::scheme::Operation;
use crate::rules::status::{self, Outcome as Status, StatusReason};
use crate::rules::step::{Reply, Timer};
use crate::tests::support::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    Repeated,
    /// What the message that is on its way comes back with.
    Accepted,
    Negative,
    Refused,
    Broken,
    Silent,
    Approved,
    Rejected,
    /// The response to another kind of payment.
    Misdirected,
    Late,
    Run,
    Settled,
    Unsettled,
    Redelivered,
}

use Happens::*;

const ALL: [Happens; 14] = [
    Repeated,
    Accepted,
    Negative,
    Refused,
    Broken,
    Silent,
    Approved,
    Rejected,
    Misdirected,
    Late,
    Run,
    Settled,
    Unsettled,
    Redelivered,
];
const LATE_MS: u64 = 4_000_000;

fn changes(route: &Route) -> Value {
    match route {
        Route::Determine => json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": "ada@bank"}),
        _ => json!({}),
    }
}

fn response_body(kind: Kind, status: &str) -> Value {
    message(&format!("/v1{}", kind.response().path()), json!({"transaction_status": status, "status_reason": "AC04"}))
}

fn raw(body: &Value) -> Raw {
    Field::ALL.into_iter().fold(Raw::default(), |raw, field| match &body[field.name()] {
        Value::Null => raw,
        Value::String(text) => raw.with(field, text.as_str()),
        number => raw.with(field, number.to_string()),
    })
}

struct Pair {
    host: TestHost,
    route: Route,
    record: Outbound,
    ledger: Ledger,
    /// Responses are compared with the first one that was taken.
    said: Option<&'static str>,
}

impl Pair {
    fn begin(kind: Kind, route: Route) -> Pair {
        let (host, path) = (platform(json!({})), format!("/v1{}", kind.operation().path()));
        assert_eq!(submit(&host, &path, changes(&route)).status, 202);
        let payment = Payment::read(&raw(&message(&path, changes(&route))), kind).unwrap();
        let step = outbound::submit(payment, route.clone(), host.now()).unwrap();
        let mut pair = Pair { host, route, record: step.record, ledger: Ledger::default(), said: None };
        pair.ledger.take(step.effects);
        pair
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let step = outbound::step(self.record.clone(), command, self.host.now())?;
        self.record = step.record;
        self.ledger.take(step.effects);
        Ok(())
    }

    /// The message that is on its way is answered; where a timer is due as well, the order is the world's business.
    fn reply(&mut self, status: Option<u16>, negative: bool) {
        let alone = self.ledger.timers.values().all(|at_ms| *at_ms > self.host.now());
        let mut effects = self.host.effects();
        let Some(Outgoing { then, key, .. }) =
            effects.pop().filter(|_| alone && effects.is_empty()).map(|it| it.effect)
        else {
            return;
        };
        let kind = self.record.payment.kind;
        let body = match then.as_str() {
            "determination-settled" if negative => json!({"transaction_status": "REJECTED", "status_reason": "BE23"}),
            "determination-settled" => json!({"creditor_account_number": "62001"}),
            _ => response_body(kind, if negative { "REJECTED" } else { "APPROVED" }),
        };
        let outcome = match status {
            Some(status) => Outcome::Answered(response(status, &body)),
            None => Outcome::Unknown("timeout".to_owned()),
        };
        self.host.settle(&then, &key, outcome);
        self.host.run_due();
        self.ledger.sent = false;
        let reply = Reply::of_status(status);
        match then.as_str() {
            "determination-settled" => {
                let account = AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
                let determined = match reply {
                    Reply::Accepted if negative => Determined::NoAccount(StatusReason::of(status::PROXY_UNKNOWN)),
                    Reply::Accepted => Determined::Account(account),
                    other => Determined::Unanswered(other),
                };
                let _ = self.command(Command::Determined(determined));
            }
            "completion-settled" => drop(self.command(Command::CompletionReply(reply))),
            _ => {
                let _ = self.command(Command::RequestReply(reply));
                if kind == Kind::AuthorisationSync && reply == Reply::Accepted {
                    let answer = Response::read(&raw(&body), kind.response(), ZAR).unwrap();
                    let _ = self.command(Command::Respond(Box::new(answer)));
                }
            }
        }
    }

    fn respond(&mut self, status: &'static str) {
        let kind = self.record.payment.kind;
        let (path, body) = (format!("/v1{}", kind.response().path()), response_body(kind, status));
        let said = send(&self.host, &path, &body).status;
        let expected = match self.said {
            Some(first) => first == status,
            None => self
                .command(Command::Respond(Box::new(Response::read(&raw(&body), kind.response(), ZAR).unwrap())))
                .is_ok(),
        };
        if expected {
            self.said = Some(status);
        }
        assert_eq!(said, if expected { 202 } else { 422 }, "{status}");
    }

    fn misdirect(&mut self) {
        let operations = [Operation::DirectDebitResponse, Operation::CreditTransferResponse];
        let other = operations.into_iter().find(|other| *other != self.record.payment.kind.response()).unwrap();
        let body = message(DEBITED, json!({}));
        assert_eq!(send(&self.host, &format!("/v1{}", other.path()), &body).status, 422);
    }

    fn settle(&mut self, outcome: Status) {
        let said = settle(&self.host, json!({"transaction_status": outcome.status().name()})).status;
        let date = Date::parse(Field::SettlementDate, "2026-05-07").unwrap();
        let expected = self.command(Command::Settle(Settlement { outcome, date })).is_ok();
        assert_eq!(said, if expected { 202 } else { 422 });
    }

    fn run(&mut self) {
        self.host.run_due();
        while let Some(timer) = self.ledger.next_due(self.host.now()) {
            let due = if timer == Timer::Determination { Command::DeterminationDue } else { Command::ResponseDue };
            self.command(due).unwrap();
        }
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Repeated => {
                let path = format!("/v1{}", self.record.payment.kind.operation().path());
                assert_eq!(submit(&self.host, &path, changes(&self.route)).status, 202);
            }
            Accepted => self.reply(Some(200), false),
            Negative => self.reply(Some(200), true),
            Refused => self.reply(Some(422), false),
            Broken => self.reply(Some(500), false),
            Silent => self.reply(None, false),
            Approved => self.respond("APPROVED"),
            Rejected => self.respond("REJECTED"),
            Misdirected => self.misdirect(),
            Late => self.host.advance_ms(LATE_MS),
            Run => self.run(),
            Settled => self.settle(Status::Approved),
            Unsettled => self.settle(Status::Rejected),
            Redelivered => {
                let path = format!("/v1/clearing/transactions/{UETR}/redelivery");
                let expected = if self.command(Command::Redeliver).is_ok() { 202 } else { 422 };
                assert_eq!(send(&self.host, &path, &json!({})).status, expected);
            }
        }
    }

    fn check(&self, which: &str) {
        let partner = Some("bank-a".to_owned());
        let kept = Transaction::new(self.record.clone(), partner, self.host.now()).kept;
        let expected = serde_json::to_value(self.record.to_text(&kept).ok().unwrap()).unwrap();
        let shown = self.host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).json();
        assert_eq!(essence(shown), essence(expected), "{which}");
        let timers: Vec<(String, u64)> = self.host.tasks().into_iter().map(|task| (task.name, task.at)).collect();
        let expected: Vec<(String, u64)> =
            self.ledger.timers.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
        assert_eq!(timers, expected, "{which}");
        assert_eq!(events(&self.host), self.ledger.events, "{which}");
        assert!(self.host.balances().is_empty(), "{which}");
    }
}

fn check(kind: Kind, route: Route) {
    for story in stories(&ALL) {
        let mut pair = Pair::begin(kind, route.clone());
        story.iter().for_each(|happens| pair.happen(*happens));
        pair.check(&format!("{kind:?} {route:?} after {story:?}"));
    }
}

#[test]
fn an_authorisation_is_what_the_rules_say_whatever_happens() {
    check(Kind::Authorisation, Route::Send(None));
}

#[test]
fn an_authorisation_by_proxy_is_what_the_rules_say_whatever_happens() {
    check(Kind::Authorisation, Route::Determine);
}

#[test]
fn a_synchronous_authorisation_is_what_the_rules_say_whatever_happens() {
    check(Kind::AuthorisationSync, Route::Send(None));
}

#[test]
fn eft_items_are_what_the_rules_say_whatever_happens() {
    check(Kind::CreditTransfer, Route::Send(None));
    check(Kind::DirectDebit, Route::Send(None));
}
