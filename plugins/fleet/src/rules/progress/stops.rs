//! Stops of a tour: each goes from `started` through the configuration by itself; the last one that is done ends the
//! order.

use super::moves::{check_open, check_proved, fail_order};
use super::step::{Effect, Event, Step};
use super::{Progress, Rules, Stop, Taken};
use crate::rules::flow::FAILED;
use crate::rules::proof::Need;
use crate::rules::refusal::Refusal;

/// An activity of the current stop of a started tour.
pub fn take(mut step: Step, rules: Rules<'_>, taken: &Taken) -> Result<Step, Refusal> {
    let stop = current(&step.order)?;
    let (id, from) = (stop.id.clone(), stop.code().to_owned());
    let Some(activity) = rules.flow.follow(&from, &taken.code, rules.fields) else {
        return Err(Refusal::NotNext { from, to: taken.code.clone() });
    };
    let need = Need::of(activity, step.order.demand, Some(stop.demand));
    check_proved(&step.order, need, taken.proof.as_deref(), Some(&id))?;
    mark(&mut step, &id, &taken.code, None);
    if activity.complete {
        step.emit(Event::WaypointCompleted { stop: id });
        advance(&mut step, rules);
    }
    Ok(step)
}

/// The current stop of a started tour has failed.
pub fn fail(mut step: Step, rules: Rules<'_>, reason: &str) -> Result<Step, Refusal> {
    let id = current(&step.order)?.id.clone();
    mark(&mut step, &id, FAILED, Some(reason));
    advance(&mut step, rules);
    Ok(step)
}

/// A stop that is done is no destination any more.
pub fn set_destination(mut step: Step, rules: Rules<'_>, id: &str) -> Result<Step, Refusal> {
    check_open(&step.order, rules)?;
    let found = step.order.find_stop(id, rules.flow).filter(|stop| !stop.is_done(rules.flow));
    let stop = found.map(|stop| stop.id.clone()).ok_or(Refusal::NotADestination)?;
    if step.order.current_stop.as_ref() != Some(&stop) {
        step.order.current_stop = Some(stop);
        step.emit(Event::OrderUpdated);
    }
    Ok(step)
}

fn current(order: &Progress) -> Result<&Stop, Refusal> {
    let found = order.stops.iter().find(|stop| Some(&stop.id) == order.current_stop.as_ref());
    found.ok_or(Refusal::NotADestination)
}

fn mark(step: &mut Step, id: &str, code: &str, failure: Option<&str>) {
    for stop in step.order.stops.iter_mut().filter(|stop| stop.id == id) {
        stop.activity = Some(code.to_owned());
        stop.failure = failure.map(str::to_owned);
    }
    step.then(Effect::Track { stop: Some(id.to_owned()), code: code.to_owned() });
    step.emit(Event::WaypointActivity { stop: id.to_owned() });
}

/// To the next stop that is not done, after the last to those that were left out; or to the end of the order:
/// completed, unless every stop has failed.
fn advance(step: &mut Step, rules: Rules<'_>) {
    let stops = &step.order.stops;
    let here = stops.iter().position(|stop| Some(&stop.id) == step.order.current_stop.as_ref()).unwrap_or_default();
    let onwards = stops.iter().skip(here).chain(stops.iter().take(here));
    if let Some(next) = onwards.into_iter().find(|stop| !stop.is_done(rules.flow)) {
        step.order.current_stop = Some(next.id.clone());
        return;
    }
    let completed = stops.iter().rev().find(|stop| stop.is_completed(rules.flow)).map(|stop| stop.code().to_owned());
    match completed {
        Some(code) => {
            step.go(&code);
            step.free_driver();
            step.emit(Event::OrderCompleted);
        }
        None => {
            let reason = stops.iter().find_map(|stop| stop.failure.clone()).unwrap_or_default();
            fail_order(step, &reason);
        }
    }
}
