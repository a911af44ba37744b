//! Drivers as they are stored, which is as they are shown but for what is joined: `vehicle` and `current_job` are ids.
//! What nobody may see (password, codes) lies with `logins`.
//!
//! Invariant: `latitude` and `longitude` stand beside `location` and say the same, so that an index finds who is near;
//! both are null where nobody knows.

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Comparison, Entry, Search, Value};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::is_public_id;
use crate::api::errors;
use crate::rules::driver::Status;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

pub const DRIVERS: &str = "drivers";

pub const COLLECTION: Collection = Collection::new(
    DRIVERS,
    &[
        Index::on("by-created", &["@created-at"]),
        Index::on("by-latitude", &["latitude"]),
        Index::unique(super::BY_EMAIL, &["email"]),
        Index::unique(super::BY_PHONE, &["phone"]),
    ],
);

/// Of one search for who is near: so many are measured. More of them in one town are told to search closer.
const NEAR_MAX: usize = 5_000;
const PAGE: u32 = 1_000;
/// Of an order that is offered to those nearby.
const OFFERED_MAX: usize = 100;

/// 404 where there is none.
pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    let entry = is_public_id("driver", id).then(|| call.records(DRIVERS).get(id)).flatten();
    entry.ok_or_else(errors::not_found)
}

/// Texts by id, in one question; what is not there is left out.
pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    let found = if ids.is_empty() { Vec::new() } else { call.records(DRIVERS).get_many(ids) };
    found.into_iter().flatten().map(|entry| (entry.id, entry.body)).collect()
}

pub fn replace(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    call.records(DRIVERS).replace(id, body).map_err(super::refused)
}

/// The order becomes what the driver is at.
pub fn take_job(call: &Call, driver_id: &str, order_id: &str) -> Result<(), Stop> {
    let entry = load(call, driver_id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    driver.set("current_job", order_id)?;
    driver.set("updated_at", &time::to_text(call.now()))?;
    replace(call, driver_id, &driver.to_text())
}

/// The driver is done with this order; nothing changes where he is at another one, or is not there any more.
pub fn free(call: &Call, driver_id: &str, order_id: &str) -> Result<(), Stop> {
    let found = load_many(call, &[driver_id.to_owned()]);
    let Some(body) = found.get(driver_id) else { return Ok(()) };
    let mut driver: Object = json::from_text(body)?;
    if driver.text("current_job").ok().flatten().as_deref() != Some(order_id) {
        return Ok(());
    }
    driver.set_raw("current_job", "null");
    driver.set("updated_at", &time::to_text(call.now()))?;
    replace(call, driver_id, &driver.to_text())
}

/// Who is online and near, the nearest first, with the metres between; at most a hundred.
pub fn online_near(call: &Call, nearby: Nearby) -> Result<Vec<(String, f64)>, Stop> {
    let search = Search::first(PAGE)
        .with("online", Comparison::Equal(Value::Boolean(true)))
        .with("status", Comparison::NotEqual(Value::Text(Status::Inactive.name().to_owned())));
    let (candidates, _) = around(call, &nearby, search)?;
    let near = nearby.find(candidates, OFFERED_MAX);
    Ok(near.into_iter().map(|(entry, metres)| (entry.id, metres)).collect())
}

/// Who lies within the degrees around a circle and fits the search, with his position, in no order; whether these are all.
pub fn around(call: &Call, nearby: &Nearby, search: Search) -> Result<(Vec<(Entry, Position)>, bool), Stop> {
    let (south, north) = nearby.latitudes();
    let mut search = within(search, "latitude", (south, north));
    if let Some(degrees) = nearby.longitudes() {
        search = within(search, "longitude", degrees);
    }
    let (mut found, mut next) = (Vec::new(), None);
    loop {
        let page = call.records(DRIVERS).find(&search_on(&search, next))?;
        found.extend(page.entries.into_iter().filter_map(|entry| position_of(&entry.body).map(|at| (entry, at))));
        next = page.next;
        if next.is_none() || found.len() >= NEAR_MAX {
            return Ok((found, next.is_none()));
        }
    }
}

fn within(search: Search, field: &str, (least, most): (f64, f64)) -> Search {
    search
        .with(field, Comparison::AtLeast(Value::Number(least)))
        .with(field, Comparison::AtMost(Value::Number(most)))
}

fn search_on(search: &Search, next: Option<String>) -> Search {
    match next {
        Some(next) => search.clone().after(next),
        None => search.clone(),
    }
}

/// Where the driver was last seen; `None`: nobody knows.
pub fn position_of(body: &str) -> Option<Position> {
    let driver = Object::parse(body).ok()?;
    let (latitude, longitude) = (driver.number("latitude").ok()??, driver.number("longitude").ok()??);
    Position::new(latitude, longitude).ok()
}
