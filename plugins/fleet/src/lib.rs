//! The fleet operations interface (spec/fleet): orders, drivers, locations.
//!
//! Owns the table of what the interface offers. The rules are in `rules` (plain Rust), requests and answers in `api`, and
//! `records` is the only file that reads and writes what is stored.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod api;
pub mod records;
pub mod rules;
#[cfg(test)]
mod tests;

use tenon_plugin::{EventType, Plugin, Route, delete, get, patch, post, put};

use api::{drivers, errors, orders};

pub static PLUGIN: Plugin = Plugin::new("fleet", env!("CARGO_PKG_VERSION"))
    .title("Fleet operations: orders, drivers, tracking")
    .key_as_basic_user()
    .key_in_query("api_key")
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    .event_types(EVENT_TYPES)
    .failures(errors::FAILURES)
    .invalid(422, errors::VALIDATION_FAILED)
    .words(errors::words)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);

const ROUTES: &[Route] = &[
    post("/v1/orders", "create-order", orders::create),
    get("/v1/orders", "list-orders", orders::list),
    get("/v1/orders/{id}", "read-order", orders::read),
    put("/v1/orders/{id}", "update-order", orders::update),
    patch("/v1/orders/{id}", "patch-order", orders::update),
    delete("/v1/orders/{id}", "delete-order", orders::delete),
    post("/v1/drivers", "create-driver", drivers::create),
    get("/v1/drivers/{id}", "read-driver", drivers::read),
    post("/v1/drivers/{id}/track", "track-driver", drivers::track),
    put("/v1/drivers/{id}/track", "track-driver-put", drivers::track),
    patch("/v1/drivers/{id}/track", "track-driver-patch", drivers::track),
];

const EVENT_TYPES: &[EventType] = &[
    EventType {
        name: orders::CREATED_EVENT,
        description: "An order was created.",
        schema: r#"{"type":"object","required":["order_id","tracking_number","customer_id"],"properties":{"order_id":{"type":"string"},"tracking_number":{"type":"string"},"customer_id":{"type":["string","null"]},"internal_id":{"type":["string","null"]},"status":{"type":"string"},"type":{"type":"string"}}}"#,
    },
    EventType {
        name: drivers::LOCATION_EVENT,
        description: "A driver's location was posted to the track endpoint.",
        schema: r#"{"type":"object","required":["driver_id","latitude","longitude","heading","speed"],"properties":{"driver_id":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"heading":{"type":["number","null"]},"speed":{"type":["number","null"]},"altitude":{"type":["number","null"]}}}"#,
    },
];
