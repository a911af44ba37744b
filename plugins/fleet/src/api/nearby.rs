//! `nearby` and `radius` of a list: within how many metres of what. A point in any form, the id of a place, or of a driver,
//! who is where he was seen last.

use tenon_plugin::{Call, Stop, json};

use super::lists::single;
use super::places::mixed;
use crate::records::common::is_public_id;
use crate::records::{drivers, places};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

const NOT_A_POINT: Invalid = Invalid::Not { field: "nearby", kind: "a point, or the id of a place or a driver" };

const BY_DISTANCE: Invalid =
    Invalid::Not { field: "sort", kind: "distance together with nearby, and is distance nowhere else" };

/// `None`: nearness was not asked for. What is near is sorted by distance alone, and nothing else is.
pub fn asked(call: &Call) -> Result<Option<Nearby>, Stop> {
    let nearby = single(call, "nearby")?.map(str::trim);
    match single(call, "sort")? {
        Some(sort) if nearby.is_some() != (sort == "distance") => return Err(BY_DISTANCE.into()),
        _ => {}
    }
    let Some(text) = nearby else { return Ok(None) };
    let radius = match single(call, "radius")? {
        Some(text) => Some(text.parse().map_err(|_| Invalid::Not { field: "radius", kind: "a number" })?),
        None => None,
    };
    Ok(Some(Nearby::new(point(call, text)?, radius)?))
}

fn point(call: &Call, text: &str) -> Result<Position, Stop> {
    let unknown = || Invalid::NotAccepted { field: "nearby", why: "nobody knows where it is".to_owned() };
    if is_public_id("driver", text) {
        return Ok(drivers::position_of(&drivers::load(call, text)?.body).ok_or_else(unknown)?);
    }
    if is_public_id("place", text) {
        return Ok(places::position_of(&places::load(call, text)?.body).ok_or_else(unknown)?);
    }
    match text.as_bytes().first() {
        // Nobody has looked yet how deep it nests, as is done with bodies.
        Some(b'{' | b'[') if json::nests_within(text, json::DEPTH_MAX) => mixed::position("nearby", text),
        _ => Ok(Position::from_text(text).ok_or(NOT_A_POINT)?.map_err(|fault| fault.within("nearby"))?),
    }
}
