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

use api::unknown::HEADERS;
use api::{drivers, errors, orders, stream, webhooks};

pub static PLUGIN: Plugin = Plugin::new("fleet", env!("CARGO_PKG_VERSION"))
    .title("Fleet operations: orders, drivers, tracking")
    .key_as_basic_user()
    .key_in_query("api_key")
    .tokens()
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    .event_types(EVENT_TYPES)
    .tasks(drivers::messages::TASKS)
    .envelope(ENVELOPE)
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
    // Drivers.
    post("/v1/drivers", "create-driver", drivers::create).headers(HEADERS),
    get("/v1/drivers", "list-drivers", drivers::list).headers(HEADERS),
    post("/v1/drivers/login", "login-driver", drivers::login::login).headers(HEADERS),
    post("/v1/drivers/login-with-sms", "login-driver-with-sms", drivers::login::login_with_sms).headers(HEADERS),
    post("/v1/drivers/verify-code", "verify-driver-code", drivers::login::verify_code).headers(HEADERS),
    post("/v1/drivers/forgot-password", "forgot-driver-password", drivers::passwords::forget).headers(HEADERS),
    post("/v1/drivers/reset-password", "reset-driver-password", drivers::passwords::reset).headers(HEADERS),
    post("/v1/drivers/register-device", "register-device", drivers::devices::register).headers(HEADERS),
    get("/v1/drivers/{id}", "read-driver", drivers::read),
    put("/v1/drivers/{id}", "update-driver", drivers::update).headers(HEADERS),
    patch("/v1/drivers/{id}", "patch-driver", drivers::update).headers(HEADERS),
    delete("/v1/drivers/{id}", "delete-driver", drivers::delete),
    post("/v1/drivers/{id}/track", "track-driver", drivers::track).headers(HEADERS),
    put("/v1/drivers/{id}/track", "track-driver-put", drivers::track).headers(HEADERS),
    patch("/v1/drivers/{id}/track", "track-driver-patch", drivers::track).headers(HEADERS),
    post("/v1/drivers/{id}/toggle-online", "toggle-driver-online", drivers::toggle_online).headers(HEADERS),
    post("/v1/drivers/{id}/register-device", "register-driver-device", drivers::devices::register).headers(HEADERS),
    get("/v1/drivers/{id}/organizations", "list-driver-organizations", drivers::organizations::list),
    get("/v1/drivers/{id}/current-organization", "read-driver-organization", drivers::organizations::current),
    post("/v1/drivers/{id}/switch-organization", "switch-driver-organization", drivers::organizations::switch)
        .headers(HEADERS),
    post("/v1/drivers/{id}/change-password", "change-driver-password", drivers::passwords::change).headers(HEADERS),
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

const EVENT_LISTS: &[&[EventType]] = &[OWN_EVENT_TYPES, drivers::events::TYPES];
const EVENT_TYPES: &[EventType] = &join::<EventType, { count(EVENT_LISTS) }>(EVENT_LISTS);

const OWN_EVENT_TYPES: &[EventType] = &[
    EventType::new(
        orders::CREATED_EVENT,
        "An order was created.",
        r#"{"type":"object","required":["order_id","tracking_number","customer_id"],"properties":{"order_id":{"type":"string"},"tracking_number":{"type":"string"},"customer_id":{"type":["string","null"]},"internal_id":{"type":["string","null"]},"status":{"type":"string"},"type":{"type":"string"}}}"#,
    ),
    EventType::new(
        webhooks::TEST_EVENT,
        "An endpoint asked for something to try itself with; goes to that endpoint alone.",
        r#"{"type":"object","required":["webhook_id"],"properties":{"webhook_id":{"type":"string"}}}"#,
    ),
];
