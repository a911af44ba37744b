//! What is told of the things that an order carries: who carries them, and how they get on with the order, or with the stop
//! that they go to. Each event is of one thing, which is its subject.
//!
//! Never told of what was only planned. Never with what has no end: an order carries many things, and one commit holds
//! what is told of all of them.

use tenon_plugin::{EventType, Stop, json};

use super::Moving;
use crate::api::{entities as entities_api, events};
use crate::records::entities;
use crate::rules::tracking::{Report, status_code};

const DRIVER_ASSIGNED: &str = "entity.driver_assigned";
const ACTIVITY: &str = "entity.activity";
const COMPLETED: &str = "entity.completed";

/// The resource itself without what is long of it, with the keys that these events have besides.
const CARRIED: &str = r#"{"type":"object","required":["id","order_id"],"properties":{"id":{"type":"string"},"order_id":{"type":"string"},"payload":{"type":"string"},"destination":{"type":["string","null"]},"customer":{"type":["string","null"]},"tracking_number":{"type":["string","null"]},"driver_id":{"type":"string"},"activity":{"type":"string"},"status":{"type":"string"},"status_code":{"type":"string"},"complete":{"type":"boolean"}}}"#;

pub const EVENT_TYPES: &[EventType] = &[
    EventType::new(DRIVER_ASSIGNED, "The order that carries an entity was given to a driver.", CARRIED),
    EventType::new(ACTIVITY, "Something happened to an entity: to its order, or to the stop it goes to.", CARRIED),
    EventType::new(COMPLETED, "An entity is where it was to go: its order, or its stop, is completed.", CARRIED),
];

/// Everything that the order carries goes with this driver from now on.
pub fn tell_driver(moving: &Moving, driver: &str) -> Result<(), Stop> {
    for (id, entity) in entities::load_many(moving.call, &moving.payload.entities()) {
        let besides = [("order_id", json::to_text(&moving.id)?), ("driver_id", json::to_text(driver)?)];
        events::emit(moving.call, DRIVER_ASSIGNED, &id, &entities_api::brief(&entity)?, &besides)?;
    }
    Ok(())
}

/// `entity`: as it is stored.
pub fn tell_activity(moving: &Moving, (id, entity): (&str, &str), report: &Report) -> Result<(), Stop> {
    let besides = [
        ("order_id", json::to_text(&moving.id)?),
        ("activity", json::to_text(&report.code)?),
        ("status", json::to_text(&report.title)?),
        ("status_code", json::to_text(&status_code(&report.code))?),
        ("complete", json::to_text(&report.complete)?),
    ];
    let entity = entities_api::brief(entity)?;
    events::emit(moving.call, ACTIVITY, id, &entity, &besides)?;
    if report.complete { events::emit(moving.call, COMPLETED, id, &entity, &besides) } else { Ok(()) }
}
