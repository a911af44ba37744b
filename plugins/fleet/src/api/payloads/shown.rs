//! Payloads as callers see them (research/fleet 1.1.2): places and entities in the place of their ids. A waypoint is a
//! place with what it is on this tour.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::api::orders::joined::{Joined, Wanted, named};
use crate::api::orders::shown::Shown;
use crate::records::payloads::{HIDDEN, Payload, StoredStop};

pub fn one(call: &Call, payload: &Payload) -> Result<String, Stop> {
    let mut wanted = Wanted::default();
    wanted.add_payload(payload);
    Ok(text_of(payload, &wanted.load(call, 1)?))
}

pub fn text_of(payload: &Payload, joined: &Joined) -> String {
    let mut shown = Shown::default();
    let place = |stop: &Option<StoredStop>| named(&joined.places, stop.as_ref().map(|stop| stop.place.as_str()));
    for (name, value) in payload.body.members().filter(|(name, _)| !HIDDEN.contains(name)) {
        match name {
            "pickup" => shown.put(name, place(&payload.route.pickup)),
            "dropoff" => shown.put(name, place(&payload.route.dropoff)),
            "return" => shown.put(name, named(&joined.places, payload.route.return_to.as_deref())),
            "waypoints" => {
                let waypoints: Vec<String> = payload
                    .route
                    .waypoints
                    .iter()
                    .enumerate()
                    .map(|(at, stop)| stop_text(Some(at), stop, joined))
                    .collect();
                shown.put(name, &json::array(waypoints.iter().map(String::as_str)));
            }
            "entities" => {
                let ids = payload.entities();
                let found = ids.iter().filter_map(|id| joined.entities.get(id));
                shown.put(name, &json::array(found.map(String::as_str)));
            }
            _ => shown.put(name, value),
        }
    }
    shown.into_text()
}

/// What a waypoint has besides its place.
#[derive(Serialize)]
struct Besides<'a> {
    waypoint_id: &'a str,
    order: Option<usize>,
    tracking: Option<String>,
    status: Option<String>,
    status_code: Option<String>,
    complete: bool,
    failure: Option<&'a str>,
    notes: Option<&'a str>,
    pod_method: Option<&'a str>,
    pod_required: bool,
    time_window_start: Option<&'a str>,
    time_window_end: Option<&'a str>,
    service_time: Option<u32>,
}

/// `at`: where it stands among the waypoints; a pickup or a dropoff stands nowhere there.
pub fn stop_text(at: Option<usize>, stop: &StoredStop, joined: &Joined) -> String {
    let number = Object::parse(named(&joined.stops, stop.tracking_number.as_deref())).unwrap_or_default();
    let said = |field: &str| number.text(field).ok().flatten();
    let besides = Besides {
        waypoint_id: &stop.id,
        order: at,
        tracking: said("tracking_number"),
        status: said("status"),
        status_code: said("status_code"),
        complete: stop.complete,
        failure: stop.failure.as_deref(),
        notes: stop.notes.as_deref(),
        pod_method: stop.pod_method.as_deref(),
        pod_required: stop.pod_required,
        time_window_start: stop.time_window_start.as_deref(),
        time_window_end: stop.time_window_end.as_deref(),
        service_time: stop.service_time,
    };
    // Texts and numbers only: it cannot fail.
    let besides = serde_json::to_string(&besides).unwrap_or_default();
    let mut shown = Shown::default();
    let place = named(&joined.places, Some(&stop.place));
    match Object::parse(place) {
        Ok(place) => {
            place.members().filter(|(name, _)| *name != "type").for_each(|(name, value)| shown.put(name, value))
        }
        // It stayed an id, or is gone.
        Err(_) => shown.put("id", place),
    }
    let kind = serde_json::to_string(&stop.kind).unwrap_or_default();
    shown.put("type", &kind);
    shown.put("customer", named(&joined.contacts, stop.customer.as_deref()));
    let members = Object::parse(&besides).unwrap_or_default();
    members.members().for_each(|(name, value)| shown.put(name, value));
    shown.into_text()
}
