//! Who is near, by the index on latitudes: nobody far away is looked at.

use tenon_plugin::json::Object;
use tenon_plugin::records::{Comparison, Entry, Search, Value};
use tenon_plugin::{Call, Stop};

use crate::records::common;
use crate::rules::driver::Status;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

/// Drivers who are measured in one search: more of them in one town are found with a smaller radius.
const MEASURED_MAX: usize = 5_000;
/// As many as the host gives.
pub const MEASURED_AT_ONCE: u32 = 1_000;
/// To whom an order is offered.
const OFFERED_MAX: usize = 100;

/// Who is online and near, the nearest first, with the metres between; at most a hundred.
pub fn online_near(call: &Call, nearby: Nearby) -> Result<Vec<(String, f64)>, Stop> {
    let search = Search::first(MEASURED_AT_ONCE)
        .with("online", Comparison::Equal(Value::Boolean(true)))
        .with("status", Comparison::NotEqual(Value::Text(Status::Inactive.name().to_owned())));
    let (candidates, _) = around(call, &nearby, search)?;
    let near = nearby.find(candidates, OFFERED_MAX);
    Ok(near.into_iter().map(|(entry, metres)| (entry.id, metres)).collect())
}

/// Who fits the search and lies within the degrees around the circle, with his position, in no order; and whether these
/// are all.
pub fn around(call: &Call, nearby: &Nearby, search: Search) -> Result<(Vec<(Entry, Position)>, bool), Stop> {
    let mut search = common::within(search, "latitude", nearby.latitudes());
    if let Some(degrees) = nearby.longitudes() {
        search = common::within(search, "longitude", degrees);
    }
    let mut found = Vec::new();
    loop {
        let page = super::find(call, &search)?;
        found.extend(page.entries.into_iter().filter_map(|entry| position_of(&entry.body).map(|at| (entry, at))));
        match page.next {
            Some(next) if found.len() < MEASURED_MAX => search = search.after(next),
            next => return Ok((found, next.is_none())),
        }
    }
}

/// Where the driver was seen last; `None`: nobody knows.
pub fn position_of(body: &str) -> Option<Position> {
    let driver = Object::parse(body).ok()?;
    let (latitude, longitude) = (driver.number("latitude").ok()??, driver.number("longitude").ok()??);
    Position::new(latitude, longitude).ok()
}
