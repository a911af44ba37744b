//! The platform's view. The last digits of a uetr say what the peer, a partner, answers to each message.

use clearing::rules::{
    account::AccountNumber,
    concern::Concern,
    currency::ZAR,
    date::Date,
    invalid::Field,
    kind::Kind,
    message::{Payment, Response as Answered},
    outbound::{self, Command, Outbound, Settlement, replies::Determined, route::Route},
    refusal::Refusal,
    scheme::Operation,
    status::{Outcome, StatusReason},
    step::{Message, Reply as Heard, Timer},
};
use serde_json::{Value, json};

use super::{Done, NEVER, Ruled, Sent, digit, play, raw, reply, states, stories};
use crate::{
    clearing::{
        START_MS,
        coverage::Side,
        look::at_once,
        messages::{ACCOUNT, PROXY, message, payment, uetr},
        stage::Stage,
    },
    support::{ReceiverResponse, Response},
};

/// By the last digit, the one before it, and the one before that.
const COMPLETED: [u16; 3] = [202, 422, 500];
const REQUESTED: [u16; 5] = [202, 200, 422, 500, 429];
const DETERMINED: [u16; 5] = [200, 200, 422, 500, 429];
/// The two of them that are negative answers.
const REJECTED: usize = 1;
/// Until nothing of what has begun is repeated any more but what lasts.
const BEGUN_MS: u64 = 3_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Repeated,
    Changed,
    Approved,
    Rejected,
    OfAnotherOperation,
    Settled,
    Unsettled,
    Redelivered,
}

#[derive(Clone, PartialEq)]
struct Submitted {
    record: Outbound,
    uetr: String,
    by_proxy: bool,
    now_ms: u64,
    done: Done,
}

/// What is submitted.
fn body(kind: Kind, by_proxy: bool, uetr: &str) -> Value {
    let mut changes = json!({"uetr": uetr});
    if by_proxy {
        changes["payment_scheme"] = json!("ZA_RPP");
        changes["creditor_account_proxy"] = json!(PROXY);
    }
    payment(&format!("/v1{}", kind.operation().path()), changes)
}

fn response(operation: Operation, uetr: &str, status: &str) -> Value {
    let mut changes = json!({"uetr": uetr, "transaction_status": status});
    if status == "REJECTED" {
        changes["status_reason"] = json!("AC04");
    }
    message(&format!("/v1{}", operation.path()), changes)
}

/// To a determination, or to a synchronous authorisation.
fn answer(message: &Value) -> ReceiverResponse {
    let uetr = message["uetr"].as_str().unwrap();
    let (requested, determined) = (digit(uetr, 1), digit(uetr, 2));
    let rejected = json!({"uetr": uetr, "transaction_status": "REJECTED", "status_reason": "AC04"});
    match (message["message_identification"].is_null(), determined, requested) {
        (true, 0, _) => ReceiverResponse::Json(200, json!({"creditor_account_number": ACCOUNT})),
        (true, REJECTED, _) | (false, _, REJECTED) => ReceiverResponse::Json(200, rejected),
        (true, code, _) => ReceiverResponse::Status(DETERMINED[code]),
        (false, _, 0) => ReceiverResponse::Json(200, json!({"uetr": uetr, "transaction_status": "APPROVED"})),
        (false, _, code) => ReceiverResponse::Status(REQUESTED[code]),
    }
}

fn request(message: &Value) -> ReceiverResponse {
    ReceiverResponse::Status(REQUESTED[digit(message["uetr"].as_str().unwrap(), 1)])
}

fn completion(message: &Value) -> ReceiverResponse {
    ReceiverResponse::Status(COMPLETED[digit(message["uetr"].as_str().unwrap(), 0)])
}

impl Submitted {
    fn begin((kind, by_proxy): (Kind, bool), uetr: String) -> Submitted {
        let sent = Payment::read(&raw(&body(kind, by_proxy, &uetr)), kind).unwrap();
        let route = if by_proxy { Route::Determine } else { Route::Send(None) };
        let step = outbound::submit(sent, route, START_MS).unwrap();
        let mut submitted = Submitted { record: step.record, uetr, by_proxy, now_ms: START_MS, done: Done::default() };
        let sent = submitted.done.take(step.moves, step.effects);
        submitted.hear(sent).unwrap();
        submitted.now_ms += BEGUN_MS;
        submitted
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let step = outbound::step(self.record.clone(), command, self.now_ms)?;
        self.record = step.record;
        let sent = self.done.take(step.moves, step.effects);
        self.hear(sent)
    }

