//! The world between the two sides: a queue of what will happen when. Each side is its records and a clock of its own;
//! what it has stored survives anything, what is under way may be lost or come twice.

use std::collections::{BTreeMap, BTreeSet};

use super::random::Random;
use crate::rules::account::AccountNumber;
use crate::rules::date::Date;
use crate::rules::deadline::Budgets;
use crate::rules::directory;
use crate::rules::inbound::{self, Inbound};
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::message::{About, Completion, Payment, Raw, Response};
use crate::rules::outbound::replies::Determined;
use crate::rules::outbound::{self, Outbound, Settlement, route};
use crate::rules::refusal::Refusal;
use crate::rules::scheme::{Operation, Scheme};
use crate::rules::status::{self, Outcome, StatusReason};
use crate::rules::step::{Effect, Message, Pauses, Reply, Staged, Step, Timer};

/// When every world begins.
const DAWN_MS: u64 = 1_778_142_600_000;
/// How far a clock is ever off.
const SKEW_MS: u64 = 4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Partner,
    Platform,
}

/// A message that is repeated until it is answered.
#[derive(Clone, Debug)]
struct Posted {
    from: Side,
    payment: usize,
    operation: Operation,
    message: Message,
    pauses: Pauses,
    give_up_at_ms: Option<u64>,
}

#[derive(Clone, Debug)]
enum Happening {
    Attempt {
        posted: Posted,
        repeats: usize,
    },
    /// A copy that was held up somewhere; nobody waits for its answer.
    Ghost(Posted),
    Timer {
        side: Side,
        payment: usize,
        timer: Timer,
        at_ms: u64,
    },
    /// The bank's own system has made up its mind at last.
    Decide {
        payment: usize,
    },
    Settle {
        payment: usize,
    },
    GiveBack {
        payment: usize,
    },
}

/// What comes back for a message: a status, and what the body says.
enum Answer {
    Status(u16),
    Determined(Determined),
    Outcome(Box<Response>),
}

pub struct World {
    random: Random,
    now_ms: u64,
    /// By time, then by when it was planned.
    queue: BTreeMap<(u64, u64), Happening>,
    planned: u64,
    clocks: BTreeMap<Side, u64>,
    timers: BTreeMap<(Side, usize, Timer), u64>,
    pub partner: Vec<Option<Inbound>>,
    pub platform: Vec<Outbound>,
    pub books: BTreeMap<String, i128>,
    postings: BTreeSet<String>,
}

impl World {
    /// Until nothing is under way any more.
    pub fn run(seed: u64, payments: usize) -> World {
        let mut world = World {
            random: Random::of_seed(seed),
            now_ms: DAWN_MS,
            queue: BTreeMap::new(),
            planned: 0,
            clocks: BTreeMap::from([(Side::Partner, SKEW_MS), (Side::Platform, SKEW_MS)]),
            timers: BTreeMap::new(),
            partner: vec![None; payments],
            platform: Vec::new(),
            books: BTreeMap::new(),
            postings: BTreeSet::new(),
        };
        (0..payments).for_each(|payment| world.submit(payment));
        while let Some(((at_ms, _), happening)) = world.queue.pop_first() {
            world.now_ms = world.now_ms.max(at_ms);
            if world.random.percent(2) {
                let skewed_ms = world.random.below(2 * SKEW_MS);
                let side = if world.random.percent(50) { Side::Partner } else { Side::Platform };
                world.clocks.insert(side, skewed_ms);
            }
            world.happen(happening);
        }
        world
    }

    fn clock_ms(&self, side: Side) -> u64 {
        self.now_ms - SKEW_MS + self.clocks[&side]
    }

    fn plan(&mut self, in_ms: u64, happening: Happening) {
        self.planned += 1;
        self.queue.insert((self.now_ms + in_ms, self.planned), happening);
    }

