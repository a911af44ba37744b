//! A payment as the partner sees it: received, decided, answered, completed (spec/clearing: States and transitions).
//!
//! Owns what each command does in each state. What it never does: un-receive a payment, leave a terminal state, say the
//! opposite of what it said. An approval after the partner's own time is a rejection (AB05), whether or not the timer
//! has fired, so that the outcome does not depend on who was quicker.
//!
//! An EFT credit transfer stays `received` until it is decided, and is `completed` when it is applied. The specification has
//! no edge for one that is not applied: it passes through `processing` to `rejected` (a return) or `failed`.
//!
//! Facts without a state in the specification stand beside the state: a completion that came before the approval, or that did
//! not settle; overdue; how far the response got, and the notification of the bank's own system.

mod answers;
mod money;
mod notices;
#[cfg(test)]
mod tests;

use super::account::AccountNumber;
use super::date::Date;
use super::deadline::{self, Budgets};
use super::event::Event;
use super::kind::Kind;
use super::message::{Completion, Payment};
use super::refusal::Refusal;
use super::state::State;
use super::status::{self, Outcome, StatusReason};
use super::step::{Booking, Delivery, Effect, Ending, Reply, Staged, Step, Timer};

/// What the partner keeps of a payment (spec/clearing: Resources).
#[derive(Clone, Debug, PartialEq)]
pub struct Inbound {
    pub payment: Payment,
    /// Only a step changes it.
    pub state: State,
    pub decision: Decision,
    pub decide_by_ms: u64,
    /// When a completion is overdue; only authorised payments have one.
    pub complete_by_ms: Option<u64>,
    pub overdue: bool,
    pub completion: Option<Settlement>,
    pub response: Delivery,
    /// The bank's own system takes part in the decision, and is notified of the final outcome.
    pub is_bank_consulted: bool,
    /// The notification of the bank's own system.
    pub notice: Delivery,
}

/// What the partner made of it (spec/clearing: transaction_status, status_reason).
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Pending,
    /// Applied to this account.
    Approved(AccountNumber),
    /// Of an EFT credit transfer: to be returned.
    Rejected(StatusReason),
    /// Given up after technical errors: nothing is answered, the payment stands in the report.
    GivenUp,
}

/// The final outcome that a completion reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    pub outcome: Outcome,
    pub reason: Option<StatusReason>,
    pub settlement_date: Date,
    /// False while it waits for the approval, or contradicts a rejection.
    pub applied: bool,
}

/// What can happen to a payment of the partner's (spec/clearing: States and transitions, "Moved by").
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// By the rules, the bank's own system, or the fallback.
    Approve(AccountNumber),
    /// Also where the books refuse the posting of an approval (AM04).
    Reject(StatusReason),
    /// The partner's own time may be over.
    DecisionDue,
    /// The task that decides was given up after technical errors.
    GiveUp,
    Complete(Box<Completion>),
    /// The scheme's time may be over.
    CompletionDue,
    /// How the platform took the response.
    ResponseReply(Reply),
    /// Reply of the bank's own system to the notification.
    NoticeReply(Reply),
    /// An operator sends an undelivered response or notification again.
    Redeliver,
}

impl Staged for Inbound {
    fn state(&self) -> State {
        self.state
    }

    fn set_state(&mut self, state: State) {
        self.state = state;
    }
}

impl Inbound {
    /// What a synchronous authorisation answers, once it is decided.
    pub fn outcome(&self) -> Option<(Outcome, Option<&StatusReason>)> {
        match &self.decision {
            Decision::Approved(_) => Some((Outcome::Approved, None)),
            Decision::Rejected(reason) => Some((Outcome::Rejected, Some(reason))),
            Decision::Pending | Decision::GivenUp => None,
        }
    }

    /// Returns whether the amount is booked in the end, and why not; `None` while that is open.
    pub fn ending(&self) -> Option<Ending> {
        let ending = |booking| Ending { booking, account: None, settlement_date: None, reason: None };
        let account = match &self.decision {
            Decision::Pending => return None,
            Decision::GivenUp => return Some(ending(Booking::Release)),
            Decision::Rejected(reason) => {
                return Some(Ending { reason: Some(reason.clone()), ..ending(Booking::Release) });
            }
            Decision::Approved(account) => Some(account.clone()),
        };
        if !self.payment.kind.is_authorised() {
            return Some(Ending { account, ..ending(Booking::Post) });
        }
        let settlement = self.completion.as_ref()?;
        let booking = match settlement.outcome {
            Outcome::Approved => Booking::Post,
            Outcome::Rejected => Booking::Release,
        };
        let settlement_date = Some(settlement.settlement_date);
        Some(Ending { booking, account, settlement_date, reason: settlement.reason.clone() })
    }
}