    /// What comes of a message that goes out.
    fn hear(&mut self, sent: Option<Sent>) -> Result<(), Refusal> {
        let Some(Sent { message, is_lasting }) = sent else { return Ok(()) };
        let [completed, requested, determined] = [0, 1, 2].map(|place| digit(&self.uetr, place));
        match message {
            Message::Completion { .. } => match reply(COMPLETED[completed], is_lasting) {
                Some(reply) => self.command(Command::CompletionReply(reply)),
                None => Ok(()),
            },
            Message::Determination => {
                let account = || AccountNumber::parse(Field::CreditorAccountNumber, ACCOUNT).unwrap();
                let heard = match determined {
                    0 => Determined::Account(account()),
                    REJECTED => Determined::NoAccount(StatusReason::parse("AC04").unwrap()),
                    code => Determined::Unanswered(Heard::of_status(Some(DETERMINED[code]))),
                };
                self.command(Command::Determined(heard))
            }
            _ => self.hear_request(requested, is_lasting),
        }
    }

    fn hear_request(&mut self, code: usize, is_lasting: bool) -> Result<(), Refusal> {
        let Some(heard) = reply(REQUESTED[code], is_lasting) else { return Ok(()) };
        self.command(Command::RequestReply(heard))?;
        let kind = self.record.payment.kind;
        if kind != Kind::AuthorisationSync || heard != Heard::Accepted {
            return Ok(());
        }
        let status = if code == REJECTED { "REJECTED" } else { "APPROVED" };
        let said = raw(&response(kind.response(), &self.uetr, status));
        self.command(Command::Respond(Box::new(Answered::read(&said, kind.response(), ZAR).unwrap())))
    }

    /// Which response it is.
    fn responds(&self, told: Told) -> Operation {
        let own = self.record.payment.kind.response();
        match told {
            Told::OfAnotherOperation if own == Operation::DirectDebitResponse => Operation::CreditTransferResponse,
            Told::OfAnotherOperation => Operation::DirectDebitResponse,
            _ => own,
        }
    }

    /// Path and body.
    fn message(&self, told: Told) -> (String, Value) {
        let submission = || body(self.record.payment.kind, self.by_proxy, &self.uetr);
        match told {
            Told::Repeated => ("/v1/clearing/payments".to_owned(), submission()),
            Told::Changed => {
                let mut changed = submission();
                changed["end_to_end_identification"] = json!("E2E-2");
                ("/v1/clearing/payments".to_owned(), changed)
            }
            Told::Approved | Told::Rejected | Told::OfAnotherOperation => {
                let (operation, status) =
                    (self.responds(told), if told == Told::Rejected { "REJECTED" } else { "APPROVED" });
                (format!("/v1{}", operation.path()), response(operation, &self.uetr, status))
            }
            Told::Settled | Told::Unsettled => {
                let status = if told == Told::Settled { "APPROVED" } else { "REJECTED" };
                let settlement = json!({"settlement_date": "2026-05-07", "transaction_status": status});
                (format!("/v1/clearing/payments/{}/settlement", self.uetr), settlement)
            }
            Told::Redelivered => (format!("/v1/clearing/transactions/{}/redelivery", self.uetr), json!({})),
        }
    }
}

