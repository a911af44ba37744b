//! Waypoints: create, list, read, update, delete (research/fleet 1.1.2, 1.5). Each is a stop of a payload's tour.
//!
//! Owns no rule of its own: a changed tour is a changed payload, with what that may and may not be, and is told as one.
//! Pickup and dropoff are the payload's; nothing of them changes here.

mod place;
pub mod shown;
#[cfg(test)]
mod tests;

use tenon_plugin::records::{Comparison, Value};
use tenon_plugin::{Answer, Call, Outcome, Route as Served, Stop, delete, get, patch, post, put};

use super::actor::manage;
use super::form::Form;
use super::lists::{self, Asked, Filter, Listing, single};
use super::payloads::form as payload_form;
use super::payloads::{carry_out, nothing};
use super::{deleted, errors};
use crate::records::payloads::{self, Payload, Route, StoredStop};
use crate::records::{contacts, orders, waypoints};
use crate::rules::change::Change;
use crate::rules::invalid::Invalid;
use crate::rules::order::{TEXT_CHARS_MAX, check_waypoints};
use crate::rules::waypoint;

pub const ROUTES: &[Served] = &[
    post("/v1/waypoints", "create-waypoint", create).headers(lists::HEADERS),
    get("/v1/waypoints", "list-waypoints", list).headers(lists::HEADERS),
    get("/v1/waypoints/{id}", "read-waypoint", read),
    put("/v1/waypoints/{id}", "update-waypoint", update).headers(lists::HEADERS),
    patch("/v1/waypoints/{id}", "patch-waypoint", update).headers(lists::HEADERS),
    delete("/v1/waypoints/{id}", "delete-waypoint", remove),
];

/// Clients send back what they have read.
const SHOWN: [&str; 10] = [
    "id",
    "waypoint_id",
    "tracking",
    "tracking_number",
    "status",
    "status_code",
    "complete",
    "failure",
    "updated_at",
    "created_at",
];

const LISTING: Listing = Listing {
    collection: waypoints::COLLECTION,
    filters: &[Filter::word("payload", "payload")],
    sorts: &[],
    own: &["order"],
};

/// As the last one of the tour, unless `order` says where it stands.
pub fn create(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let payload = payload_of(call, &mut form)?;
    let mut route = payload.as_ref().map(|payload| payload.route.clone()).unwrap_or_default();
    // Asked before the place is read.
    form.keep(check_waypoints(route.waypoints.len() + 1));
    let place = place::read(call, &mut form, None)?;
    let asked = payload_form::asked(call, &mut form, &contacts::Made::default())?;
    let at = position(&mut form, &route).unwrap_or(route.waypoints.len());
    let (settled, unknown) = form.settle(waypoint::settle(None, asked))?;
    // Without one of them the form was refused.
    let (payload, place) = payload.zip(place).ok_or_else(nothing)?;
    let stop = StoredStop::at(call, place, &settled);
    let id = stop.id.clone();
    route.waypoints.insert(at, stop);
    reroute(call, payload, route)?;
    Ok(unknown.tell(Answer::created(shown::one(call, &waypoints::load(call, &id)?)?)))
}

/// Those of the tours: no pickup, no dropoff.
pub fn list(call: &Call) -> Outcome {
    manage(call)?;
    let mut asked = Asked::of(call, &LISTING)?;
    asked.narrow(waypoints::IS_END, Comparison::Equal(Value::Boolean(false)));
    if let Some(order) = single(call, "order")? {
        // What no order has is of no payload.
        asked.narrow_to("payload", &orders::find_payload(call, order)?.unwrap_or_default());
    }
    let found = asked.find(call)?;
    let shown = shown::many(call, &found.entries)?;
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    manage(call)?;
    let id = call.parameter("id");
    find(call, id)?;
    Ok(Answer::ok(shown::one(call, &waypoints::load(call, id)?)?))
}

/// The fields that are there. It stays the same stop, with its tracking number, wherever it goes.
pub fn update(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let id = call.parameter("id");
    let (payload, at) = find(call, id)?;
    let mut route = payload.route.clone();
    let stop = route.waypoints.remove(at);
    let place = place::read(call, &mut form, Some(&stop.place))?;
    let asked = payload_form::asked(call, &mut form, &contacts::Made::default())?;
    let at = position(&mut form, &route).unwrap_or(at);
    check_payload(&mut form, &payload.id);
    let (settled, unknown) = form.settle(waypoint::settle(Some(stop.settled()), asked))?;
    let place = place.unwrap_or_else(|| stop.place.clone());
    route.waypoints.insert(at, StoredStop { place, ..stop }.with(&settled));
    reroute(call, payload, route)?;
    Ok(unknown.tell(Answer::ok(shown::one(call, &waypoints::load(call, id)?)?)))
}

pub fn remove(call: &Call) -> Outcome {
    manage(call)?;
    let id = call.parameter("id");
    let (payload, at) = find(call, id)?;
    let mut route = payload.route.clone();
    route.waypoints.remove(at);
    reroute(call, payload, route)?;
    deleted::answer(call, id, "waypoint")
}

/// Refused where the payload's order was started, or would not have the stops that it needs.
fn reroute(call: &Call, payload: Payload, route: Route) -> Result<(), Stop> {
    let draft = payload_form::rerouted(&payload, route)?;
    carry_out(call, payload, draft).map(|_| ())
}

/// The payload, and where the waypoint stands in its tour. 404 for a pickup and a dropoff as well.
fn find(call: &Call, id: &str) -> Result<(Payload, usize), Stop> {
    let entry = waypoints::load(call, id)?;
    let payload = payloads::load(call, &waypoints::payload_of(&entry)?)?;
    let at = payload.route.waypoints.iter().position(|stop| stop.id == entry.id);
    at.map(|at| (payload, at)).ok_or_else(errors::not_found)
}

/// `None` where none is named, which the form knows. 404 where it is unknown.
fn payload_of(call: &Call, form: &mut Form) -> Result<Option<Payload>, Stop> {
    match form.text("payload", TEXT_CHARS_MAX).filter(|id| !id.is_empty()) {
        Some(id) => payloads::load(call, &id).map(Some),
        None => {
            form.refuse(Invalid::Required("payload"));
            Ok(None)
        }
    }
}

/// A stop stays in its payload.
fn check_payload(form: &mut Form, id: &str) {
    match form.text_change("payload") {
        Change::Absent => {}
        Change::To(asked) if asked == id => {}
        _ => form.refuse(Invalid::ReadOnly("payload")),
    }
}

/// Where it is to stand among the others of this tour; `None`: nothing is said of it.
fn position(form: &mut Form, others: &Route) -> Option<usize> {
    let asked = form.number_change("order").over(None)?;
    let found = (0..=others.waypoints.len()).find(|at| *at as f64 == asked);
    if found.is_none() {
        form.refuse(Invalid::OutOfRange { field: "order", least: 0.0, most: others.waypoints.len() as f64 });
    }
    found
}