/// A payment that was never seen before: stored, and with that acknowledged.
pub fn receive(payment: Payment, budgets: Budgets, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    let decide_by_ms = deadline::decide_by_ms(&payment, budgets, now_ms);
    let mut step = Step::of(Inbound {
        state: State::Received,
        decision: Decision::Pending,
        decide_by_ms,
        complete_by_ms: deadline::complete_by_ms(&payment, now_ms),
        overdue: false,
        completion: None,
        response: Delivery::NotDue,
        is_bank_consulted: false,
        notice: Delivery::NotDue,
        payment,
    });
    if step.record.payment.kind == Kind::CreditTransfer {
        money::receive(&mut step);
    } else {
        step.go(State::Processing)?;
    }
    let received = Event::received(&step.record.payment);
    step.then(Effect::Emit(received));
    // A synchronous authorisation is decided before it is answered.
    if step.record.payment.kind != Kind::AuthorisationSync {
        step.then(Effect::Schedule { timer: Timer::Decide, at_ms: now_ms });
    }
    step.then(Effect::Schedule { timer: Timer::DecisionBudget, at_ms: decide_by_ms });
    Ok(step)
}

/// A payment whose uetr is known. `Ok`: the same again, the first answer stands for it too.
pub fn receive_again(known: &Inbound, again: &Payment) -> Result<(), Refusal> {
    if known.payment.kind != again.kind {
        return Err(Refusal::UetrTaken { by: known.payment.kind });
    }
    known.payment.content().check_repeat(&again.content())
}

/// What a command makes of a payment; the tables of every situation and command stand in the tests.
pub fn step(record: Inbound, command: Command, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    let step = Step::of(record);
    match command {
        Command::Approve(account) if now_ms < step.record.decide_by_ms => approve(step, account, now_ms),
        Command::Approve(account) => approve_late(step, &account, now_ms),
        Command::Reject(reason) => reject(step, reason, now_ms),
        Command::DecisionDue => expire(step, now_ms),
        Command::GiveUp => give_up(step),
        Command::Complete(completion) => complete(step, &completion),
        Command::CompletionDue => mark_overdue(step, now_ms),
        Command::ResponseReply(reply) => answers::replied(step, reply, now_ms),
        Command::NoticeReply(reply) => Ok(notices::replied(step, reply, now_ms)),
        Command::Redeliver => redeliver(step, now_ms),
    }
}

fn approve(mut step: Step<Inbound>, account: AccountNumber, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    match &step.record.decision {
        Decision::Pending => {}
        Decision::Approved(known) if *known == account => return Ok(step),
        _ => return Err(Refusal::AlreadyDecided),
    }
    // An EFT credit transfer is applied with its approval. One that an earlier version stored is completed already.
    match (step.record.payment.kind, step.record.state) {
        (Kind::CreditTransfer, State::Received) => step.go(State::Completed)?,
        (Kind::CreditTransfer, _) => {}
        _ => step.go(State::Approved)?,
    }
    step.record.decision = Decision::Approved(account.clone());
    step.then(Effect::Cancel(Timer::DecisionBudget));
    money::approve(&mut step, &account);
    answers::answer(&mut step, now_ms);
    match (step.record.completion.clone(), step.record.complete_by_ms) {
        (Some(settlement), _) => settle(&mut step, settlement)?,
        (None, Some(at_ms)) => step.then(Effect::Schedule { timer: Timer::Completion, at_ms }),
        (None, None) => {}
    }
    notices::notify(&mut step);
    Ok(step)
}

/// Repeats of what was decided in time are not late.
fn approve_late(step: Step<Inbound>, account: &AccountNumber, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    match &step.record.decision {
        Decision::Pending => expire(step, now_ms),
        Decision::Approved(known) if known == account => Ok(step),
        _ => Err(Refusal::AlreadyDecided),
    }
}

fn reject(mut step: Step<Inbound>, reason: StatusReason, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    match &step.record.decision {
        Decision::Pending => {}
        // The first reason stands.
        Decision::Rejected(_) => return Ok(step),
        Decision::Approved(_) | Decision::GivenUp => return Err(Refusal::AlreadyDecided),
    }
    end(&mut step, State::Rejected)?;
    step.record.decision = Decision::Rejected(reason);
    agree(&mut step);
    step.then(Effect::Cancel(Timer::DecisionBudget));
    money::reject(&mut step);
    answers::answer(&mut step, now_ms);
    notices::notify(&mut step);
    Ok(step)
}

