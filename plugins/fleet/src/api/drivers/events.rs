//! What is told of drivers. Moves have a form of their own, which is that of vehicles as well.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, EventType, Stop};

use crate::api::events as all;
use crate::api::fixes::Moved;
use crate::records::drivers;
use crate::rules::location::Fix;

pub const CREATED: &str = "driver.created";
pub const UPDATED: &str = "driver.updated";
pub const DELETED: &str = "driver.deleted";
pub const ASSIGNED: &str = "driver.assigned";
pub const LOCATION: &str = "driver.location_changed";

const DRIVER: &str = r#"{"type":"object","required":["id","driver_id"],"properties":{"id":{"type":"string"},"driver_id":{"type":"string"},"name":{"type":"string"},"email":{"type":"string"},"phone":{"type":"string"},"status":{"type":"string"},"online":{"type":"boolean"},"vehicle":{"type":["string","null"]},"current_job":{"type":["string","null"]}}}"#;

pub const TYPES: &[EventType] = &[
    EventType::new(CREATED, "A driver was created.", DRIVER),
    EventType::new(UPDATED, "A driver was changed, or went online or offline.", DRIVER),
    EventType::new(DELETED, "A driver was deleted.", DRIVER),
    EventType::new(ASSIGNED, "A driver was given a vehicle or an order.", DRIVER),
    EventType::new(
        LOCATION,
        "A driver's location was posted to the track endpoint.",
        r#"{"type":"object","required":["driver_id","latitude","longitude","heading","speed","id","location"],"properties":{"driver_id":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"heading":{"type":["number","null"]},"speed":{"type":["number","null"]},"altitude":{"type":["number","null"]},"id":{"type":"string"},"internal_id":{"type":["string","null"]},"name":{"type":"string"},"phone":{"type":"string"},"location":{"type":"object"},"additionalData":{"type":"object"}}}"#,
    ),
];

/// `driver`: as he is stored, or as callers see him.
pub fn emit(call: &Call, event: &'static str, id: &str, driver: &str) -> Result<(), Stop> {
    tell(call, event, id, driver, vec![("driver_id", json::to_text(id)?)])
}

/// Of a photo that is a file its id is told, as of all files: the host of an address is whatever one caller named.
fn tell(
    call: &Call,
    event: &'static str,
    id: &str,
    driver: &str,
    mut extra: Vec<(&'static str, String)>,
) -> Result<(), Stop> {
    if drivers::may_have_photo(driver)
        && let Some(file) = drivers::photo_file(&json::from_text(driver)?)
    {
        extra.push(("photo_url", json::to_text(&file)?));
    }
    all::emit(call, event, id, driver, &extra)
}

/// An order was given to a driver who is there.
pub fn assigned(call: &Call, id: &str, order_id: &str) -> Result<(), Stop> {
    let driver = drivers::load(call, id)?;
    let extra = vec![("driver_id", json::to_text(id)?), ("order_id", json::to_text(order_id)?)];
    tell(call, ASSIGNED, id, &driver.body, extra)
}

pub fn moved(call: &Call, id: &str, driver: &Object, fix: &Fix) -> Result<(), Stop> {
    let besides = &[("internal_id", "null"), ("name", "null"), ("phone", "null"), ("additionalData", "{}")];
    Moved { event: LOCATION, named: "driver_id", id, fix, stored: driver, besides }.tell(call)
}
