//! What PUT and PATCH change: the fields that are there, and nothing else. A field that is null is cleared.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop, time};

use super::{NOT_SUPPORTED, READ_BEFORE, read_payload, stops_of};
use crate::api::customers;
use crate::api::form::Form;
use crate::api::unknown::Unknown;
use crate::records::{self, PlaceText};
use crate::rules::invalid::Invalid;
use crate::rules::order::{self, NOTES_CHARS_MAX, ProofMethod, Stops, TEXT_CHARS_MAX};

/// The order's text after the change; members that this version does not know stay.
pub fn apply(call: &Call, order: &str, body: Object) -> Result<(String, Unknown), Stop> {
    let mut order: Object = json::from_text(order)?;
    let payload = changed_payload(call, &order, &body)?;
    let customer = match body.given("customer") {
        Some(value) => Some(customers::find_or_create(call, value)?),
        None => body.has("customer").then(|| "null".to_owned()),
    };
    let mut form = Form::new(body);
    form.not_supported(&NOT_SUPPORTED);
    form.pass_over(&READ_BEFORE);
    set_texts(&mut order, &mut form)?;
    set_proof(&mut order, &mut form)?;
    refuse_other_status(&order, &mut form);
    if form.has("scheduled_at") {
        order.set("scheduled_at", &form.date("scheduled_at").map(time::to_text))?;
    }
    if form.has("meta") {
        order.set_raw("meta", form.object("meta").unwrap_or_else(|| "{}".to_owned()));
    }
    let unknown = form.finish()?;
    for (field, value) in [("payload", payload), ("customer", customer)] {
        if let Some(value) = value {
            order.set_raw(field, value);
        }
    }
    order.set("updated_at", &time::to_text(call.now()))?;
    Ok((order.to_text(), unknown))
}

fn set_texts(order: &mut Object, form: &mut Form) -> Result<(), Stop> {
    for field in ["internal_id", "type"] {
        if form.has(field) {
            order.set(field, &form.text(field, TEXT_CHARS_MAX))?;
        }
    }
    if form.has("notes") {
        order.set("notes", &form.lines("notes", NOTES_CHARS_MAX))?;
    }
    if order.given("type").is_none() {
        form.refuse(Invalid::Required("type"));
    }
    Ok(())
}

fn set_proof(order: &mut Object, form: &mut Form) -> Result<(), Stop> {
    if form.has("pod_method") {
        let method = form.text("pod_method", TEXT_CHARS_MAX).and_then(|name| form.keep(ProofMethod::of_name(&name)));
        order.set("pod_method", &method.map(ProofMethod::name))?;
    }
    if form.has("pod_required") {
        order.set("pod_required", &form.boolean("pod_required").unwrap_or_default())?;
    }
    let method = order.text("pod_method").ok().flatten().and_then(|name| ProofMethod::of_name(&name).ok());
    let required = order.boolean("pod_required").ok().flatten().unwrap_or_default();
    form.keep(order::check_proof(required.into(), method));
    Ok(())
}

/// Activities move an order; a client that sends back what it has read means no harm.
fn refuse_other_status(order: &Object, form: &mut Form) {
    if form.given("status").is_some_and(|status| order.raw("status") != Some(status)) {
        form.refuse(Invalid::ReadOnly("status"));
    }
}

/// The payload with the stops that the body names; `None`: the body names none.
fn changed_payload(call: &Call, order: &Object, body: &Object) -> Result<Option<String>, Stop> {
    const STOPS: [&str; 4] = ["pickup", "dropoff", "return", "waypoints"];
    let inner = read_payload(body)?;
    if inner.is_none() && !STOPS.iter().any(|field| body.has(field)) {
        return Ok(None);
    }
    let source = inner.as_ref().unwrap_or(body);
    let route = stops_of(source)?;
    let mut payload: Object = json::from_text(order.raw("payload").unwrap_or("{}"))?;
    for (field, place) in [("pickup", &route.pickup), ("dropoff", &route.dropoff), ("return", &route.return_to)] {
        if source.has(field) {
            payload.set(field, &place.as_ref().map(|place| PlaceText::new(call, place)))?;
        }
    }
    if source.has("waypoints") {
        payload.set("waypoints", &records::waypoint_texts(call, &route.waypoints))?;
    }
    let waypoints: Vec<&serde_json::value::RawValue> = json::from_text(payload.raw("waypoints").unwrap_or("[]"))?;
    let stops = Stops {
        pickup: payload.given("pickup").is_some(),
        dropoff: payload.given("dropoff").is_some(),
        waypoints: waypoints.len(),
    };
    order::check_stops(stops)?;
    payload.set("updated_at", &time::to_text(call.now()))?;
    Ok(Some(payload.to_text()))
}
