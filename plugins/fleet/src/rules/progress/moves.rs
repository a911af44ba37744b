//! The commands, one function each.

use super::step::{Effect, Event, Step};
use super::stops;
use super::{Command, Progress, REASON_CHARS_MAX, Rules, Taken};
use crate::rules::flow::{Activity, CANCELED, CREATED, DISPATCHED, FAILED, STARTED};
use crate::rules::invalid::Invalid;
use crate::rules::proof::Need;
use crate::rules::refusal::Refusal;
use crate::rules::text::check_lines;

type Moved = Result<Step, Refusal>;

/// A new order, which is dispatched with it where the caller says so: then it needs whom to dispatch it to.
pub fn create(order: Progress, dispatched: Option<Rules<'_>>, now_ms: u64) -> Moved {
    let mut step = Step::of(Progress { status: CREATED.to_owned(), ..order });
    step.moves.push((None, CREATED.to_owned()));
    step.then(Effect::Track { stop: None, code: CREATED.to_owned() });
    step.emit(Event::OrderCreated);
    if step.order.driver.is_some() {
        step.emit(Event::DriverAssigned);
    }
    match dispatched {
        Some(rules) => dispatch(step, rules, Refusal::NoDriverToDispatch, now_ms),
        None => Ok(step),
    }
}

/// What a command makes of an order; every edge stands in `edges`.
pub fn step(order: Progress, command: Command, rules: Rules<'_>, now_ms: u64) -> Moved {
    let step = Step::of(order);
    match command {
        Command::Dispatch => dispatch(step, rules, Refusal::NoDriverToDispatch, now_ms),
        Command::Schedule { at_ms } => schedule(step, rules, at_ms),
        Command::Start { driver, skip_dispatch } => {
            start(step, rules, &Taken { driver, skip_dispatch, ..Taken::default() }, now_ms)
        }
        Command::Take(taken) => take(step, rules, &taken, now_ms),
        Command::SetStatus(code) => set_status(step, rules, code, now_ms),
        Command::Complete => complete(step, rules),
        Command::Cancel => cancel(step, rules),
        Command::SetDestination(id) => stops::set_destination(step, rules, &id),
        Command::Assign(driver) => assign(step, rules, driver),
    }
}

pub(super) fn check_open(order: &Progress, rules: Rules<'_>) -> Result<(), Refusal> {
    order.ending(rules.flow).map_or(Ok(()), |ending| Err(Refusal::Ended(ending)))
}

fn check_follows<'a>(from: &str, to: &str, rules: Rules<'a>) -> Result<&'a Activity, Refusal> {
    let found = rules.flow.follow(from, to, rules.fields);
    found.ok_or_else(|| Refusal::NotNext { from: from.to_owned(), to: to.to_owned() })
}

/// Whether it would be dispatched if somebody asked.
pub fn is_ready(order: &Progress, rules: Rules<'_>) -> bool {
    check_ready(order, rules, Refusal::NoDriverToDispatch).is_ok()
}

fn check_ready(order: &Progress, rules: Rules<'_>, nobody: Refusal) -> Result<(), Refusal> {
    check_open(order, rules)?;
    if order.is_dispatched() {
        return Err(Refusal::AlreadyDispatched);
    }
    if order.is_started() {
        return Err(Refusal::AlreadyStarted);
    }
    if order.driver.is_none() && !order.adhoc {
        return Err(nobody);
    }
    check_follows(&order.status, DISPATCHED, rules).map(|_| ())
}

fn dispatch(mut step: Step, rules: Rules<'_>, nobody: Refusal, now_ms: u64) -> Moved {
    check_ready(&step.order, rules, nobody)?;
    step.order.dispatched_at_ms = Some(now_ms);
    step.go(DISPATCHED);
    step.emit(Event::OrderDispatched);
    if step.order.driver.is_none() {
        step.then(Effect::PingDrivers);
    }
    Ok(step)
}

/// An order that is under way has its time behind it.
fn schedule(mut step: Step, rules: Rules<'_>, at_ms: Option<u64>) -> Moved {
    check_open(&step.order, rules)?;
    if step.order.is_started() {
        return Err(Refusal::AlreadyStarted);
    }
    if step.order.scheduled_at_ms != at_ms {
        step.order.scheduled_at_ms = at_ms;
        step.emit(Event::OrderUpdated);
    }
    Ok(step)
}

