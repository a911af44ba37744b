//! Payloads come and go: with their entities, and with a tracking number for each stop of a tour.

use std::collections::BTreeMap;

use tenon_plugin::json::Object;
use tenon_plugin::{Call, Stop, time};

use super::form::Draft;
use crate::records::payloads::{self, Payload, Route, StoredStop};
use crate::records::{entities, places, tracking, waypoints};
use crate::rules::flow::CREATED;
use crate::rules::invalid::Invalid;
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

/// Writes what a body made of it; storing is left to the caller.
pub fn change(call: &Call, payload: &mut Payload, draft: Draft) -> Result<(), Stop> {
    let before: BTreeMap<String, StoredStop> =
        payload.route.stops().map(|stop| (stop.id.clone(), stop.clone())).collect();
    payload.route = draft.route;
    for stop in payload.route.stops() {
        if before.get(&stop.id).is_some_and(|known| known != stop) {
            waypoints::touch(call, &stop.id)?;
        }
    }
    write(&mut payload.body, &draft.settled)?;
    if let Some(meta) = draft.meta {
        payload.body.set_raw("meta", meta);
    }
    number_stops(call, &payload.id, &mut payload.route)?;
    for gone in before.keys().filter(|id| payload.route.find(id).is_none()) {
        tracking::delete_of_subject(call, gone)?;
        waypoints::delete(call, gone)?;
    }
    match draft.entities {
        Some(values) => replace_entities(call, payload, &values),
        None => Ok(()),
    }
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
    let ids: Vec<String> =
        route.stops().filter(|stop| stop.tracking_number.is_none()).map(|stop| stop.place.clone()).collect();
    let found = places::load_many(call, &ids);
    let first = Report {
        code: CREATED.to_owned(),
        title: "Stop Created".to_owned(),
        details: "The stop was planned.".to_owned(),
        ..Report::default()
    };
    let ends: Vec<String> = route.pickup.iter().chain(&route.dropoff).map(|stop| stop.id.clone()).collect();
    for stop in route.stops_mut().filter(|stop| stop.tracking_number.is_none()) {
        let place = found.get(&stop.place).map(|text| places::place_of(text)).transpose()?.unwrap_or_default();
        stop.tracking_number = Some(tracking::issue(call, &stop.id, &place, &first)?.id);
        waypoints::insert(call, &stop.id, payload_id, ends.contains(&stop.id))?;
    }
    Ok(())
}

/// Those that are named by their ids stay, the others are made; what is not in the list any more goes.
fn replace_entities(call: &Call, payload: &mut Payload, values: &[String]) -> Result<(), Stop> {
    let before = payload.entities();
    let ends = payload.route.pickup.iter().chain(&payload.route.dropoff);
    let stops: Vec<(String, String)> =
        payload.route.waypoints.iter().chain(ends).map(|stop| (stop.id.clone(), stop.place.clone())).collect();
    let mut ids = Vec::new();
    for value in values {
        let id = match id_of(value).filter(|id| before.contains(id)) {
            Some(id) => id,
            None => {
                check_free(call, value)?;
                entities::insert_for_payload(call, value, &payload.id, &stops)?
            }
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    for gone in before.iter().filter(|id| !ids.contains(id)) {
        delete_entity(call, gone)?;
    }
    payload.body.set("entities", &ids)
}

/// What an order carries stays with it.
fn check_free(call: &Call, value: &str) -> Result<(), Stop> {
    if !value.starts_with('"') {
        return Ok(());
    }
    let found = id_of(value).and_then(|id| entities::load_many(call, std::slice::from_ref(&id)).remove(&id));
    let home = found.map(|entity| entities::payload_of(&entity)).transpose()?.flatten();
    let carrier = home.map(|id| payloads::find(call, &id)).transpose()?.flatten();
    match carrier.and_then(|payload| payload.order()) {
        Some(_) => Err(Invalid::Not { field: "entities", kind: "a list of entities that no order carries" }.into()),
        None => Ok(()),
    }
}

/// By itself, or in an object.
fn id_of(value: &str) -> Option<String> {
    match value.strip_prefix('"') {
        Some(_) => serde_json::from_str(value).ok(),
        None => Object::parse(value).ok()?.text("id").ok().flatten(),
    }
}

/// With its entities and the tracking numbers of its stops. Places and contacts stay: they are others' as well.
pub fn remove(call: &Call, payload: &Payload) -> Result<(), Stop> {
    for stop in payload.route.stops().filter(|stop| stop.tracking_number.is_some()) {
        tracking::delete_of_subject(call, &stop.id)?;
        waypoints::delete(call, &stop.id)?;
    }
    payload.entities().iter().try_for_each(|id| delete_entity(call, id))?;
    payloads::delete(call, &payload.id)
}

fn delete_entity(call: &Call, id: &str) -> Result<(), Stop> {
    tracking::delete_of_subject(call, id)?;
    if entities::load_many(call, &[id.to_owned()]).is_empty() { Ok(()) } else { entities::delete(call, id) }
}