impl Ruled for Submitted {
    type Told = Told;
    const SIDE: Side = Side::Hub;
    const ALL: &'static [Told] = &[
        Told::Repeated,
        Told::Changed,
        Told::Approved,
        Told::Rejected,
        Told::OfAnotherOperation,
        Told::Settled,
        Told::Unsettled,
        Told::Redelivered,
    ];

    fn uetr(&self) -> &str {
        &self.uetr
    }

    fn tell(&mut self, told: Told) -> bool {
        let date = Date::parse(Field::SettlementDate, "2026-05-07").unwrap();
        let taken = match told {
            Told::Repeated => return true,
            Told::Changed => return false,
            Told::Redelivered => self.command(Command::Redeliver),
            Told::Settled => self.command(Command::Settle(Settlement { outcome: Outcome::Approved, date })),
            Told::Unsettled => self.command(Command::Settle(Settlement { outcome: Outcome::Rejected, date })),
            Told::Approved | Told::Rejected | Told::OfAnotherOperation => {
                let response = Answered::read(&raw(&self.message(told).1), self.responds(told), ZAR).unwrap();
                self.command(Command::Respond(Box::new(response)))
            }
        };
        taken.is_ok()
    }

    fn pass_ms(&mut self, milliseconds: u64) {
        self.now_ms += milliseconds;
        for timer in self.done.due(self.now_ms) {
            let due = if timer == Timer::Determination { Command::DeterminationDue } else { Command::ResponseDue };
            self.command(due).unwrap();
        }
    }

    async fn send(&self, stage: &Stage, told: Told) -> Response {
        let (path, body) = self.message(told);
        let actor = if path.starts_with("/v1/clearing/") { &stage.hub } else { &stage.to_hub };
        actor.post(&path, body).await
    }

    fn expected(&self) -> Value {
        let reason = self.record.reason.as_ref().map(StatusReason::as_str);
        let response = self.record.response.as_ref().map(|answer| {
            let reason = answer.reason.as_ref().map(StatusReason::as_str);
            json!({"transaction_status": answer.outcome.status().name(), "status_reason": reason})
        });
        let settlement = self.record.settlement.map(|settlement| {
            json!({"transaction_status": settlement.outcome.status().name(), "settlement_date": "2026-05-07"})
        });
        let concerns: Vec<&str> = Concern::of_outbound(&self.record).into_iter().map(Concern::name).collect();
        json!({
            "state": self.record.state.name(), "stage": self.record.stage.name(), "received": self.record.received,
            "overdue": self.record.overdue, "status_reason": reason, "response": response, "settlement": settlement,
            "delivery": self.record.delivery.name(), "concerns": concerns,
        })
    }

    fn done(&self) -> &Done {
        &self.done
    }
}

/// Kind and whether it goes by a proxy, with the digits that say how it is answered.
fn beginnings() -> Vec<((Kind, bool), usize)> {
    let mut all: Vec<((Kind, bool), usize)> =
        (0..DETERMINED.len()).map(|code| ((Kind::Authorisation, true), code * 100)).collect();
    for kind in Kind::ALL {
        let codes = (0..REQUESTED.len()).filter(|code| *code != REJECTED || kind == Kind::AuthorisationSync);
        all.extend(codes.map(|code| ((kind, false), code * 10)));
        // Only what is approved is ever completed.
        all.extend((1..COMPLETED.len()).filter(|_| kind.is_authorised()).map(|code| ((kind, false), code)));
    }
    all
}

async fn cross(late: usize) -> Vec<Submitted> {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_with(ReceiverResponse::FromBody(request));
    stage.peer.respond_at("/credit-transfer-completion", ReceiverResponse::FromBody(completion));
    stage.peer.respond_at("/identifier-determination", ReceiverResponse::FromBody(answer));
    stage.peer.respond_at("/credit-transfer-authorisation-sync", ReceiverResponse::FromBody(answer));
    let mut payments: Vec<(Submitted, Vec<Option<Told>>)> = Vec::new();
    for (way, code) in beginnings() {
        let begun = |number: usize| Submitted::begin(way, uetr((number * 1_000 + code) as u64));
        let stories = stories(&begun(0), late);
        let numbered = stories.into_iter().enumerate().map(|(at, story)| (begun(payments.len() + at), story));
        let numbered: Vec<_> = numbered.collect();
        payments.extend(numbered);
    }
    let sent = payments.iter().map(async |(begun, _)| begun.send(&stage, Told::Repeated).await);
    assert!(at_once(sent).await.iter().all(|answer| answer.status == 202));
    stage.rest().await;
    for _ in 0..BEGUN_MS / 1_000 {
        stage.pass_ms(1_000).await;
    }
    let played = play(&stage, payments, late).await;
    stage.finish().await;
    played
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_platform_in_every_situation_is_what_the_rules_say() {
    let played = cross(NEVER).await;
    let all = ["approved", "completed", "failed", "processing", "received", "rejected", "timed_out"];
    assert_eq!(states(&played), all);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_platform_that_is_late_is_what_the_rules_say() {
    for late in 1..NEVER {
        let played = cross(late).await;
        assert!(played.iter().any(|submitted| submitted.record.overdue));
    }
}
