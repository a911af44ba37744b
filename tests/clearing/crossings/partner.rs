//! The partner's view. The last digits of a uetr say what the peer makes of it: the bank's own system, and the platform that is
//! told the response.

use std::collections::BTreeMap;

use clearing::rules::{
    account::AccountNumber,
    concern::Concern,
    currency::ZAR,
    deadline::Budgets,
    inbound::{self, Command, Decision, Inbound},
    invalid::Field,
    kind::Kind,
    message::{Completion, Payment},
    refusal::Refusal,
    status::StatusReason,
    step::{Reply as Heard, Timer},
};
use serde_json::{Value, json};

use super::{Done, NEVER, Ruled, digit, play, raw, reply, states, stories};
use crate::{
    clearing::{
        START_MS,
        coverage::Side,
        look::at_once,
        messages::{ACCOUNT, COMPLETE, message, uetr},
        stage::Stage,
    },
    support::{ReceiverResponse, Response},
};

const DECIDED: [&str; 3] = ["APPROVED", "REJECTED", "never"];
const TAKEN: [u16; 3] = [202, 422, 500];
/// Behind everything that happens here.
const NEVER_MS: u64 = 604_800_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Repeated,
    Changed,
    OfAnotherOperation,
    Settled,
    Unsettled,
    Unclear,
    SettledOfAnother,
    Redelivered,
}

#[derive(Clone, PartialEq)]
struct Received {
    record: Inbound,
    uetr: String,
    now_ms: u64,
    done: Done,
}

fn path(kind: Kind) -> String {
    format!("/v1{}", kind.operation().path())
}

fn body(kind: Kind, uetr: &str) -> Value {
    message(&path(kind), json!({"uetr": uetr}))
}

fn payment(body: &Value, kind: Kind) -> Payment {
    Payment::read(&raw(body), kind).unwrap()
}

impl Received {
    fn begin(kind: Kind, uetr: String) -> Received {
        let step = inbound::receive(payment(&body(kind, &uetr), kind), Budgets::default(), START_MS).unwrap();
        let mut done = Done::default();
        done.take(step.moves, step.effects);
        done.timers.remove(&Timer::Decide);
        let record = Inbound { is_bank_consulted: true, ..step.record };
        let mut received = Received { record, uetr, now_ms: START_MS, done };
        match DECIDED[digit(&received.uetr, 1)] {
            "APPROVED" => {
                let account = AccountNumber::parse(Field::CreditorAccountNumber, ACCOUNT).unwrap();
                received.command(Command::Approve(account)).unwrap();
            }
            "REJECTED" => received.command(Command::Reject(StatusReason::parse("AC04").unwrap())).unwrap(),
            _ => {}
        }
        received
    }

    fn given_up(mut self, after_ms: u64) -> Received {
        self.now_ms += after_ms;
        self.command(Command::GiveUp).unwrap();
        self
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let step = inbound::step(self.record.clone(), command, self.now_ms)?;
        self.record = step.record;
        let (before, sent) = (self.done.notices, self.done.take(step.moves, step.effects));
        // The bank's own system takes every notification at once.
        if self.done.notices > before {
            self.command(Command::NoticeReply(Heard::Accepted))?;
        }
        let Some(sent) = sent else { return Ok(()) };
        match reply(TAKEN[digit(&self.uetr, 0)], sent.is_lasting) {
            Some(reply) => self.command(Command::ResponseReply(reply)),
            None => Ok(()),
        }
    }

    fn completion(&self, told: Told) -> Value {
        let status = match told {
            Told::Unsettled => "REJECTED",
            Told::Unclear => "PENDING",
            _ => "APPROVED",
        };
        let whose = if told == Told::SettledOfAnother { "E2E-2" } else { "E2E-1" };
        let changes = json!({"uetr": self.uetr, "transaction_status": status, "end_to_end_identification": whose});
        message(COMPLETE, changes)
    }

