//! Orders as they are stored, places and payload within them.

mod shapes;

use tenon_plugin::records::{Entry, RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop};

use super::common::{self, DRAWS_MAX, is_public_id, refused};
use crate::api::errors;
use crate::rules::order::{self, ProofMethod, TEXT_CHARS_MAX};
use crate::rules::place::Place;

pub use shapes::{PlaceText, waypoint_texts};

pub const COLLECTION: &str = "orders";
const BY_TRACKING_NUMBER: &str = "by-tracking-number";

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        Index::unique(BY_TRACKING_NUMBER, &["tracking_number.tracking_number"]),
        common::BY_CREATED,
        common::BY_UPDATED,
        Index::on("by-status", &["status", "@created-at"]),
        Index::on("by-internal-id", &["internal_id", "@created-at"]),
        Index::on("by-customer", &["customer.id", "@created-at"]),
        Index::on("by-type", &["type", "@created-at"]),
    ],
)];

/// The stops of an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    pub pickup: Option<Place>,
    pub dropoff: Option<Place>,
    pub return_to: Option<Place>,
    pub waypoints: Vec<Place>,
}

/// What an order is created from. `customer` and `meta` are JSON texts.
#[derive(Clone, Debug, PartialEq)]
pub struct NewOrder {
    pub internal_id: Option<String>,
    pub order_type: String,
    pub notes: Option<String>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub scheduled_at: Option<u64>,
    pub pod_method: Option<ProofMethod>,
    pub pod_required: bool,
    pub meta: Option<String>,
    pub customer: Option<String>,
    pub route: Route,
}

pub struct StoredOrder {
    pub id: String,
    pub tracking_number: String,
    pub body: String,
}

/// `id` is the public id or the caller's own `internal_id`; of several orders with the latter the newest.
pub fn load_order(call: &Call, id: &str) -> Result<Entry, Stop> {
    let orders = call.records(COLLECTION);
    if let Some(entry) = is_public_id("order", id).then(|| orders.get(id)).flatten() {
        return Ok(entry);
    }
    if id.is_empty() || id.contains('\0') || id.chars().nth(TEXT_CHARS_MAX).is_some() {
        return Err(errors::not_found());
    }
    let newest = orders.find(&Search::first(1).is("internal_id", id).descending("@created-at"))?;
    newest.entries.into_iter().next().ok_or_else(errors::not_found)
}

/// Draws its id and tracking number.
pub fn insert_order(call: &Call, order: &NewOrder) -> Result<StoredOrder, Stop> {
    let first_stop = order.route.pickup.as_ref().or(order.route.waypoints.first());
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("order");
        let random = call.random(8).into_iter().fold(0u64, |sum, byte| sum << 8 | u64::from(byte));
        let tracking_number =
            order::tracking_number(call.organization(), random, first_stop.unwrap_or(&Place::default()));
        let body = shapes::order_text(call, &id, &tracking_number, order)?;
        order::check_size(body.len())?;
        match call.records(COLLECTION).insert(&id, &body) {
            Ok(()) => return Ok(StoredOrder { id, tracking_number, body }),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(RecordRefusal::NotUnique(index)) if index == BY_TRACKING_NUMBER => {}
            Err(refusal) => return Err(refused(refusal).into()),
        }
    }
    Err(Stop::fault("no free order id was drawn"))
}

pub fn replace_order(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    order::check_size(body.len())?;
    Ok(common::replace(call, COLLECTION, id, body)?)
}

pub fn delete_order(call: &Call, id: &str) -> Result<(), Stop> {
    Ok(call.records(COLLECTION).delete(id)?)
}
