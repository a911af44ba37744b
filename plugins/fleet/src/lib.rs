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

use tenon_plugin::{EventType, Plugin, Route, count, delete, get, join, patch, post, put};

use api::{drivers, errors, files, orders, proofs, stream, tracking_numbers, tracking_statuses, webhooks};

pub static PLUGIN: Plugin = Plugin::new("fleet", env!("CARGO_PKG_VERSION"))
    .title("Fleet operations: orders, drivers, tracking")
    .key_as_basic_user()
    .key_in_query("api_key")
    .tokens()
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    .event_types(EVENT_TYPES)
    .envelope(ENVELOPE)
    .failures(errors::FAILURES)
    .invalid(422, errors::VALIDATION_FAILED)
    .words(errors::words)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);

const ROUTES: &[Route] = &join::<Route, { count(ROUTE_LISTS) }>(ROUTE_LISTS);

const ROUTE_LISTS: &[&[Route]] = &[
    // Tracking numbers, statuses, proofs.
    tracking_numbers::ROUTES,
    tracking_statuses::ROUTES,
    proofs::ROUTES,
    files::ROUTES,
    OWN_ROUTES,
];

const OWN_ROUTES: &[Route] = &[
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
    get("/v1/stream", "stream-events", stream::open),
    get("/v1/events", "list-events", stream::list),
    post("/v1/webhook-endpoints", "create-webhook", webhooks::create),
    get("/v1/webhook-endpoints", "list-webhooks", webhooks::list),
    get("/v1/webhook-endpoints/{id}", "read-webhook", webhooks::read),
    put("/v1/webhook-endpoints/{id}", "update-webhook", webhooks::update),
    patch("/v1/webhook-endpoints/{id}", "patch-webhook", webhooks::update),
    delete("/v1/webhook-endpoints/{id}", "delete-webhook", webhooks::delete),
    post("/v1/webhook-endpoints/{id}/enable", "enable-webhook", webhooks::enable),
    post("/v1/webhook-endpoints/{id}/disable", "disable-webhook", webhooks::disable),
    post("/v1/webhook-endpoints/{id}/rotate", "rotate-webhook", webhooks::rotate),
    post("/v1/webhook-endpoints/{id}/test", "test-webhook", webhooks::send_test),
    post("/v1/webhook-endpoints/{id}/recover", "recover-webhook", webhooks::recover),
    get("/v1/webhook-endpoints/{id}/deliveries", "list-deliveries", webhooks::list_deliveries),
    get("/v1/webhook-endpoints/{id}/deliveries/{event}/attempts", "list-attempts", webhooks::attempts),
    post("/v1/webhook-endpoints/{id}/deliveries/{event}/redeliver", "redeliver", webhooks::redeliver),
];

/// The same for every event (research/fleet 6.1).
const ENVELOPE: &str =
    r#"{"id":"{event-id}","api_version":"2024-03-12","event":"{event-type}","created_at":"{time}","data":"{payload}"}"#;

const EVENT_TYPES: &[EventType] = &join::<EventType, { count(EVENT_LISTS) }>(EVENT_LISTS);

const EVENT_LISTS: &[&[EventType]] = &[
    // Tracking numbers, statuses.
    tracking_numbers::EVENT_TYPES,
    OWN_EVENT_TYPES,
];

const OWN_EVENT_TYPES: &[EventType] = &[
    EventType::new(
        orders::CREATED_EVENT,
        "An order was created.",
        r#"{"type":"object","required":["order_id","tracking_number","customer_id"],"properties":{"order_id":{"type":"string"},"tracking_number":{"type":"string"},"customer_id":{"type":["string","null"]},"internal_id":{"type":["string","null"]},"status":{"type":"string"},"type":{"type":"string"}}}"#,
    ),
    EventType::new(
        drivers::LOCATION_EVENT,
        "A driver's location was posted to the track endpoint.",
        r#"{"type":"object","required":["driver_id","latitude","longitude","heading","speed"],"properties":{"driver_id":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"heading":{"type":["number","null"]},"speed":{"type":["number","null"]},"altitude":{"type":["number","null"]}}}"#,
    ),
    EventType::new(
        webhooks::TEST_EVENT,
        "An endpoint asked for something to try itself with; goes to that endpoint alone.",
        r#"{"type":"object","required":["webhook_id"],"properties":{"webhook_id":{"type":"string"}}}"#,
    ),
];
