//! `nearby`: the orders whose pickup is within reach of a point, of a place, or of where a driver is; the nearest first.
//! More than a thousand in one place are refused: a smaller radius finds them. Nothing else is sorted by distance, and
//! this by nothing else.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Stop};

use crate::api::lists::Asked;
use crate::api::nearby;
use crate::records::{common, orders};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;

/// Orders that are measured at once.
const MEASURED_MAX: u32 = 1_000;

/// The orders that fit, the nearest first; `None`: nearness was not asked for.
pub fn find(call: &Call, asked: &Asked) -> Result<Option<Vec<Entry>>, Stop> {
    let Some(nearby) = nearby::asked(call)? else { return Ok(None) };
    let search = asked.search(Search::first(MEASURED_MAX))?;
    let search = common::within(search, "at.latitude", nearby.latitudes());
    let search = match nearby.longitudes() {
        Some(degrees) => common::within(search, "at.longitude", degrees),
        None => search,
    };
    let page = orders::find(call, &search)?;
    if page.next.is_some() {
        return Err(Invalid::Not { field: "radius", kind: "smaller: too many orders are near" }.into());
    }
    let mut candidates = Vec::new();
    for entry in page.entries {
        let order: Object = json::from_text(&entry.body)?;
        let at = position(&order);
        candidates.extend(at.map(|at| (entry, at)));
    }
    let found = nearby.find(candidates, MEASURED_MAX as usize);
    Ok(Some(found.into_iter().map(|(entry, _)| entry).collect()))
}

/// Where its pickup was when the order was last changed.
fn position(order: &Object) -> Option<Position> {
    let at = Object::parse(order.given("at")?).ok()?;
    Position::new(at.number("latitude").ok()??, at.number("longitude").ok()??).ok()
}
