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
pub mod devices;
pub mod drivers;
pub mod logins;
// Orders and payloads.
pub mod comments;
pub mod orders;
pub mod payloads;
pub mod waypoints;
// Tracking numbers, statuses, proofs.
pub mod files;
pub mod proofs;
pub mod tracking;

use tenon_plugin::{Collection, count, join};

pub use common::{DRAWS_MAX, is_public_id};
pub use endpoints::{StoredEndpoint, endpoint_text, insert_endpoint, list_endpoints, load_endpoint, put_endpoint};
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
    logins::COLLECTIONS,
    devices::COLLECTIONS,
    // Orders and payloads.
    orders::COLLECTIONS,
    payloads::COLLECTIONS,
    waypoints::COLLECTIONS,
    comments::COLLECTIONS,
    // Tracking numbers, statuses, proofs.
    tracking::COLLECTIONS,
    proofs::COLLECTIONS,
    files::COLLECTIONS,
];

pub const COLLECTIONS: &[Collection] = &join::<Collection, { count(LISTS) }>(LISTS);