/// Ends a payment that is not applied. An EFT credit transfer has no edge of its own for that, and passes through `processing`.
/// A transfer that an earlier version stored is already completed.
fn end(step: &mut Step<Inbound>, last: State) -> Result<(), Refusal> {
    match step.record.state {
        State::Completed => return Ok(()),
        State::Received => step.go(State::Processing)?,
        _ => {}
    }
    step.go(last)
}

/// A timer that fires early waits; one that fires late finds the decision made.
fn expire(mut step: Step<Inbound>, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    if step.record.decision != Decision::Pending {
        return Ok(step);
    }
    let at_ms = step.record.decide_by_ms;
    if now_ms < at_ms {
        step.then(Effect::Schedule { timer: Timer::DecisionBudget, at_ms });
        return Ok(step);
    }
    reject(step, StatusReason::of(status::DECISION_TIMEOUT), now_ms)
}

/// The specification has no response for it: a synchronous caller gets an error, an asynchronous one times out.
fn give_up(mut step: Step<Inbound>) -> Result<Step<Inbound>, Refusal> {
    if step.record.decision != Decision::Pending {
        return Ok(step);
    }
    end(&mut step, State::Failed)?;
    step.record.decision = Decision::GivenUp;
    agree(&mut step);
    step.then(Effect::Cancel(Timer::DecisionBudget));
    notices::notify(&mut step);
    Ok(step)
}

/// A completion that came before and said that nothing is settled has said the same: nothing is held.
fn agree(step: &mut Step<Inbound>) {
    if let Some(settlement) = &mut step.record.completion {
        settlement.applied = settlement.outcome == Outcome::Rejected;
    }
}

fn complete(mut step: Step<Inbound>, completion: &Completion) -> Result<Step<Inbound>, Refusal> {
    let record = &step.record;
    if !record.payment.kind.is_authorised() {
        return Err(Refusal::WrongOperation);
    }
    let fields = completion.contradictions(&record.payment);
    if !fields.is_empty() {
        return Err(Refusal::Differs { fields });
    }
    // PENDING is not final: the hold stays, and a completion with the outcome follows or has come before.
    let Some(outcome) = completion.outcome() else { return Ok(step) };
    if let Some(known) = &record.completion {
        return if known.outcome == outcome { Ok(step) } else { Err(Refusal::AlreadyDecided) };
    }
    let settlement = Settlement {
        outcome,
        reason: completion.reason.clone(),
        settlement_date: completion.settlement_date,
        applied: false,
    };
    match (record.state, outcome) {
        (State::Approved, _) => {
            settle(&mut step, settlement)?;
            notices::notify(&mut step);
        }
        // It has overtaken the approval: kept, and applied after it.
        (State::Processing, _) => step.record.completion = Some(settlement),
        // Nothing was settled and nothing is held: both sides agree.
        (State::Rejected | State::Failed, Outcome::Rejected) => {
            step.record.completion = Some(Settlement { applied: true, ..settlement });
        }
        (state, _) => return Err(Refusal::NotPossible { state }),
    }
    Ok(step)
}

/// Of an approved payment, and final for it.
fn settle(step: &mut Step<Inbound>, settlement: Settlement) -> Result<(), Refusal> {
    if settlement.outcome == Outcome::Approved {
        step.go(State::Completed)?;
        let completed = Event::completed(&step.record.payment, settlement.settlement_date);
        step.then(Effect::Emit(completed));
    }
    money::settle(step, settlement.outcome);
    step.then(Effect::Cancel(Timer::Completion));
    step.record.overdue = false;
    step.record.completion = Some(Settlement { applied: true, ..settlement });
    Ok(())
}

/// No timeout leads out of `approved`: overdue is a mark.
fn mark_overdue(mut step: Step<Inbound>, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    let Some(at_ms) = step.record.complete_by_ms else { return Ok(step) };
    if step.record.state != State::Approved || step.record.completion.is_some() {
        return Ok(step);
    }
    if now_ms < at_ms {
        step.then(Effect::Schedule { timer: Timer::Completion, at_ms });
    } else {
        step.record.overdue = true;
    }
    Ok(step)
}

/// Sends undelivered messages again: the response, the notification, or both.
fn redeliver(mut step: Step<Inbound>, now_ms: u64) -> Result<Step<Inbound>, Refusal> {
    let (response, notice) = (step.record.response, step.record.notice);
    if response != Delivery::Undelivered && notice != Delivery::Undelivered {
        return Err(Refusal::NotPossible { state: step.record.state });
    }
    if response == Delivery::Undelivered {
        answers::send(&mut step, now_ms);
    }
    if notice == Delivery::Undelivered {
        notices::send(&mut step);
    }
    Ok(step)
}
