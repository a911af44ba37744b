//! Orders: create, list, read, update, delete (spec/fleet; research/fleet 1.1).

mod changes;
pub mod listing;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::{customers, deleted, errors, places};
use crate::records::{self, NewOrder, Route};
use crate::rules::invalid::Invalid;
use crate::rules::order::{self, NOTES_CHARS_MAX, ProofMethod, Status, Stops, TEXT_CHARS_MAX};
use crate::rules::place::Place;

pub use listing::list;

pub const CREATED_EVENT: &str = "order.created";

/// Of the real interface, not of this version.
const NOT_SUPPORTED: [&str; 12] = [
    "driver",
    "vehicle",
    "facilitator",
    "entities",
    "service_quote",
    "purchase_rate",
    "dispatch",
    "adhoc",
    "required_skills",
    "orchestrator_priority",
    "time_window_start",
    "time_window_end",
];

/// Read before the other fields.
const READ_BEFORE: [&str; 6] = ["pickup", "dropoff", "return", "waypoints", "payload", "customer"];

pub fn create(call: &Call) -> Outcome {
    let body = call.object()?;
    let route = read_route(&body)?;
    let customer = body.given("customer").map(|value| customers::find_or_create(call, value)).transpose()?;
    let mut form = Form::new(body);
    form.not_supported(&NOT_SUPPORTED);
    form.pass_over(&READ_BEFORE);
    form.keep(order::check_stops(stops(&route)));
    let order = NewOrder {
        internal_id: form.text("internal_id", TEXT_CHARS_MAX),
        order_type: order_type(&mut form),
        notes: form.lines("notes", NOTES_CHARS_MAX),
        scheduled_at: form.date("scheduled_at"),
        pod_method: form.text("pod_method", TEXT_CHARS_MAX).and_then(|name| form.keep(ProofMethod::of_name(&name))),
        pod_required: form.boolean("pod_required").unwrap_or_default(),
        meta: form.object("meta"),
        customer,
        route,
    };
    form.keep(order::check_proof(order.pod_required.into(), order.pod_method));
    let unknown = form.finish()?;
    let stored = records::insert_order(call, &order)?;
    call.emit(CREATED_EVENT, &stored.id, &created_event(&stored, &order)?);
    Ok(unknown.tell(Answer::created(stored.body)))
}

pub fn read(call: &Call) -> Outcome {
    Ok(Answer::ok(records::load_order(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    let body = call.object()?;
    let stored = records::load_order(call, call.parameter("id"))?;
    let (after, unknown) = changes::apply(call, &stored.body, body)?;
    records::replace_order(call, &stored.id, &after)?;
    Ok(unknown.tell(Answer::ok(after)))
}

pub fn delete(call: &Call) -> Outcome {
    let stored = records::load_order(call, call.parameter("id"))?;
    records::delete_order(call, &stored.id)?;
    deleted::answer(call, &stored.id, "order")
}

/// The stops of a body, beside the other fields or within `payload`.
fn read_route(body: &Object) -> Result<Route, Stop> {
    let payload = read_payload(body)?;
    stops_of(payload.as_ref().unwrap_or(body))
}

fn read_payload<'a>(body: &'a Object) -> Result<Option<Object<'a>>, Stop> {
    let Some(payload) = body.given("payload") else { return Ok(None) };
    // This version keeps payloads within their order: no id of one is known.
    if payload.starts_with('"') {
        return Err(errors::not_found());
    }
    let payload = Object::parse(payload).map_err(|_| Invalid::Not { field: "payload", kind: "an object" })?;
    if !matches!(payload.given("entities"), None | Some("[]")) {
        return Err(Invalid::NotSupported("payload.entities").into());
    }
    Ok(Some(payload))
}

fn stops_of(body: &Object) -> Result<Route, Stop> {
    let place = |field: &'static str| body.given(field).map(|value| places::read_embedded(field, value)).transpose();
    Ok(Route {
        pickup: place("pickup")?,
        dropoff: place("dropoff")?,
        return_to: place("return")?,
        waypoints: body.given("waypoints").map(read_waypoints).transpose()?.unwrap_or_default(),
    })
}

fn read_waypoints(value: &str) -> Result<Vec<Place>, Stop> {
    let values: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(value).map_err(|_| Invalid::Not { field: "waypoints", kind: "a list of places" })?;
    order::check_waypoints(values.len())?;
    values.into_iter().map(|value| places::read_embedded("waypoints", value.get())).collect()
}

fn stops(route: &Route) -> Stops {
    Stops { pickup: route.pickup.is_some(), dropoff: route.dropoff.is_some(), waypoints: route.waypoints.len() }
}

fn order_type(form: &mut Form) -> String {
    let order_type = form.text("type", TEXT_CHARS_MAX).or_else(|| form.text("order_config", TEXT_CHARS_MAX));
    order_type.unwrap_or_else(|| order::DEFAULT_TYPE.to_owned())
}

fn created_event(stored: &records::StoredOrder, order: &NewOrder) -> Result<String, Stop> {
    #[derive(Serialize)]
    struct Created<'a> {
        order_id: &'a str,
        tracking_number: &'a str,
        customer_id: Option<String>,
        internal_id: Option<&'a str>,
        status: &'a str,
        #[serde(rename = "type")]
        order_type: &'a str,
    }
    json::to_text(&Created {
        order_id: &stored.id,
        tracking_number: &stored.tracking_number,
        customer_id: order.customer.as_deref().map(customers::id_of).transpose()?.flatten(),
        internal_id: order.internal_id.as_deref(),
        status: Status::Created.name(),
        order_type: &order.order_type,
    })
}