    fn other_kind(&self) -> Kind {
        if self.record.payment.kind == Kind::CreditTransfer { Kind::DirectDebit } else { Kind::CreditTransfer }
    }

    /// Path and body.
    fn message(&self, told: Told) -> (String, Value) {
        let kind = self.record.payment.kind;
        match told {
            Told::Repeated => (path(kind), body(kind, &self.uetr)),
            Told::Changed => {
                let mut changed = body(kind, &self.uetr);
                changed["end_to_end_identification"] = json!("E2E-2");
                (path(kind), changed)
            }
            Told::OfAnotherOperation => (path(self.other_kind()), body(self.other_kind(), &self.uetr)),
            Told::Settled | Told::Unsettled | Told::Unclear | Told::SettledOfAnother => {
                (COMPLETE.to_owned(), self.completion(told))
            }
            Told::Redelivered => (format!("/v1/clearing/transactions/{}/redelivery", self.uetr), json!({})),
        }
    }
}

impl Ruled for Received {
    type Told = Told;
    const SIDE: Side = Side::Bank;
    const ALL: &'static [Told] = &[
        Told::Repeated,
        Told::Changed,
        Told::OfAnotherOperation,
        Told::Settled,
        Told::Unsettled,
        Told::Unclear,
        Told::SettledOfAnother,
        Told::Redelivered,
    ];

    fn uetr(&self) -> &str {
        &self.uetr
    }

    fn tell(&mut self, told: Told) -> bool {
        let (kind, (_, body)) = (self.record.payment.kind, self.message(told));
        let taken = match told {
            Told::Repeated | Told::Changed => inbound::receive_again(&self.record, &payment(&body, kind)),
            Told::OfAnotherOperation => inbound::receive_again(&self.record, &payment(&body, self.other_kind())),
            Told::Redelivered => self.command(Command::Redeliver),
            _ => self.command(Command::Complete(Box::new(Completion::read(&raw(&body), ZAR).unwrap()))),
        };
        taken.is_ok()
    }

    fn pass_ms(&mut self, milliseconds: u64) {
        self.now_ms += milliseconds;
        let was_underway = self.record.response.is_tried();
        for timer in self.done.due(self.now_ms) {
            let due = if timer == Timer::Completion { Command::CompletionDue } else { Command::DecisionDue };
            self.command(due).unwrap();
        }
        // Its time is over as well, where it has one.
        if was_underway && self.record.complete_by_ms.is_some_and(|at_ms| at_ms <= self.now_ms) {
            self.command(Command::ResponseReply(Heard::Silent)).unwrap();
        }
    }

    async fn send(&self, stage: &Stage, told: Told) -> Response {
        let (path, body) = self.message(told);
        let actor = if told == Told::Redelivered { &stage.bank } else { &stage.to_bank };
        actor.post(&path, body).await
    }

    fn expected(&self) -> Value {
        let (status, reason, account) = match &self.record.decision {
            Decision::Pending => (Some("PENDING"), None, None),
            Decision::Approved(account) => (Some("APPROVED"), None, Some(account.as_str())),
            Decision::Rejected(reason) => (Some("REJECTED"), Some(reason.as_str()), None),
            Decision::GivenUp => (None, None, None),
        };
        let completion = self.record.completion.as_ref().map(|known| {
            json!({
                "transaction_status": known.outcome.status().name(), "status_reason": null, "settlement_date": "2026-05-07",
                "applied": known.applied,
            })
        });
        let concerns: Vec<&str> = Concern::of_inbound(&self.record).into_iter().map(Concern::name).collect();
        json!({
            "state": self.record.state.name(), "transaction_status": status, "status_reason": reason,
            "account_number": account, "overdue": self.record.overdue, "completion": completion,
            "response": self.record.response.name(), "concerns": concerns,
            "bank_notification": self.record.notice.name(),
        })
    }

    fn done(&self) -> &Done {
        &self.done
    }
}

