//! Who is near, by the index on latitudes: nobody far away is looked at.

use std::collections::BTreeMap;

use tenon_plugin::json::Object;
use tenon_plugin::records::{Comparison, Entry, Search, Value};
use tenon_plugin::{Call, Stop};

use crate::records::common;
use crate::rules::driver::Status;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

/// Drivers who are measured in one search, in all its rings together: more of them in one town are found with a smaller
/// radius.
const MEASURED_MAX: usize = 5_000;
/// As many as the host gives.
pub const MEASURED_AT_ONCE: u32 = 1_000;

/// Who is online and near, the nearest first, with the metres between; at most so many. It is looked from ring to ring,
/// no further than where enough of them are.
pub fn online_near(call: &Call, nearby: Nearby, most: usize) -> Result<Vec<(String, f64)>, Stop> {
    let (mut found, mut left) = (BTreeMap::new(), MEASURED_MAX);
    for ring in nearby.rings() {
        add_online(call, &ring, &mut found, &mut left)?;
        if found.len() >= most || left == 0 {
            break;
        }
    }
    let mut near: Vec<(String, f64)> = found.into_iter().collect();
    near.sort_by(|(_, left), (_, right)| left.total_cmp(right));
    near.truncate(most);
    Ok(near)
}

/// A wider ring has in it whoever was found in a narrower one. `left`: who may still be measured.
fn add_online(call: &Call, ring: &Nearby, found: &mut BTreeMap<String, f64>, left: &mut usize) -> Result<(), Stop> {
    let search = Search::first(MEASURED_AT_ONCE)
        .with("online", Comparison::Equal(Value::Boolean(true)))
        .with("status", Comparison::NotEqual(Value::Text(Status::Inactive.name().to_owned())));
    let mut search = within(search, ring);
    loop {
        let page = super::find(call, &search)?;
        *left = left.saturating_sub(page.entries.len());
        found.extend(
            page.entries.into_iter().filter_map(|entry| Some((entry.id, ring.reach_m(position_of(&entry.body)?)?))),
        );
        match page.next {
            Some(next) if *left > 0 => search = search.after(next),
            _ => return Ok(()),
        }
    }
}

/// Who fits the search and lies within the degrees around the circle, with his position, in no order; and whether these
/// are all.
pub fn around(call: &Call, nearby: &Nearby, search: Search) -> Result<(Vec<(Entry, Position)>, bool), Stop> {
    let mut search = within(search, nearby);
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

/// Only those who lie within the degrees around the circle.
fn within(search: Search, nearby: &Nearby) -> Search {
    let search = common::within(search, "latitude", nearby.latitudes());
    match nearby.longitudes() {
        Some(degrees) => common::within(search, "longitude", degrees),
        None => search,
    }
}

/// Where the driver was seen last; `None`: nobody knows.
pub fn position_of(body: &str) -> Option<Position> {
    let driver = Object::parse(body).ok()?;
    let (latitude, longitude) = (driver.number("latitude").ok()??, driver.number("longitude").ok()??);
    Position::new(latitude, longitude).ok()
}
