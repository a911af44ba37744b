//! Where stops of tours are found: their payload by their id. The stops themselves stand in it (`records::payloads`).
//!
//! Invariant: every stop that has a tracking number has an entry here, and no other one has; whoever numbers a stop or
//! removes one keeps it (`api::payloads::making`).

use std::collections::BTreeSet;

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use super::orders::text;

pub const COLLECTION: &str = "waypoints";
pub const PREFIX: &str = "waypoint";
/// Whether it is a pickup or a dropoff, which is no waypoint: it has a number, but no place in the list.
pub const IS_END: &str = "end";

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(COLLECTION, &[BY_CREATED, BY_UPDATED, Index::on("by-payload", &["payload", "@created-at"])])];

#[derive(Serialize)]
struct EntryText<'a> {
    id: &'a str,
    payload: &'a str,
    end: bool,
    updated_at: &'a str,
    created_at: &'a str,
}

pub fn insert(call: &Call, id: &str, payload: &str, end: bool) -> Result<(), Stop> {
    let now = time::to_text(call.now());
    let text = json::to_text(&EntryText { id, payload, end, updated_at: &now, created_at: &now })?;
    call.records(COLLECTION).insert(id, &text).map_err(common::refused)?;
    Ok(())
}

pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, id)
}

/// Those of the stops that are found here.
pub fn known(call: &Call, ids: &[String]) -> BTreeSet<String> {
    common::load_many(call, COLLECTION, PREFIX, ids).into_keys().collect()
}

/// Takes note that the stop has changed.
pub fn touch(call: &Call, id: &str) -> Result<(), Stop> {
    let Some(entry) = call.records(COLLECTION).get(id) else { return Ok(()) };
    let mut body: Object = json::from_text(&entry.body)?;
    body.set("updated_at", &time::to_text(call.now()))?;
    Ok(common::replace(call, COLLECTION, id, &body.to_text())?)
}

/// A stop that no tour had is not there.
pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    if call.records(COLLECTION).get(id).is_some() { common::delete(call, COLLECTION, id) } else { Ok(()) }
}

/// The id of its payload.
pub fn payload_of(entry: &Entry) -> Result<String, Stop> {
    text(&json::from_text(&entry.body)?, "payload").ok_or_else(|| Stop::fault("a waypoint of no payload"))
}