fn start(mut step: Step, rules: Rules<'_>, taken: &Taken, now_ms: u64) -> Moved {
    let driver = driver_who_starts(&step.order, taken.driver.as_deref());
    // That somebody else was first is told before anything else of the order.
    if driver == Err(Refusal::TakenByAnother) {
        return Err(Refusal::TakenByAnother);
    }
    check_open(&step.order, rules)?;
    if step.order.is_started() {
        return Err(Refusal::AlreadyStarted);
    }
    let driver = driver?;
    let skipped = taken.skip_dispatch && !step.order.is_dispatched();
    if skipped {
        check_follows(&step.order.status, DISPATCHED, rules)?;
        check_follows(DISPATCHED, STARTED, rules)?;
    } else if step.order.is_dispatched() {
        check_follows(&step.order.status, STARTED, rules)?;
    } else {
        return Err(Refusal::NotDispatched);
    }
    if step.order.driver.is_none() {
        step.emit(Event::DriverAssigned);
    }
    step.order.driver = Some(driver.clone());
    step.order.started_at_ms = Some(now_ms);
    step.order.current_stop = step.order.stops.first().map(|stop| stop.id.clone());
    step.go(STARTED);
    step.then(Effect::TakeJob { driver });
    step.emit(Event::OrderStarted);
    Ok(step)
}

/// The driver that the order has, or who accepts it.
fn driver_who_starts(order: &Progress, accepts: Option<&str>) -> Result<String, Refusal> {
    match (order.driver.as_deref(), accepts) {
        (Some(has), Some(accepts)) if has != accepts => {
            Err(if order.adhoc { Refusal::TakenByAnother } else { Refusal::NotAdhoc })
        }
        (Some(has), _) => Ok(has.to_owned()),
        (None, Some(accepts)) if order.adhoc => Ok(accepts.to_owned()),
        (None, None) if order.adhoc => Err(Refusal::NobodyAccepts),
        (None, _) => Err(Refusal::NoDriver),
    }
}

fn take(step: Step, rules: Rules<'_>, taken: &Taken, now_ms: u64) -> Moved {
    match taken.code.as_str() {
        DISPATCHED => dispatch(step, rules, Refusal::NoDriverForDispatch, now_ms),
        STARTED => start(step, rules, taken, now_ms),
        CANCELED => cancel(step, rules),
        FAILED => fail(step, rules, taken.reason.as_deref()),
        _ => take_other(step, rules, taken),
    }
}

fn take_other(mut step: Step, rules: Rules<'_>, taken: &Taken) -> Moved {
    check_open(&step.order, rules)?;
    if rules.flow.find(&taken.code).is_none() {
        return Err(Invalid::Not { field: "activity", kind: "one of the order configuration" }.into());
    }
    if step.order.has_tour() && step.order.is_started() {
        return stops::take(step, rules, taken);
    }
    let activity = match check_follows(&step.order.status, &taken.code, rules) {
        Err(_) if step.order.has_tour() => return Err(Refusal::StopsNotStarted),
        followed => followed?,
    };
    finish_or_go(&mut step, activity, taken.proof.as_deref())?;
    Ok(step)
}

fn finish_or_go(step: &mut Step, activity: &Activity, proof: Option<&str>) -> Result<(), Refusal> {
    check_proved(&step.order, Need::of(activity, step.order.demand, None), proof, None)?;
    step.go(&activity.code);
    if activity.complete {
        step.free_driver();
        step.emit(Event::OrderCompleted);
    } else {
        step.emit(Event::OrderUpdated);
    }
    Ok(())
}

/// `named`: the proof that the caller points at, which must be one of the order. Without a word any that fits will do.
pub(super) fn check_proved(
    order: &Progress,
    need: Option<Need>,
    named: Option<&str>,
    stop: Option<&str>,
) -> Result<(), Refusal> {
    if named.is_some_and(|named| order.proofs.iter().all(|proof| proof.id != named)) {
        return Err(Invalid::Not { field: "proof", kind: "a proof of the order" }.into());
    }
    let Some(need) = need else { return Ok(()) };
    let mut eligible = order.proofs.iter().filter(|proof| named.is_none_or(|named| proof.id == named));
    if eligible.any(|proof| need.is_met_by(proof, stop)) { Ok(()) } else { Err(Refusal::ProofRequired(need.0)) }
}