fn decide(asked: &Value) -> ReceiverResponse {
    let said = match DECIDED[digit(asked["uetr"].as_str().unwrap(), 1)] {
        "APPROVED" => json!({"transaction_status": "APPROVED", "account_number": ACCOUNT}),
        "REJECTED" => json!({"transaction_status": "REJECTED", "status_reason": "AC04"}),
        _ => return ReceiverResponse::Status(500),
    };
    ReceiverResponse::Json(200, said)
}

fn take(response: &Value) -> ReceiverResponse {
    ReceiverResponse::Status(TAKEN[digit(response["uetr"].as_str().unwrap(), 0)])
}

/// Every kind with every decision and every reply to its response.
fn beginnings() -> Vec<(Kind, usize)> {
    let codes = (0..DECIDED.len()).flat_map(|decided| (0..TAKEN.len()).map(move |taken| decided * 10 + taken));
    let all = codes.flat_map(|code| Kind::ALL.map(|kind| (kind, code)));
    // What is answered at once has no response, and is not stored undecided.
    all.filter(|(kind, code)| *kind != Kind::AuthorisationSync || [0, 10].contains(code)).collect()
}

/// Without a default account the rules are no help where the bank does not say: the decision is tried again, and given up then.
async fn cross(late: usize, gives_up_after_ms: Option<u64>) -> Vec<Received> {
    let again_ms = gives_up_after_ms.unwrap_or(NEVER_MS);
    let unable = format!("[plugins.clearing.tasks]\ndelays-ms = [{again_ms}]");
    let settings = format!("default-account = \".\"\ndecide = \"ask\"\nfallback = \"rules\"\n{unable}");
    let stage = Stage::bank(&settings).await;
    stage.peer.respond_at("/decisions", ReceiverResponse::FromBody(decide));
    stage.peer.respond_with(ReceiverResponse::FromBody(take));
    stage.peer.respond_at("/outcomes", ReceiverResponse::Status(200));
    let mut payments: Vec<(Received, Vec<Option<Told>>)> = Vec::new();
    for (kind, code) in beginnings() {
        let begun = |number: usize| {
            let begun = Received::begin(kind, uetr((number * 100 + code) as u64));
            gives_up_after_ms.map_or(begun.clone(), |after_ms| begun.given_up(after_ms))
        };
        let stories = stories(&begun(0), late);
        let numbered = stories.into_iter().enumerate().map(|(at, story)| (begun(payments.len() + at), story));
        let numbered: Vec<_> = numbered.collect();
        payments.extend(numbered);
    }
    let sent = payments.iter().map(async |(begun, _)| begun.send(&stage, Told::Repeated).await);
    assert!(at_once(sent).await.iter().all(|answer| answer.status < 300));
    stage.rest().await;
    if let Some(after_ms) = gives_up_after_ms {
        stage.pass_ms(after_ms).await;
    }
    let played = play(&stage, payments, late).await;
    check_books(&stage, &played).await;
    stage.finish().await;
    played
}

async fn check_books(stage: &Stage, payments: &[Received]) {
    let mut balances: BTreeMap<String, i128> = BTreeMap::new();
    for (name, amount) in payments.iter().flat_map(|received| &received.done.balances) {
        *balances.entry(name.clone()).or_default() += amount;
    }
    balances.retain(|_, amount| *amount != 0);
    assert_eq!(stage.books().await, balances);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_partner_in_every_situation_is_what_the_rules_say() {
    let played = cross(NEVER, None).await;
    assert_eq!(states(&played), ["approved", "completed", "processing", "received", "rejected"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_partner_that_is_late_is_what_the_rules_say() {
    for late in 1..NEVER {
        let played = cross(late, None).await;
        assert!(played.iter().any(|received| received.record.overdue));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_partner_that_gave_up_is_what_the_rules_say() {
    let played = cross(NEVER, Some(1_000)).await;
    assert_eq!(states(&played), ["approved", "completed", "failed", "rejected"]);
}
