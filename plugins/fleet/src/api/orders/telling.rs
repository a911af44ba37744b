//! What is told of an order: its events, with what it refers to as ids, and the keys of the specification. What is told of
//! the things that it carries stands in `carried`.
//!
//! `order.ping` goes to each driver who is online near the pickup of an ad-hoc order, with the driver as its subject: his
//! app listens to himself. An offer that nobody hears is told as `order.dispatch_failed`; it stays open to every driver.

pub mod carried;

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
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;
use crate::rules::progress::Event;
use crate::rules::tracking::status_code;

pub const DELETED: &str = "order.deleted";
pub const PING: &str = "order.ping";
pub const DISPATCH_FAILED: &str = "order.dispatch_failed";

/// Why nobody heard of an offer.
const NOBODY_NEAR: &str = "No driver is online near the pickup.";
const NOT_LOCATED: &str = "It is not known where the pickup is.";

/// Who hears of one order: the nearest.
const PINGED_MAX: usize = 50;

/// The keys of every event of an order.
const ORDER: &str = r#"{"type":"object","required":["order_id","tracking_number","customer_id"],"properties":{"id":{"type":"string"},"order_id":{"type":"string"},"tracking_number":{"type":"string"},"customer_id":{"type":["string","null"]},"internal_id":{"type":["string","null"]},"customer":{"type":["string","null"]},"payload":{"type":["string","null"]},"facilitator":{"type":["string","null"]},"driver_assigned":{"type":["string","null"]},"vehicle_assigned":{"type":["string","null"]},"order_config":{"type":["string","null"]},"status":{"type":"string"},"type":{"type":"string"},"adhoc":{"type":"boolean"},"meta":{"type":"object"},"failure":{"type":["string","null"]},"driver_id":{"type":"string"},"distance_m":{"type":"number"},"reason":{"type":"string"}}}"#;
const WAYPOINT: &str = r#"{"type":"object","required":["id","order_id","payload","place","status"],"properties":{"id":{"type":"string"},"order_id":{"type":"string"},"payload":{"type":"string"},"place":{"type":"string"},"activity":{"type":"string"},"status":{"type":"string"},"status_code":{"type":"string"},"complete":{"type":"boolean"},"failure":{"type":["string","null"]},"customer":{"type":["string","null"]},"tracking_number":{"type":["string","null"]}}}"#;

pub const EVENT_TYPES: &[EventType] = &[
    EventType::new("order.created", "An order was created.", ORDER),
    EventType::new(
        "order.ready",
        "An order can be dispatched from now on: it has a driver or is ad hoc, and is where `dispatched` follows.",
        ORDER,
    ),
    EventType::new("order.updated", "An order was changed.", ORDER),
    EventType::new(DELETED, "An order was deleted.", ORDER),
    EventType::new("order.dispatched", "An order was dispatched.", ORDER),
    EventType::new(
        DISPATCH_FAILED,
        "An ad-hoc order was dispatched, and no driver heard of it; `reason` says why. It stays offered.",
        ORDER,
    ),
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
            let Some(driver) = text(&moving.order, "driver_assigned") else { return Ok(()) };
            assigned(moving.call, &driver, &moving.id)?;
            carried::tell_driver(moving, &driver)
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

/// Everybody who is online within reach of the pickup. That it is nobody is told as well.
pub fn ping_drivers(moving: &Moving) -> Result<(), Stop> {
    let Some(around) = pickup(moving) else { return tell_unheard(moving, NOT_LOCATED) };
    let reach = moving.order.number("adhoc_distance").ok().flatten();
    let near = drivers::online_near(moving.call, Nearby::new(around, reach)?, PINGED_MAX)?;
    if near.is_empty() {
        return tell_unheard(moving, NOBODY_NEAR);
    }
    for (driver, metres) in near {
        let besides = [("driver_id", json::to_text(&driver)?), ("distance_m", json::to_text(&Number(metres.round()))?)];
        tell_of(moving.call, PING, &driver, (&moving.id, &moving.order), &besides)?;
    }
    Ok(())
}

/// `None`: nobody knows where that is.
fn pickup(moving: &Moving) -> Option<Position> {
    let first = moving.payload.route.stops().next()?;
    let found = places::load_many(moving.call, std::slice::from_ref(&first.place));
    places::position_of(found.get(&first.place)?)
}

fn tell_unheard(moving: &Moving, reason: &str) -> Result<(), Stop> {
    let besides = [("reason", json::to_text(reason)?)];
    tell_of(moving.call, DISPATCH_FAILED, &moving.id, (&moving.id, &moving.order), &besides)
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
