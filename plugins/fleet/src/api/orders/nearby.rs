//! `nearby`: the orders whose pickup is within reach of a point, of a place, or of where a driver is. The nearest hundred
//! of those that fit the other filters are looked through.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Call, Stop};

use super::listing::IDS_MAX;
use crate::api::lists::Asked;
use crate::api::places::mixed;
use crate::records::{common, drivers, orders, places};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::location::distance::Nearby;

/// Orders that are measured at once.
const MEASURED_MAX: u32 = 1_000;

const NOT_A_POINT: Invalid = Invalid::Not { field: "nearby", kind: "a point, or the id of a place or a driver" };

pub fn narrow(call: &Call, asked: &mut Asked) -> Result<(), Stop> {
    let Some(text) = call.query("nearby").map(str::trim) else { return Ok(()) };
    let radius = match call.query("radius") {
        Some(text) => Some(text.parse::<f64>().map_err(|_| Invalid::Not { field: "radius", kind: "a number" })?),
        None => None,
    };
    let nearby = Nearby::new(point(call, text)?, radius)?;
    let search = asked.conditions(Search::first(MEASURED_MAX));
    let search = within(search, "at.latitude", nearby.latitudes());
    let search = match nearby.longitudes() {
        Some(degrees) => within(search, "at.longitude", degrees),
        None => search,
    };
    let page = orders::find(call, &search)?;
    let mut candidates = Vec::new();
    for entry in page.entries {
        let order: Object = json::from_text(&entry.body)?;
        candidates.extend(position(&order).map(|at| (entry.id, at)));
    }
    let near = nearby.find(candidates, IDS_MAX);
    asked.narrow("@id", Comparison::OneOf(near.into_iter().map(|(id, _)| Value::Text(id)).collect()));
    Ok(())
}

/// Where its pickup was when the order was last changed.
fn position(order: &Object) -> Option<Position> {
    let at = Object::parse(order.given("at")?).ok()?;
    Position::new(at.number("latitude").ok()??, at.number("longitude").ok()??).ok()
}

fn point(call: &Call, text: &str) -> Result<Position, Stop> {
    if text.starts_with(['{', '[']) {
        return mixed::position("nearby", text);
    }
    let found = if common::is_public_id("driver", text) {
        drivers::position_of(&drivers::load(call, text)?.body)
    } else if common::is_public_id("place", text) {
        places::position_of(&places::load(call, text)?.body)
    } else {
        Position::from_text(text).transpose()?
    };
    found.ok_or_else(|| NOT_A_POINT.into())
}

fn within(search: Search, field: &str, (least, most): (f64, f64)) -> Search {
    search
        .with(field, Comparison::AtLeast(Value::Number(least)))
        .with(field, Comparison::AtMost(Value::Number(most)))
}
