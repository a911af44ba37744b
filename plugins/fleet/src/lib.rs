//! The fleet operations interface (spec/fleet): orders, drivers, locations.
//!
//! Owns the table of what the interface offers. The rules are in `rules` (plain Rust), requests and answers in `api`, and
//! `records` is the only file that reads and writes what is stored.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod api;
pub mod records;
pub mod rules;
mod settings;
#[cfg(test)]
mod tests;

use tenon_plugin::{EventType, Plugin, Route, Task, count, delete, get, join, patch, post, put};

use api::{
    contacts, customers, drivers, entities, errors, files, order_configs, orders, organizations, payloads, places,
    proofs, stream, tracking_numbers, tracking_statuses, vehicles, waypoints, webhooks,
};
use records::files::{ADDRESS, ADDRESSES};

pub static PLUGIN: Plugin = Plugin::new("fleet", env!("CARGO_PKG_VERSION"))
    .title("Fleet operations: orders, drivers, tracking")
    .key_as_basic_user()
    .key_in_query("api_key")
    .tokens()
    .routes(ROUTES)
    .collections(records::COLLECTIONS)
    // Orders of version 1 held their places within themselves.
    .data(2, 2)
    .event_types(EVENT_TYPES)
    .tasks(TASKS)
    .settings(include_str!("settings.schema.json"))
    .envelope(ENVELOPE)
    .failures(errors::FAILURES)
    .invalid(422, errors::VALIDATION_FAILED)
    .render_error(errors::words)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);

const TASK_LISTS: &[&[Task]] = &[drivers::messages::TASKS, places::geocoding::TASKS];
const TASKS: &[Task] = &join::<Task, { count(TASK_LISTS) }>(TASK_LISTS);

/// Of routes whose callers may be strict.
const STRICT: &[&str] = api::unknown::HEADERS;

const ROUTES: &[Route] = &join::<Route, { count(ROUTE_LISTS) }>(ROUTE_LISTS);

const ROUTE_LISTS: &[&[Route]] = &[
    orders::ROUTES,
    payloads::ROUTES,
    waypoints::ROUTES,
    tracking_numbers::ROUTES,
    tracking_statuses::ROUTES,
    proofs::ROUTES,
    files::ROUTES,
    DRIVERS,
    drivers::linked::ROUTES,
    RESOURCES,
    EVENTS,
];

const DRIVERS: &[Route] = &[
    post("/v1/drivers", "create-driver", drivers::create).headers(STRICT).context(ADDRESS),
    get("/v1/drivers", "list-drivers", drivers::list).headers(STRICT).context(ADDRESS),
    post("/v1/drivers/login", "login-driver", drivers::login::login).headers(STRICT).context(ADDRESSES),
    post("/v1/drivers/login-with-sms", "login-driver-with-sms", drivers::login::login_with_sms).headers(STRICT),
    post("/v1/drivers/verify-code", "verify-driver-code", drivers::login::verify_code).headers(STRICT).context(ADDRESS),
    post("/v1/drivers/forgot-password", "forgot-driver-password", drivers::passwords::forget).headers(STRICT),
    post("/v1/drivers/reset-password", "reset-driver-password", drivers::passwords::reset).headers(STRICT),
    post("/v1/drivers/register-device", "register-device", drivers::devices::register).headers(STRICT),
    get("/v1/drivers/{id}", "read-driver", drivers::read).context(ADDRESS),
    put("/v1/drivers/{id}", "update-driver", drivers::update).headers(STRICT).context(ADDRESS),
    patch("/v1/drivers/{id}", "patch-driver", drivers::update).headers(STRICT).context(ADDRESS),
    delete("/v1/drivers/{id}", "delete-driver", drivers::delete),
    post("/v1/drivers/{id}/track", "track-driver", drivers::track).headers(STRICT).context(ADDRESS),
    put("/v1/drivers/{id}/track", "track-driver-put", drivers::track).headers(STRICT).context(ADDRESS),
    patch("/v1/drivers/{id}/track", "track-driver-patch", drivers::track).headers(STRICT).context(ADDRESS),
    post("/v1/drivers/{id}/toggle-online", "toggle-driver-online", drivers::toggle_online)
        .headers(STRICT)
        .context(ADDRESS),
    post("/v1/drivers/{id}/register-device", "register-driver-device", drivers::devices::register).headers(STRICT),
    get("/v1/drivers/{id}/organizations", "list-driver-organizations", drivers::organizations::list),
    get("/v1/drivers/{id}/current-organization", "read-driver-organization", drivers::organizations::current),
    post("/v1/drivers/{id}/switch-organization", "switch-driver-organization", drivers::organizations::switch)
        .headers(STRICT)
        .context(ADDRESS),
    post("/v1/drivers/{id}/change-password", "change-driver-password", drivers::passwords::change)
        .headers(STRICT)
        .context(ADDRESSES),
];

