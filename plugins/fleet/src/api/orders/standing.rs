//! Where an order stands: from what is stored to what the rules move, and back.
//!
//! Never stores anything, and never decides: what a step made of an order is written as it is.

use tenon_plugin::json::Object;
use tenon_plugin::{Stop, time};

use crate::records::orders::{OFFERED, flag, text};
use crate::records::payloads::{Payload, StoredStop};
use crate::rules::flow::Flow;
use crate::rules::order::ProofMethod;
use crate::rules::progress::{Progress, Stop as RuleStop};
use crate::rules::proof::{Captured, Demand};

/// An older version kept no pointer, or only the place that it points at: the order goes on at the first stop there, or
/// anywhere, that is not done.
pub fn point(order: &Object, payload: &mut Payload) -> Result<(), Stop> {
    if text(&payload.body, "current_stop").is_some() || time_of(order, "started_at").is_none() {
        return Ok(());
    }
    let place = text(&payload.body, "current_waypoint");
    let open = || payload.route.stops().filter(|stop| !stop.complete && stop.failure.is_none());
    let there = open().find(|stop| Some(&stop.place) == place.as_ref());
    let Some(stop) = there.or_else(|| open().next()).cloned() else { return Ok(()) };
    payload.body.set("current_waypoint", &stop.place)?;
    payload.body.set("current_stop", &stop.id)
}

pub fn read(order: &Object, payload: &Payload, proofs: Vec<Captured>) -> Progress {
    Progress {
        status: text(order, "status").unwrap_or_default(),
        driver: text(order, "driver_assigned"),
        adhoc: flag(order, "adhoc"),
        demand: demand(order),
        scheduled_at_ms: time_of(order, "scheduled_at"),
        dispatched_at_ms: time_of(order, "dispatched_at"),
        started_at_ms: time_of(order, "started_at"),
        stops: payload.route.as_rules(),
        current_stop: text(&payload.body, "current_stop"),
        proofs,
        failure: text(order, "failure"),
    }
}

/// What the order as a whole wants proved.
pub fn demand(order: &Object) -> Demand {
    let method = text(order, "pod_method").and_then(|name| ProofMethod::of_name(&name).ok());
    Demand { wanted: flag(order, "pod_required").into(), method }
}

/// Milliseconds of a stored time.
pub fn time_of(order: &Object, field: &str) -> Option<u64> {
    text(order, field).as_deref().and_then(time::parse)
}

pub fn write(progress: &Progress, flow: &Flow, order: &mut Object<'static>, payload: &mut Payload) -> Result<(), Stop> {
    order.set("status", &progress.status)?;
    order.set("driver_assigned", &progress.driver)?;
    order.set("dispatched", &progress.is_dispatched())?;
    order.set("started", &progress.is_started())?;
    order.set("failure", &progress.failure)?;
    for (field, at_ms) in [
        ("scheduled_at", progress.scheduled_at_ms),
        ("dispatched_at", progress.dispatched_at_ms),
        ("started_at", progress.started_at_ms),
    ] {
        order.set(field, &at_ms.map(time::to_text))?;
    }
    let seen_by = progress.driver.as_deref().or(progress.is_offered(flow).then_some(OFFERED));
    order.set("seen_by", &seen_by)?;
    order.set("open", &progress.ending(flow).is_none())?;
    order.set("days", &days(progress, order))?;
    for (stored, moved) in payload.route.stops_mut().zip(&progress.stops) {
        write_stop(stored, moved, flow);
    }
    let current = progress.current_stop.as_deref().and_then(|id| payload.route.find(id));
    let place = current.map(|stop| stop.place.clone());
    payload.body.set("current_waypoint", &place)?;
    payload.body.set("current_stop", &progress.current_stop)
}

/// When it was created and when it is scheduled, as a list looks for it.
fn days(progress: &Progress, order: &Object) -> Vec<String> {
    let created = time_of(order, "created_at");
    let times = created.into_iter().chain(progress.scheduled_at_ms);
    let mut days: Vec<String> = times.map(|at_ms| time::to_text(at_ms).chars().take(10).collect()).collect();
    days.dedup();
    days
}

/// Both lists are in the order of the tour.
fn write_stop(stored: &mut StoredStop, moved: &RuleStop, flow: &Flow) {
    stored.activity.clone_from(&moved.activity);
    stored.failure.clone_from(&moved.failure);
    stored.complete = moved.is_completed(flow);
}