    fn submit(&mut self, at: usize) {
        let kinds = [
            (Kind::Authorisation, Scheme::ZaRtc),
            (Kind::Authorisation, Scheme::ZaRpp),
            (Kind::AuthorisationSync, Scheme::ZaRtc),
            (Kind::CreditTransfer, Scheme::ZaEft),
            (Kind::DirectDebit, Scheme::ZaEft),
        ];
        let (kind, scheme) = kinds[at % kinds.len()];
        let raw = Raw::default()
            .with(Field::Uetr, format!("{:08x}-0000-4000-8000-{:012x}", self.random.next() as u32, at + 1))
            .with(Field::EndToEndIdentification, format!("E2E-{at}"))
            .with(Field::MessageIdentification, format!("M-{at}"))
            .with(Field::PaymentScheme, scheme.name())
            .with(Field::BankSettlementAmountValue, format!("{}.05", self.random.below(100_000)))
            .with(Field::BankSettlementAmountCurrency, "ZAR")
            .with(Field::CreditorAccountProxy, "ada@bank")
            .with(Field::DebtorAccountNumber, "62001");
        let payment = Payment::read(&raw, kind).unwrap();
        let schemes = Scheme::ALL.to_vec();
        let partner = route::Partner { schemes, account_mirroring: false, proxy_management: false };
        let route = route::route(&payment, &partner, route::Mirror::default()).unwrap();
        let step = outbound::submit(payment, route, self.clock_ms(Side::Platform)).unwrap();
        self.platform.push(step.record.clone());
        self.take_outbound(at, step);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Attempt { posted, repeats } => self.attempt(posted, repeats),
            Happening::Ghost(posted) => drop(self.deliver(&posted)),
            Happening::Timer { side, payment, timer, at_ms } => self.fire(side, payment, timer, at_ms),
            Happening::Decide { payment } => self.inbound(payment, inbound::Command::Approve(account())),
            Happening::Settle { payment } => {
                let outcome = if self.random.percent(90) { Outcome::Approved } else { Outcome::Rejected };
                self.settle(payment, outcome);
            }
            Happening::GiveBack { payment } => self.settle(payment, Outcome::Rejected),
        }
    }

    fn settle(&mut self, payment: usize, outcome: Outcome) {
        let settlement = Settlement { outcome, date: Date::of_ms(DAWN_MS) };
        self.outbound(payment, outbound::Command::Settle(settlement));
    }

    fn attempt(&mut self, posted: Posted, repeats: usize) {
        if self.random.percent(15) {
            let in_ms = self.random.below(90_000);
            self.plan(in_ms, Happening::Ghost(posted.clone()));
        }
        // Lost on the way there, broken there, answered, or the answer is lost on the way back.
        let answer = match self.random.below(100) {
            0..15 => None,
            15..20 => Some(Answer::Status(503)),
            20..30 => {
                self.deliver(&posted);
                None
            }
            _ => Some(self.deliver(&posted)),
        };
        let reply = match &answer {
            None => Reply::of_status(None),
            Some(Answer::Status(status)) => Reply::of_status(Some(*status)),
            Some(_) => Reply::Accepted,
        };
        let again = matches!(reply, Reply::Silent | Reply::Broken);
        let in_time = posted.give_up_at_ms.is_none_or(|at_ms| self.clock_ms(posted.from) < at_ms);
        match posted.pauses.between_ms.get(repeats).filter(|_| again && in_time) {
            Some(pause_ms) => {
                let in_ms = u64::from(*pause_ms) + self.random.below(1_000);
                self.plan(in_ms, Happening::Attempt { posted, repeats: repeats + 1 });
            }
            None => self.replied(&posted, reply, answer),
        }
    }

    fn replied(&mut self, posted: &Posted, reply: Reply, answer: Option<Answer>) {
        let payment = posted.payment;
        match (&posted.message, answer) {
            (Message::Response { .. }, _) => self.inbound(payment, inbound::Command::ResponseReply(reply)),
            (Message::Completion { .. }, _) => self.outbound(payment, outbound::Command::CompletionReply(reply)),
            (Message::Determination, Some(Answer::Determined(determined))) => {
                self.outbound(payment, outbound::Command::Determined(determined));
            }
            (Message::Determination, _) => {
                self.outbound(payment, outbound::Command::Determined(Determined::Unanswered(reply)));
            }
            (Message::Payment, Some(Answer::Outcome(response))) => {
                self.outbound(payment, outbound::Command::RequestReply(reply));
                self.outbound(payment, outbound::Command::Respond(response));
            }
            (Message::Payment, _) => self.outbound(payment, outbound::Command::RequestReply(reply)),
        }
    }

    fn deliver(&mut self, posted: &Posted) -> Answer {
        let at = posted.payment;
        match &posted.message {
            Message::Determination if at.is_multiple_of(7) => {
                Answer::Determined(Determined::NoAccount(directory::resolve(None).unwrap_err()))
            }
            Message::Determination => Answer::Determined(Determined::Account(account())),
            Message::Payment => self.receive(at, self.platform[at].payment.clone()),
            Message::Completion { outcome, settlement_date } => {
                let payment = &self.platform[at].payment;
                let completion = Completion {
                    uetr: payment.uetr.clone(),
                    settlement_date: *settlement_date,
                    status: outcome.status(),
                    reason: None,
                    about: About::default(),
                };
                if self.partner[at].is_none() {
                    return Answer::Status(404);
                }
                let command = inbound::Command::Complete(Box::new(completion));
                Answer::Status(self.try_inbound(at, command).map_or(422, |()| 202))
            }
            Message::Response { outcome, reason } => {
                let (uetr, operation) = (self.platform[at].payment.uetr.clone(), posted.operation);
                let response =
                    Response { operation, uetr, outcome: *outcome, reason: reason.clone(), about: About::default() };
                Answer::Status(
                    self.try_outbound(at, outbound::Command::Respond(Box::new(response))).map_or(422, |()| 202),
                )
            }
        }
    }

    fn receive(&mut self, at: usize, payment: Payment) -> Answer {
        let kind = payment.kind;
        if let Some(known) = &self.partner[at] {
            // A repeat may be resolved to an account that the first did not have yet; the world never does that.
            assert_eq!(inbound::receive_again(known, &payment), Ok(()));
        } else {
            let step = inbound::receive(payment, Budgets::default(), self.clock_ms(Side::Partner)).unwrap();
            self.take_inbound(at, step);
        }
        if kind != Kind::AuthorisationSync {
            return Answer::Status(202);
        }
        self.decide(at);
        let record = self.partner[at].as_ref().unwrap();
        match record.outcome() {
            Some((outcome, reason)) => {
                let operation = kind.response();
                Answer::Outcome(Box::new(Response {
                    operation,
                    uetr: record.payment.uetr.clone(),
                    outcome,
                    reason: reason.cloned(),
                    about: About::default(),
                }))
            }
            None => Answer::Status(500),
        }
    }

    /// Most are approved; some are not; some make the bank's system stumble; some take their time.
    fn decide(&mut self, at: usize) {
        match at % 23 {
            0..4 => self.inbound(at, inbound::Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED))),
            4 => self.inbound(at, inbound::Command::GiveUp),
            5 | 6 => {
                let in_ms = self.random.below(70_000);
                self.plan(in_ms, Happening::Decide { payment: at });
            }
            _ => self.inbound(at, inbound::Command::Approve(account())),
        }
    }

    fn fire(&mut self, side: Side, payment: usize, timer: Timer, at_ms: u64) {
        if self.timers.get(&(side, payment, timer)) != Some(&at_ms) {
            return;
        }
        self.timers.remove(&(side, payment, timer));
        match timer {
            Timer::Decide => self.decide(payment),
            Timer::DecisionBudget => self.inbound(payment, inbound::Command::DecisionDue),
            Timer::Completion => self.inbound(payment, inbound::Command::CompletionDue),
            Timer::NoticeAlarm => panic!("no bank's own system is asked here"),
            Timer::Determination => self.outbound(payment, outbound::Command::DeterminationDue),
            Timer::Response => self.outbound(payment, outbound::Command::ResponseDue),
        }
    }

    fn inbound(&mut self, at: usize, command: inbound::Command) {
        let _ = self.try_inbound(at, command);
    }

    fn try_inbound(&mut self, at: usize, command: inbound::Command) -> Result<(), Refusal> {
        let Some(record) = self.partner[at].clone() else { return Ok(()) };
        let step = inbound::step(record, command, self.clock_ms(Side::Partner))?;
        self.take_inbound(at, step);
        Ok(())
    }

    fn take_inbound(&mut self, at: usize, step: Step<Inbound>) {
        self.partner[at] = Some(step.record.clone());
        self.carry_out(Side::Partner, at, step);
    }

    fn outbound(&mut self, at: usize, command: outbound::Command) {
        let _ = self.try_outbound(at, command);
    }

    fn try_outbound(&mut self, at: usize, command: outbound::Command) -> Result<(), Refusal> {
        let step = outbound::step(self.platform[at].clone(), command, self.clock_ms(Side::Platform))?;
        self.take_outbound(at, step);
        Ok(())
    }

    fn take_outbound(&mut self, at: usize, step: Step<Outbound>) {
        self.platform[at] = step.record.clone();
        let approved = step.moves.iter().any(|(_, to)| to.name() == "approved");
        if approved && self.random.percent(95) {
            let in_ms = self.random.below(90_000);
            self.plan(in_ms, Happening::Settle { payment: at });
        }
        // Somebody looks at what did not end well, and tells the partner to let go.
        let is_over = step.moves.iter().any(|(_, to)| matches!(to.name(), "timed_out" | "failed"));
        if is_over {
            let in_ms = self.random.below(90_000);
            self.plan(in_ms, Happening::GiveBack { payment: at });
        }
        self.carry_out(Side::Platform, at, step);
    }

    fn carry_out<R: Staged>(&mut self, side: Side, at: usize, step: Step<R>) {
        assert!(step.moves.iter().all(|(from, to)| from.may_become(*to)));
        for effect in step.effects {
            match effect {
                Effect::Schedule { timer, at_ms } => {
                    self.timers.insert((side, at, timer), at_ms);
                    // By a clock that may be set while it waits: it fires early or late. Never at once again.
                    let in_ms = at_ms.saturating_sub(self.clock_ms(side)).max(1) + self.random.below(50);
                    self.plan(in_ms, Happening::Timer { side, payment: at, timer, at_ms });
                }
                Effect::Cancel(timer) => {
                    self.timers.remove(&(side, at, timer));
                }
                Effect::Send { operation, message, pauses, give_up_at_ms, .. } => {
                    let posted = Posted { from: side, payment: at, operation, message, pauses, give_up_at_ms };
                    let in_ms = pauses.before_ms + self.random.below(1_500);
                    self.plan(in_ms, Happening::Attempt { posted, repeats: 0 });
                }
                Effect::Post(posting) => {
                    assert!(self.postings.insert(posting.id()), "posted twice: {posting:?}");
                    *self.books.entry(posting.debit.name()).or_default() -= i128::from(posting.minor);
                    *self.books.entry(posting.credit.name()).or_default() += i128::from(posting.minor);
                }
                Effect::Emit(_) | Effect::Notify { .. } => {}
            }
        }
    }
}

fn account() -> AccountNumber {
    AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap()
}
