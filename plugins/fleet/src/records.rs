//! What is stored: names of collections and indexes, and every read and write of them.
//!
//! A record is the resource as the interface shows it, so that reading and listing pass the text on without parsing it.
//! Members that a later version adds survive, since updates patch the text.

pub mod drivers;
mod endpoints;
mod shapes;

use tenon_plugin::records::{Entry, Page, RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use crate::api::errors;
use crate::rules::driver::Driver;
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::order::{self, ProofMethod, TEXT_CHARS_MAX};
use crate::rules::place::Place;

pub use endpoints::{StoredEndpoint, endpoint_text, insert_endpoint, list_endpoints, load_endpoint, put_endpoint};
pub use shapes::{Number, PlaceText, Point, waypoint_texts};

const ORDERS: &str = "orders";
use drivers::DRIVERS;
const CONTACTS: &str = "contacts";

const BY_EMAIL: &str = "by-email";
const BY_PHONE: &str = "by-phone";
const BY_TRACKING_NUMBER: &str = "by-tracking-number";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(
        ORDERS,
        &[
            Index::unique(BY_TRACKING_NUMBER, &["tracking_number.tracking_number"]),
            Index::on("by-created", &["@created-at"]),
            Index::on("by-status", &["status", "@created-at"]),
            Index::on("by-internal-id", &["internal_id", "@created-at"]),
            Index::on("by-customer", &["customer.id", "@created-at"]),
            Index::on("by-type", &["type", "@created-at"]),
        ],
    ),
    drivers::COLLECTION,
    Collection::new(CONTACTS, &[Index::unique(BY_EMAIL, &["email"])]),
];

/// How often a random id or number that is taken already is drawn anew.
const DRAWS_MAX: usize = 4;

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

/// What a driver may have besides what the rules ask for. `meta` is a JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverExtras {
    pub internal_id: Option<String>,
    pub drivers_license_number: Option<String>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub license_expiry: Option<u64>,
    pub country: Option<String>,
    pub city: Option<String>,
    pub timezone: Option<String>,
    pub meta: Option<String>,
    pub position: Option<Position>,
}

/// A customer. `meta` is a JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contact {
    pub internal_id: Option<String>,
    pub name: Option<String>,
    pub title: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub meta: Option<String>,
}

/// "order_" and ten letters or digits; ids in the wild have capitals, so case counts (research/fleet 4).
pub fn is_public_id(prefix: &str, id: &str) -> bool {
    let suffix = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).unwrap_or_default();
    suffix.len() == 10 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `id` is the public id or the caller's own `internal_id`; of several orders with the latter the newest.
pub fn load_order(call: &Call, id: &str) -> Result<Entry, Stop> {
    let orders = call.records(ORDERS);
    if let Some(entry) = is_public_id("order", id).then(|| orders.get(id)).flatten() {
        return Ok(entry);
    }
    if id.is_empty() || id.contains('\0') || id.chars().nth(TEXT_CHARS_MAX).is_some() {
        return Err(errors::not_found());
    }
    let newest = orders.find(&Search::first(1).is("internal_id", id).descending("@created-at"))?;
    newest.entries.into_iter().next().ok_or_else(errors::not_found)
}

pub fn find_orders(call: &Call, search: &Search) -> Result<Page, Stop> {
    Ok(call.records(ORDERS).find(search)?)
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
        match call.records(ORDERS).insert(&id, &body) {
            Ok(()) => return Ok(StoredOrder { id, tracking_number, body }),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(RecordRefusal::NotUnique(index)) if index == BY_TRACKING_NUMBER => {}
            Err(refusal) => return Err(refused(refusal)),
        }
    }
    Err(Stop::fault("no free order id was drawn"))
}

pub fn replace_order(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    order::check_size(body.len())?;
    call.records(ORDERS).replace(id, body).map_err(refused)
}

pub fn delete_order(call: &Call, id: &str) -> Result<(), Stop> {
    Ok(call.records(ORDERS).delete(id)?)
}

pub fn load_driver(call: &Call, id: &str) -> Result<Entry, Stop> {
    let entry = is_public_id("driver", id).then(|| call.records(DRIVERS).get(id)).flatten();
    entry.ok_or_else(errors::not_found)
}

/// Gives the driver's text. Email and phone are unique within the organization.
pub fn insert_driver(call: &Call, driver: &Driver, extras: &DriverExtras) -> Result<String, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("driver");
        let body = shapes::driver_text(call, &id, driver, extras)?;
        match call.records(DRIVERS).insert(&id, &body) {
            Ok(()) => return Ok(body),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(RecordRefusal::NotUnique(index)) if index == BY_EMAIL => return Err(Invalid::Taken("email").into()),
            Err(RecordRefusal::NotUnique(index)) if index == BY_PHONE => return Err(Invalid::Taken("phone").into()),
            Err(refusal) => return Err(refused(refusal)),
        }
    }
    Err(Stop::fault("no free driver id was drawn"))
}

pub fn replace_driver(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    call.records(DRIVERS).replace(id, body).map_err(refused)
}

/// The contact's text. "customer_" is another name of the same ids.
pub fn load_contact(call: &Call, id: &str) -> Result<String, Stop> {
    let id = match id.strip_prefix("customer_") {
        Some(suffix) => ["contact_", suffix].concat(),
        None => id.to_owned(),
    };
    let entry = is_public_id("contact", &id).then(|| call.records(CONTACTS).get(&id)).flatten();
    entry.map(|entry| entry.body).ok_or_else(errors::not_found)
}

pub fn find_contact(call: &Call, email: &str) -> Result<Option<String>, Stop> {
    let page = call.records(CONTACTS).find(&Search::first(1).is("email", email))?;
    Ok(page.entries.into_iter().next().map(|entry| entry.body))
}

/// When two calls make the contact of one email at once, the unique index lets one through; the other runs again and finds it.
pub fn insert_contact(call: &Call, contact: &Contact) -> Result<String, Stop> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id("contact");
        let body = shapes::contact_text(&id, contact, &time::to_text(call.now()))?;
        match call.records(CONTACTS).insert(&id, &body) {
            Ok(()) => return Ok(body),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(refusal) => return Err(refused(refusal)),
        }
    }
    Err(Stop::fault("no free contact id was drawn"))
}

/// The bounds of the fields keep records far below the host's; what an older version stored may stand closer to it.
fn refused(refusal: RecordRefusal) -> Stop {
    match refusal {
        RecordRefusal::TooLarge => errors::too_large(),
        unforeseen => unforeseen.into(),
    }
}
