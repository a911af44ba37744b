//! What is told of an order: its events, with what it refers to as ids, and the keys of the specification.
//!
//! `order.ping` goes to each driver who is online near the pickup of an ad-hoc order, with the driver as its subject: his
//! app listens to himself.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, EventType, Stop};

use super::moving::Moving;
use super::shown::Shown;
use crate::api::drivers::events::assigned;
use crate::api::events;
use crate::records::orders::{HIDDEN, text};
use crate::records::payloads::StoredStop;
use crate::records::shapes::Number;
use crate::records::{drivers, places};
use crate::rules::flow::{Flow, STARTED, title_of};
use crate::rules::location::distance::Nearby;
use crate::rules::progress::Event;
use crate::rules::tracking::status_code;

pub const DELETED: &str = "order.deleted";
pub const PING: &str = "order.ping";

/// Who hears of one order: the nearest.
const PINGED_MAX: usize = 50;

/// The keys of every event of an order.
const ORDER: &str = r#"{"type":"object","required":["order_id","tracking_number","customer_id"],"properties":{"id":{"type":"string"},"order_id":{"type":"string"},"tracking_number":{"type":"string"},"customer_id":{"type":["string","null"]},"internal_id":{"type":["string","null"]},"customer":{"type":["string","null"]},"payload":{"type":["string","null"]},"facilitator":{"type":["string","null"]},"driver_assigned":{"type":["string","null"]},"vehicle_assigned":{"type":["string","null"]},"order_config":{"type":["string","null"]},"status":{"type":"string"},"type":{"type":"string"},"adhoc":{"type":"boolean"},"meta":{"type":"object"},"failure":{"type":["string","null"]},"driver_id":{"type":"string"},"distance_m":{"type":"number"}}}"#;
const WAYPOINT: &str = r#"{"type":"object","required":["id","order_id","payload","place","status"],"properties":{"id":{"type":"string"},"order_id":{"type":"string"},"payload":{"type":"string"},"place":{"type":"string"},"activity":{"type":"string"},"status":{"type":"string"},"status_code":{"type":"string"},"complete":{"type":"boolean"},"failure":{"type":["string","null"]},"customer":{"type":["string","null"]},"tracking_number":{"type":["string","null"]}}}"#;

pub const EVENT_TYPES: &[EventType] = &[
    EventType::new("order.created", "An order was created.", ORDER),
    EventType::new("order.updated", "An order was changed.", ORDER),
    EventType::new(DELETED, "An order was deleted.", ORDER),
    EventType::new("order.dispatched", "An order was dispatched.", ORDER),
    EventType::new("order.started", "A driver started an order.", ORDER),
    EventType::new("order.completed", "An order was completed.", ORDER),
    EventType::new("order.canceled", "An order was canceled.", ORDER),
    EventType::new("order.failed", "An order failed; `failure` says why.", ORDER),
    EventType::new("order.driver_assigned", "An order was given to a driver.", ORDER),
    EventType::new(PING, "An ad-hoc order is offered to a driver nearby, who is the subject of the event.", ORDER),
    EventType::new("waypoint.activity", "Something happened at a stop of a tour.", WAYPOINT),
    EventType::new("waypoint.completed", "A stop of a tour is done.", WAYPOINT),
];

pub fn tell(moving: &Moving, event: &Event) -> Result<(), Stop> {
    match event {
        Event::WaypointActivity { stop } | Event::WaypointCompleted { stop } => {
            let Some(found) = moving.payload.route.find(stop) else { return Ok(()) };
            let data = stop_text(&moving.id, &moving.payload.id, found, &moving.flow)?;
            moving.call.emit(event.name(), stop, &data);
            Ok(())
        }
        Event::DriverAssigned => {
            tell_of(moving.call, event.name(), &moving.id, (&moving.id, &moving.order), &[])?;
            match text(&moving.order, "driver_assigned") {
                Some(driver) => assigned(moving.call, &driver, &moving.id),
                None => Ok(()),
            }
        }
        _ => tell_of(moving.call, event.name(), &moving.id, (&moving.id, &moving.order), &[]),
    }
}

/// `order`: its id and text as it is stored. `besides`: keys that this event alone has.
pub fn tell_of(
    call: &Call,
    event_type: &'static str,
    subject: &str,
    (id, order): (&str, &Object),
    besides: &[(&'static str, String)],
) -> Result<(), Stop> {
    let mut bare = Shown::default();
    for (name, value) in order.members().filter(|(name, _)| !HIDDEN.contains(name)) {
        bare.put(name, value);
    }
    let mut extra = vec![
        ("order_id", json::to_text(id)?),
        ("tracking_number", json::to_text(&text(order, "number").unwrap_or_default())?),
        ("customer_id", json::to_text(&text(order, "customer"))?),
    ];
    extra.extend(besides.iter().cloned());
    events::emit(call, event_type, subject, &bare.into_text(), &extra)
}

/// Everybody who is online within reach of the pickup; nobody, where nobody knows where that is.
pub fn ping_drivers(moving: &Moving) -> Result<(), Stop> {
    let Some(first) = moving.payload.route.stops().next() else { return Ok(()) };
    let found = places::load_many(moving.call, std::slice::from_ref(&first.place));
    let Some(around) = found.get(&first.place).and_then(|place| places::position_of(place)) else { return Ok(()) };
    let reach = moving.order.number("adhoc_distance").ok().flatten();
    let near = drivers::online_near(moving.call, Nearby::new(around, reach)?)?;
    for (driver, metres) in near.into_iter().take(PINGED_MAX) {
        let besides = [("driver_id", json::to_text(&driver)?), ("distance_m", json::to_text(&Number(metres.round()))?)];
        tell_of(moving.call, PING, &driver, (&moving.id, &moving.order), &besides)?;
    }
    Ok(())
}

fn stop_text(order: &str, payload: &str, stop: &StoredStop, flow: &Flow) -> Result<String, Stop> {
    let code = stop.activity.as_deref().unwrap_or(STARTED);
    let title = flow.find(code).map_or_else(|| title_of(code), |activity| activity.status.clone());
    let mut shown = Shown::default();
    for (name, value) in [
        ("id", Some(stop.id.as_str())),
        ("order_id", Some(order)),
        ("payload", Some(payload)),
        ("place", Some(stop.place.as_str())),
        ("activity", Some(code)),
        ("status", Some(title.as_str())),
        ("status_code", Some(status_code(code).as_str())),
        ("failure", stop.failure.as_deref()),
        ("customer", stop.customer.as_deref()),
        ("tracking_number", stop.tracking_number.as_deref()),
    ] {
        shown.put(name, &json::to_text(&value)?);
    }
    shown.put("complete", if stop.complete { "true" } else { "false" });
    Ok(shown.into_text())
}
