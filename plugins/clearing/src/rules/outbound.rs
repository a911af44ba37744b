//! A payment as the platform sees it: submitted, sent, answered, settled (spec/clearing: Flows, States and transitions).
//!
//! Owns what each command does in each state. `timed_out` exists here alone: a request that was not acknowledged after
//! its repeats, or no response by the scheme's time. Invariant: a response and a timeout never both win: a response
//! after that time is refused, whether or not the timer has fired.
//!
//! What the specification has no state for stands beside the state: whether the partner has the payment; the response to an
//! EFT credit transfer (a rejection asks for a return); a settlement that failed; overdue; how far a message got.

pub mod replies;
pub mod route;
mod sending;
#[cfg(test)]
mod tests;

use super::date::Date;
use super::event::Event;
use super::kind::Kind;
use super::limits::DETERMINATION_MS;
use super::message::{Payment, Response};
use super::refusal::Refusal;
use super::state::State;
use super::status::{self, Outcome, StatusReason};
use super::step::{Delivery, Effect, Reply, Staged, Step, Timer};
use replies::Determined;
use route::Route;

/// What the platform keeps of a payment (spec/clearing: Resources).
#[derive(Clone, Debug, PartialEq)]
pub struct Outbound {
    pub payment: Payment,
    /// Only a step changes it.
    pub state: State,
    pub stage: Stage,
    /// The partner has said, in whatever way, that it has the payment.
    pub received: bool,
    /// When the stage has to be over: the proxy resolved, the response there. Only authorised payments have one.
    pub due_by_ms: Option<u64>,
    /// Approved, and not settled in time.
    pub overdue: bool,
    /// Why it was rejected or timed out.
    pub reason: Option<StatusReason>,
    pub response: Option<Answer>,
    pub settlement: Option<Settlement>,
    /// Of the EFT message or of the completion: what must be delivered.
    pub delivery: Delivery,
}

/// What the partner is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Which account a proxy stands for.
    Determination,
    /// To take the payment.
    Request,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Determination => "determination",
            Stage::Request => "request",
        }
    }

    pub fn of_name(name: &str) -> Option<Stage> {
        [Stage::Determination, Stage::Request].into_iter().find(|stage| stage.name() == name)
    }
}

/// What the partner answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    pub reason: Option<StatusReason>,
}

/// What became of an approved payment at the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub outcome: Outcome,
    pub date: Date,
}

/// What can happen to a payment of the platform's (spec/clearing: States and transitions, "Moved by").
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// How the partner took the question for an account.
    Determined(Determined),
    /// How the partner took the payment.
    RequestReply(Reply),
    /// Posted by the partner, or the answer to a synchronous authorisation.
    Respond(Box<Response>),
    /// The time of the determination may be over.
    DeterminationDue,
    /// The scheme's time may be over: for the response, or for the settlement after it.
    ResponseDue,
    /// The scheme has settled the payment, or refused to.
    Settle(Settlement),
    /// How the partner took the completion.
    CompletionReply(Reply),
    /// An operator sends an undelivered message again.
    Redeliver,
}

impl Staged for Outbound {
    fn state(&self) -> State {
        self.state
    }

    fn set_state(&mut self, state: State) {
        self.state = state;
    }
}

/// A new payment, on the way that [`route::route`] has found for it. A way that ends at once ends as a rejection of which
/// the partner sees nothing.
pub fn submit(payment: Payment, route: Route, now_ms: u64) -> Result<Step<Outbound>, Refusal> {
    let mut step = Step::of(Outbound {
        state: State::Received,
        stage: Stage::Request,
        received: false,
        due_by_ms: None,
        overdue: false,
        reason: None,
        response: None,
        settlement: None,
        delivery: Delivery::NotDue,
        payment,
    });
    // An EFT credit transfer has no processing: it is received until the partner has applied it, and then completed.
    if step.record.payment.kind != Kind::CreditTransfer {
        step.go(State::Processing)?;
    }
    match route {
        Route::Reject(reason) => {
            step.go(State::Rejected)?;
            step.record.reason = Some(reason);
        }
        Route::Determine => {
            let at_ms = now_ms.saturating_add(DETERMINATION_MS);
            step.record.stage = Stage::Determination;
            step.record.due_by_ms = Some(at_ms);
            sending::determination(&mut step, at_ms);
            step.then(Effect::Schedule { timer: Timer::Determination, at_ms });
        }
        Route::Send(account) => sending::to_account(&mut step, account, now_ms),
    }
    Ok(step)
}

/// What a command makes of a payment; the tables of every situation and command stand in the tests.
pub fn step(record: Outbound, command: Command, now_ms: u64) -> Result<Step<Outbound>, Refusal> {
    let step = Step::of(record);
    match command {
        Command::Determined(determined) => replies::determined(step, determined, now_ms),
        Command::RequestReply(reply) => replies::request(step, reply),
        Command::Respond(response) => respond(step, *response, now_ms),
        Command::DeterminationDue => expire(step, Stage::Determination, now_ms),
        Command::ResponseDue => expire(step, Stage::Request, now_ms),
        Command::Settle(settlement) => settle(step, settlement),
        Command::CompletionReply(reply) => replies::completion(step, reply),
        Command::Redeliver => sending::redeliver(step),
    }
}