/// Places, contacts, customers, vehicles, entities, order configurations, the organization.
const RESOURCES: &[Route] = &[
    get("/v1/organizations/current", "read-organization", organizations::current),
    post("/v1/places", "create-place", places::create).headers(STRICT),
    get("/v1/places", "list-places", places::list).headers(STRICT),
    get("/v1/places/search", "search-places", places::search).headers(STRICT),
    get("/v1/places/{id}", "read-place", places::read),
    put("/v1/places/{id}", "update-place", places::update).headers(STRICT),
    patch("/v1/places/{id}", "patch-place", places::update).headers(STRICT),
    delete("/v1/places/{id}", "delete-place", places::delete),
    post("/v1/contacts", "create-contact", contacts::create).headers(STRICT),
    get("/v1/contacts", "list-contacts", contacts::list).headers(STRICT),
    get("/v1/contacts/{id}", "read-contact", contacts::read),
    put("/v1/contacts/{id}", "update-contact", contacts::update).headers(STRICT),
    patch("/v1/contacts/{id}", "patch-contact", contacts::update).headers(STRICT),
    delete("/v1/contacts/{id}", "delete-contact", contacts::delete),
    post("/v1/customers", "create-customer", customers::create).headers(STRICT),
    get("/v1/customers", "list-customers", customers::list).headers(STRICT),
    get("/v1/customers/{id}", "read-customer", customers::read),
    put("/v1/customers/{id}", "update-customer", customers::update).headers(STRICT),
    patch("/v1/customers/{id}", "patch-customer", customers::update).headers(STRICT),
    delete("/v1/customers/{id}", "delete-customer", customers::delete),
    post("/v1/vehicles", "create-vehicle", vehicles::create).headers(STRICT),
    get("/v1/vehicles", "list-vehicles", vehicles::list).headers(STRICT),
    get("/v1/vehicles/{id}", "read-vehicle", vehicles::read),
    put("/v1/vehicles/{id}", "update-vehicle", vehicles::update).headers(STRICT),
    patch("/v1/vehicles/{id}", "patch-vehicle", vehicles::update).headers(STRICT),
    delete("/v1/vehicles/{id}", "delete-vehicle", vehicles::delete),
    post("/v1/vehicles/{id}/track", "track-vehicle", vehicles::track).headers(STRICT),
    put("/v1/vehicles/{id}/track", "track-vehicle-put", vehicles::track).headers(STRICT),
    patch("/v1/vehicles/{id}/track", "track-vehicle-patch", vehicles::track).headers(STRICT),
    post("/v1/entities", "create-entity", entities::create).headers(STRICT),
    get("/v1/entities", "list-entities", entities::list).headers(STRICT),
    get("/v1/entities/{id}", "read-entity", entities::read),
    put("/v1/entities/{id}", "update-entity", entities::update).headers(STRICT),
    patch("/v1/entities/{id}", "patch-entity", entities::update).headers(STRICT),
    delete("/v1/entities/{id}", "delete-entity", entities::delete),
    post("/v1/order-configs", "create-order-config", order_configs::create).headers(STRICT),
    get("/v1/order-configs", "list-order-configs", order_configs::list).headers(STRICT),
    get("/v1/order-configs/{id}", "read-order-config", order_configs::read),
    put("/v1/order-configs/{id}", "update-order-config", order_configs::update).headers(STRICT),
    patch("/v1/order-configs/{id}", "patch-order-config", order_configs::update).headers(STRICT),
    delete("/v1/order-configs/{id}", "delete-order-config", order_configs::delete),
];

