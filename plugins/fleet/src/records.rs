//! What is stored: a module for each collection, which alone reads and writes it.
//!
//! A record is the resource as the interface shows it, less what is joined when it is shown; references are ids. Members
//! that a later version adds survive, since updates patch the text.

pub mod common;
pub mod configurations;
pub mod contacts;
mod endpoints;
pub mod entities;
pub mod places;
pub mod shapes;
pub mod vehicles;

// Drivers.
pub mod drivers;
// Orders and payloads.
pub mod orders;
// Tracking numbers, statuses, proofs.
pub mod files;
pub mod proofs;
pub mod tracking;

use tenon_plugin::{Collection, count, join};

pub use common::is_public_id;
pub use drivers::{DriverExtras, insert_driver, load_driver, replace_driver};
pub use endpoints::{StoredEndpoint, endpoint_text, insert_endpoint, list_endpoints, load_endpoint, put_endpoint};
pub use orders::{
    NewOrder, PlaceText, Route, StoredOrder, delete_order, insert_order, load_order, replace_order, waypoint_texts,
};
pub use shapes::{Number, Point};

const LISTS: &[&[Collection]] = &[
    // Places, contacts, vehicles, entities, configurations.
    places::COLLECTIONS,
    contacts::COLLECTIONS,
    vehicles::COLLECTIONS,
    entities::COLLECTIONS,
    configurations::COLLECTIONS,
    // Drivers.
    drivers::COLLECTIONS,
    // Orders and payloads.
    orders::COLLECTIONS,
    // Tracking numbers, statuses, proofs.
    tracking::COLLECTIONS,
    proofs::COLLECTIONS,
    files::COLLECTIONS,
];

pub const COLLECTIONS: &[Collection] = &join::<Collection, { count(LISTS) }>(LISTS);
