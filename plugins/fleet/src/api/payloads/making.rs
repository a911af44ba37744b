//! Payloads come and go: with their entities, and with a tracking number for each stop of a tour.

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop, time};

use super::carrying::{self, Written};
use super::form::Draft;
use crate::api::free;
use crate::api::orders::moving::Moving;
use crate::api::orders::way;
use crate::records::payloads::{self, Payload, Route, StoredStop};
use crate::records::{places, tracking, waypoints};
use crate::rules::flow::CREATED;
use crate::rules::payload;
use crate::rules::tracking::Report;

/// Stores it. `order`: the id of the order that it comes with.
pub fn make(call: &Call, draft: Draft, order: Option<&str>) -> Result<Payload, Stop> {
    let id = payloads::draw(call)?;
    let now = time::to_text(call.now());
    let mut body = Object::default();
    body.set("id", &id)?;
    body.set_raw("current_waypoint", "null");
    for field in ["pickup", "dropoff", "return", "waypoints", "entities"] {
        body.set_raw(field, "null");
    }
    body.set("order", &order)?;
    body.set_raw("meta", "{}");
    body.set_raw("current_stop", "null");
    body.set("updated_at", &now)?;
    body.set("created_at", &now)?;
    let mut payload = Payload { id, body, route: Route::default() };
    payload.body.set("entities", &Vec::<String>::new())?;
    change(call, &mut payload, draft)?;
    payloads::store(call, &payload)?;
    Ok(payload)
}

/// Writes what a body made of it; storing is left to the caller. Says whether anything has changed: what is sent back as it
/// was read has not.
pub fn change(call: &Call, payload: &mut Payload, draft: Draft) -> Result<bool, Stop> {
    let before = payload.clone();
    payload.route = draft.route;
    for stop in payload.route.stops() {
        if before.route.find(&stop.id).is_some_and(|known| known != stop) {
            waypoints::touch(call, &stop.id)?;
        }
    }
    write(&mut payload.body, &draft.settled)?;
    if let Some(meta) =
        draft.meta.filter(|meta| !payload.body.raw("meta").is_some_and(|known| free::is_same(known, meta)))
    {
        payload.body.set_raw("meta", meta);
    }
    number_stops(call, &payload.id, &mut payload.route)?;
    let gone: Vec<&StoredStop> = before.route.stops().filter(|stop| payload.route.find(&stop.id).is_none()).collect();
    for stop in &gone {
        tracking::delete_of_subject(call, &stop.id)?;
        waypoints::delete(call, &stop.id)?;
    }
    let mut written = Written::default();
    if let Some(listed) = draft.entities {
        carrying::replace(call, payload, &listed, &mut written)?;
    }
    if !gone.is_empty() {
        carrying::forget_stops(call, payload, &mut written)?;
    }
    Ok(!written.is_empty() || payload.body != before.body || payload.route != before.route)
}

/// The same for that of an order, which may not be started then, and whose way is measured anew.
pub fn change_in_order(moving: &mut Moving, draft: Draft) -> Result<bool, Stop> {
    let changed = change(moving.call, &mut moving.payload, draft)?;
    if changed {
        moving.check_not_started()?;
        way::measure(moving)?;
    }
    Ok(changed)
}

fn write(body: &mut Object, settled: &payload::Payload) -> Result<(), Stop> {
    body.set("type", &settled.kind)?;
    body.set("cod_amount", &settled.cod.as_ref().map(|cod| &cod.amount))?;
    body.set("cod_currency", &settled.cod.as_ref().map(|cod| &cod.currency))?;
    body.set("cod_payment_method", &settled.cod_payment_method)?;
    body.set("payment_method", &settled.payment_method)
}

/// A stop of a tour is followed by itself, and found by its own id.
fn number_stops(call: &Call, payload_id: &str, route: &mut Route) -> Result<(), Stop> {
    if !route.has_tour() {
        return Ok(());
    }
    let (numbered, fresh): (Vec<&StoredStop>, Vec<&StoredStop>) =
        route.stops().partition(|stop| stop.tracking_number.is_some());
    let numbered: Vec<String> = numbered.into_iter().map(|stop| stop.id.clone()).collect();
    let places: Vec<String> = fresh.into_iter().map(|stop| stop.place.clone()).collect();
    let found = places::read_many(call, &places, places::place_of)?;
    let first = Report {
        code: CREATED.to_owned(),
        title: "Stop Created".to_owned(),
        details: "The stop was planned.".to_owned(),
        ..Report::default()
    };
    for stop in route.stops_mut().filter(|stop| stop.tracking_number.is_none()) {
        let place = found.get(&stop.place).cloned().unwrap_or_default();
        stop.tracking_number = Some(tracking::issue(call, &stop.id, &place, &first)?.id);
    }
    // Some were numbered before they could be found.
    let known = waypoints::known(call, &numbered);
    let ends: Vec<&str> = route.pickup.iter().chain(&route.dropoff).map(|stop| stop.id.as_str()).collect();
    for stop in route.stops().filter(|stop| !known.contains(&stop.id)) {
        waypoints::insert(call, &stop.id, payload_id, ends.contains(&stop.id.as_str()))?;
    }
    Ok(())
}

/// With its entities and the tracking numbers of its stops. Places and contacts stay: they are others' as well.
pub fn remove(call: &Call, payload: &Payload) -> Result<(), Stop> {
    for stop in payload.route.stops().filter(|stop| stop.tracking_number.is_some()) {
        tracking::delete_of_subject(call, &stop.id)?;
        waypoints::delete(call, &stop.id)?;
    }
    payload.entities().iter().try_for_each(|id| carrying::delete(call, id))?;
    payloads::delete(call, &payload.id)
}