/// Events and webhooks.
const EVENTS: &[Route] = &[
    get("/v1/stream", "stream-events", stream::open),
    get("/v1/events", "list-events", stream::list).headers(STRICT),
    post("/v1/webhook-endpoints", "create-webhook", webhooks::create).headers(STRICT),
    get("/v1/webhook-endpoints", "list-webhooks", webhooks::list).headers(STRICT),
    get("/v1/webhook-endpoints/{id}", "read-webhook", webhooks::read),
    put("/v1/webhook-endpoints/{id}", "update-webhook", webhooks::update).headers(STRICT),
    patch("/v1/webhook-endpoints/{id}", "patch-webhook", webhooks::update).headers(STRICT),
    delete("/v1/webhook-endpoints/{id}", "delete-webhook", webhooks::delete),
    post("/v1/webhook-endpoints/{id}/enable", "enable-webhook", webhooks::enable),
    post("/v1/webhook-endpoints/{id}/disable", "disable-webhook", webhooks::disable),
    post("/v1/webhook-endpoints/{id}/rotate", "rotate-webhook", webhooks::rotate),
    post("/v1/webhook-endpoints/{id}/test", "test-webhook", webhooks::send_test),
    post("/v1/webhook-endpoints/{id}/recover", "recover-webhook", webhooks::recover).headers(STRICT),
    get("/v1/webhook-endpoints/{id}/deliveries", "list-deliveries", webhooks::list_deliveries).headers(STRICT),
    get("/v1/webhook-endpoints/{id}/deliveries/{event}/attempts", "list-attempts", webhooks::attempts),
    post("/v1/webhook-endpoints/{id}/deliveries/{event}/redeliver", "redeliver", webhooks::redeliver),
];

/// The same for every event (research/fleet 6.1).
const ENVELOPE: &str =
    r#"{"id":"{event-id}","api_version":"2024-03-12","event":"{event-type}","created_at":"{time}","data":"{payload}"}"#;

const EVENT_TYPES: &[EventType] = &join::<EventType, { count(EVENT_LISTS) }>(EVENT_LISTS);

const EVENT_LISTS: &[&[EventType]] = &[
    orders::EVENT_TYPES,
    orders::CARRIED_EVENT_TYPES,
    payloads::EVENT_TYPES,
    tracking_numbers::EVENT_TYPES,
    drivers::events::TYPES,
    RESOURCE_EVENTS,
    WEBHOOK_EVENTS,
];

/// Places, contacts, vehicles, entities, order configurations.
const RESOURCE_EVENTS: &[EventType] = &[
    EventType::new(places::CREATED_EVENT, "A place was created by itself.", RESOURCE),
    EventType::new(places::UPDATED_EVENT, "A place was changed.", RESOURCE),
    EventType::new(places::DELETED_EVENT, "A place was deleted.", RESOURCE),
    EventType::new(contacts::CREATED_EVENT, "A contact was created by itself.", RESOURCE),
    EventType::new(contacts::UPDATED_EVENT, "A contact was changed.", RESOURCE),
    EventType::new(contacts::DELETED_EVENT, "A contact was deleted.", RESOURCE),
    EventType::new(vehicles::CREATED_EVENT, "A vehicle was created.", RESOURCE),
    EventType::new(vehicles::UPDATED_EVENT, "A vehicle was changed.", RESOURCE),
    EventType::new(vehicles::DELETED_EVENT, "A vehicle was deleted.", RESOURCE),
    EventType::new(
        vehicles::location::LOCATION_EVENT,
        "A vehicle has moved: its location was posted to its track endpoint, or to that of the driver who drives it.",
        VEHICLE_LOCATION,
    ),
    EventType::new(entities::CREATED_EVENT, "An entity was created by itself.", RESOURCE),
    EventType::new(entities::UPDATED_EVENT, "An entity was changed.", RESOURCE),
    EventType::new(entities::DELETED_EVENT, "An entity was deleted.", RESOURCE),
    EventType::new(order_configs::CREATED_EVENT, "An order configuration was created.", RESOURCE),
    EventType::new(order_configs::UPDATED_EVENT, "An order configuration was changed.", RESOURCE),
    EventType::new(order_configs::DELETED_EVENT, "An order configuration was deleted.", RESOURCE),
];

const WEBHOOK_EVENTS: &[EventType] = &[EventType::new(
    webhooks::TEST_EVENT,
    "An endpoint asked for something to try itself with; goes to that endpoint alone.",
    r#"{"type":"object","required":["webhook_id"],"properties":{"webhook_id":{"type":"string"}}}"#,
)];

/// The resource itself, others within it as their ids.
const RESOURCE: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#;

const VEHICLE_LOCATION: &str = r#"{"type":"object","required":["vehicle_id","latitude","longitude","heading","speed","id","location"],"properties":{"vehicle_id":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"heading":{"type":["number","null"]},"speed":{"type":["number","null"]},"altitude":{"type":["number","null"]},"id":{"type":"string"},"internal_id":{"type":["string","null"]},"name":{"type":["string","null"]},"plate_number":{"type":["string","null"]},"driver":{"type":["string","null"]},"location":{"type":"object"}}}"#;
