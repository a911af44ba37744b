//! Orders (spec/fleet; research/fleet 1.1): the table of their operations.
//!
//! What is stored is read and written by `standing`, moved by `moving`, shown by `shown`, told by `telling`.

mod actions;
mod activity;
mod changing;
mod comments;
mod creating;
mod deleting;
mod fields;
mod following;
mod form;
pub mod joined;
mod listing;
pub mod moving;
mod nearby;
mod reading;
pub mod releasing;
pub mod saying;
pub mod shown;
mod standing;
mod telling;
#[cfg(test)]
pub(super) mod tests;
mod tracking;
pub mod way;

use tenon_plugin::{Route, delete, get, patch, post, put};

pub use telling::EVENT_TYPES;
pub use telling::carried::EVENT_TYPES as CARRIED_EVENT_TYPES;

use super::lists::HEADERS;
use crate::records::files::ADDRESS;

pub const ROUTES: &[Route] = &[
    post("/v1/orders", "create-order", creating::create).headers(HEADERS).context(ADDRESS),
    get("/v1/orders", "list-orders", listing::list).headers(HEADERS).context(ADDRESS),
    get("/v1/orders/{id}", "read-order", reading::read).context(ADDRESS),
    put("/v1/orders/{id}", "update-order", changing::update).headers(HEADERS).context(ADDRESS),
    patch("/v1/orders/{id}", "patch-order", changing::update).headers(HEADERS).context(ADDRESS),
    delete("/v1/orders/{id}", "delete-order", deleting::delete),
    post("/v1/orders/{id}/dispatch", "dispatch-order", actions::dispatch).headers(HEADERS).context(ADDRESS),
    patch("/v1/orders/{id}/dispatch", "dispatch-order-patch", actions::dispatch).headers(HEADERS).context(ADDRESS),
    post("/v1/orders/{id}/schedule", "schedule-order", actions::schedule).headers(HEADERS).context(ADDRESS),
    patch("/v1/orders/{id}/schedule", "schedule-order-patch", actions::schedule).headers(HEADERS).context(ADDRESS),
    post("/v1/orders/{id}/start", "start-order", actions::start).headers(HEADERS).context(ADDRESS),
    delete("/v1/orders/{id}/cancel", "cancel-order", actions::cancel).headers(HEADERS).context(ADDRESS),
    post("/v1/orders/{id}/cancel", "cancel-order-post", actions::cancel).headers(HEADERS).context(ADDRESS),
    post("/v1/orders/{id}/update-activity", "update-activity", activity::update).headers(HEADERS).context(ADDRESS),
    patch("/v1/orders/{id}/update-activity", "update-activity-patch", activity::update)
        .headers(HEADERS)
        .context(ADDRESS),
    get("/v1/orders/{id}/next-activity", "next-activity", activity::next),
    post("/v1/orders/{id}/complete", "complete-order", actions::complete).headers(HEADERS).context(ADDRESS),
    post("/v1/orders/{id}/set-destination/{place}", "set-destination", actions::set_destination)
        .headers(HEADERS)
        .context(ADDRESS),
    patch("/v1/orders/{id}/set-destination/{place}", "set-destination-patch", actions::set_destination)
        .headers(HEADERS)
        .context(ADDRESS),
    get("/v1/orders/{id}/distance-and-time", "distance-and-time", way::read),
    get("/v1/orders/{id}/tracker", "track-order", following::tracker),
    get("/v1/orders/{id}/eta", "order-eta", following::eta),
    get("/v1/orders/{id}/comments", "list-comments", comments::list).headers(HEADERS),
    post("/v1/orders/{id}/comments", "create-comment", comments::create).headers(HEADERS),
    get("/v1/orders/{id}/editable-entity-fields", "editable-entity-fields", reading::editable_entity_fields),
];