fn respond(mut step: Step<Outbound>, response: Response, now_ms: u64) -> Result<Step<Outbound>, Refusal> {
    let record = &step.record;
    if response.operation != record.payment.kind.response() {
        return Err(Refusal::WrongOperation);
    }
    let fields = response.contradictions(&record.payment);
    if !fields.is_empty() {
        return Err(Refusal::Differs { fields });
    }
    if let Some(known) = &record.response {
        // Repeats of messages were compared before. What is said here once more was said in the answer to a synchronous
        // authorisation, whose reason stands.
        return if known.outcome == response.outcome { Ok(step) } else { Err(Refusal::AlreadyDecided) };
    }
    let in_time = record.due_by_ms.is_none_or(|at_ms| now_ms < at_ms);
    match (record.payment.kind, record.state) {
        (Kind::CreditTransfer, State::Received) => {
            replies::mark_received(&mut step)?;
            match response.outcome {
                Outcome::Approved => step.go(State::Completed)?,
                // The specification has no edge for a credit that is not applied: it passes through `processing`.
                Outcome::Rejected => {
                    step.go(State::Processing)?;
                    step.go(State::Rejected)?;
                    step.record.reason = response.reason.clone();
                }
            }
        }
        // An earlier version completed it with its acknowledgement.
        (Kind::CreditTransfer, State::Completed) => {}
        (_, State::Processing) if record.stage == Stage::Request && in_time => {
            replies::mark_received(&mut step)?;
            decide(&mut step, &response)?;
        }
        (_, State::TimedOut) => return Err(Refusal::TooLate),
        (_, State::Processing) if !in_time => return Err(Refusal::TooLate),
        (_, state) => return Err(Refusal::NotPossible { state }),
    }
    step.record.response = Some(Answer { outcome: response.outcome, reason: response.reason });
    Ok(step)
}

fn decide(step: &mut Step<Outbound>, response: &Response) -> Result<(), Refusal> {
    match response.outcome {
        // The timer goes on: from now on it marks a settlement that is overdue.
        Outcome::Approved => step.go(State::Approved)?,
        Outcome::Rejected => {
            step.go(State::Rejected)?;
            step.record.reason = response.reason.clone();
            step.then(Effect::Cancel(Timer::Response));
        }
    }
    if step.record.payment.kind.is_authorised() {
        let responded = Event::responded(&step.record.payment, response.outcome, response.reason.as_ref());
        step.then(Effect::Emit(responded));
    }
    Ok(())
}

/// A timer that fires early waits; one of a stage that is over changes nothing.
fn expire(mut step: Step<Outbound>, stage: Stage, now_ms: u64) -> Result<Step<Outbound>, Refusal> {
    let Some(at_ms) = step.record.due_by_ms.filter(|_| step.record.stage == stage) else { return Ok(step) };
    let awaited = match step.record.state {
        State::Processing => true,
        State::Approved => step.record.settlement.is_none() && !step.record.overdue,
        _ => false,
    };
    if !awaited {
        return Ok(step);
    }
    if now_ms < at_ms {
        let timer = if stage == Stage::Determination { Timer::Determination } else { Timer::Response };
        step.then(Effect::Schedule { timer, at_ms });
    } else if step.record.state == State::Approved {
        step.record.overdue = true;
    } else {
        time_out(&mut step)?;
    }
    Ok(step)
}

/// AB01 tells the scheme that the proxy was not resolved, AB05 that the payment was not answered.
fn time_out(step: &mut Step<Outbound>) -> Result<(), Refusal> {
    step.go(State::TimedOut)?;
    let (timer, code) = match step.record.stage {
        Stage::Determination => (Timer::Determination, status::CLEARING_TIMEOUT),
        Stage::Request => (Timer::Response, status::DECISION_TIMEOUT),
    };
    step.record.reason = Some(StatusReason::of(code));
    step.then(Effect::Cancel(timer));
    Ok(())
}

fn settle(mut step: Step<Outbound>, settlement: Settlement) -> Result<Step<Outbound>, Refusal> {
    if !step.record.payment.kind.is_authorised() {
        return Err(Refusal::WrongOperation);
    }
    if let Some(known) = step.record.settlement {
        return if known.outcome == settlement.outcome { Ok(step) } else { Err(Refusal::AlreadyDecided) };
    }
    match (step.record.state, settlement.outcome) {
        (State::Approved, Outcome::Approved) => {
            step.go(State::Completed)?;
            let completed = Event::completed(&step.record.payment, settlement.date);
            step.then(Effect::Emit(completed));
        }
        (State::Approved, Outcome::Rejected) => {}
        // The partner may have approved what is over here, and nobody else tells it that nothing is settled. Beside the state.
        (State::TimedOut | State::Failed, Outcome::Rejected) if step.record.stage == Stage::Request => {}
        (state, _) => return Err(Refusal::NotPossible { state }),
    }
    step.record.settlement = Some(settlement);
    step.record.overdue = false;
    step.then(Effect::Cancel(Timer::Response));
    sending::completion(&mut step, settlement);
    Ok(step)
}