/// The same as it is changes nothing; anything else is an activity like any other.
fn set_status(step: Step, rules: Rules<'_>, code: String, now_ms: u64) -> Moved {
    if step.order.status == code {
        return Ok(step);
    }
    let is_end = code == CANCELED || code == FAILED;
    // The order's own status; its stops are moved by update-activity.
    if step.order.has_tour() && step.order.is_started() && !is_end && rules.flow.find(&code).is_some() {
        check_open(&step.order, rules)?;
        return Err(match rules.flow.completes(&code) {
            true => Refusal::StopsNotCompleted,
            false => Refusal::NotNext { from: step.order.status, to: code },
        });
    }
    take(step, rules, &Taken { code, ..Taken::default() }, now_ms).map_err(told_of_status)
}

/// Who sets a status has sent no activity, and no reason.
fn told_of_status(refused: Refusal) -> Refusal {
    let Refusal::Invalid(faults) = refused else { return refused };
    let as_sent = |fault| match fault {
        Invalid::Required("reason") => {
            let why = "an order fails by update-activity, which takes the reason".to_owned();
            Invalid::NotAccepted { field: "status", why }
        }
        fault => fault.renamed("activity", "status"),
    };
    Refusal::Invalid(faults.into_iter().map(as_sent).collect())
}

/// Takes the completing activity that comes next, the first where there are several.
fn complete(mut step: Step, rules: Rules<'_>) -> Moved {
    check_open(&step.order, rules)?;
    if !step.order.is_started() {
        return Err(Refusal::NotStarted);
    }
    // The last stop that is done completes the order: while it is open, one is not.
    if step.order.has_tour() {
        return Err(Refusal::StopsNotCompleted);
    }
    let next = rules.flow.after(&step.order.status, rules.fields);
    let Some(activity) = next.into_iter().find(|activity| activity.complete) else {
        let completing = rules.flow.activities().iter().find(|activity| activity.complete);
        let to = completing.map(|activity| activity.code.clone()).unwrap_or_default();
        return Err(Refusal::NotNext { from: step.order.status, to });
    };
    finish_or_go(&mut step, activity, None)?;
    Ok(step)
}

fn cancel(mut step: Step, rules: Rules<'_>) -> Moved {
    check_open(&step.order, rules)?;
    step.go(CANCELED);
    step.free_driver();
    step.emit(Event::OrderCanceled);
    Ok(step)
}

/// On a tour the current stop fails, and the tour goes on.
fn fail(mut step: Step, rules: Rules<'_>, reason: Option<&str>) -> Moved {
    check_open(&step.order, rules)?;
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).ok_or(Invalid::Required("reason"))?;
    check_lines("reason", reason, REASON_CHARS_MAX)?;
    if step.order.has_tour() && step.order.is_started() {
        return stops::fail(step, rules, reason);
    }
    fail_order(&mut step, reason);
    Ok(step)
}

pub(super) fn fail_order(step: &mut Step, reason: &str) {
    step.order.failure = Some(reason.to_owned());
    step.go(FAILED);
    step.free_driver();
    step.emit(Event::OrderFailed);
}

/// An order that was dispatched goes from one driver to another, never to nobody, unless it is offered to all.
fn assign(mut step: Step, rules: Rules<'_>, driver: Option<String>) -> Moved {
    if step.order.driver == driver {
        return Ok(step);
    }
    check_open(&step.order, rules)?;
    // What was handed over stays in somebody's hands, or is offered.
    let is_offered = step.order.adhoc && !step.order.is_started();
    if driver.is_none() && step.order.is_dispatched() && !is_offered || driver.is_none() && step.order.is_started() {
        return Err(Refusal::NoDriver);
    }
    step.free_driver();
    step.order.driver = driver;
    if let Some(driver) = step.order.driver.clone() {
        if step.order.is_started() {
            step.then(Effect::TakeJob { driver });
        }
        step.emit(Event::DriverAssigned);
    }
    Ok(step)
}
