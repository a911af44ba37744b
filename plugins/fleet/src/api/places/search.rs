//! GET /v1/places/search: places whose name or street begins with a text, the nearest first where a position is given.

use std::collections::BTreeSet;

use tenon_plugin::records::{Comparison, Entry, Search};
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use crate::api::actor;
use crate::api::lists::{Limit, single};
use crate::records::common;
use crate::records::places::{self, COLLECTION, NAME_KEY, STREET_KEY, key_of};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::location::distance::straight_m;
use crate::rules::text;

const LIMIT_DEFAULT: u32 = 10;
const QUERY_CHARS_MAX: usize = 128;
/// Places that are measured: those that were made last.
const LOOKED_AT: u32 = 500;

pub fn search(call: &Call) -> Outcome {
    actor::manage(call)?;
    let limit = Limit::of(call, LIMIT_DEFAULT)?;
    let around = around(call)?;
    let query = single(call, "query")?.unwrap_or_default().trim();
    text::check_line("query", query, QUERY_CHARS_MAX)?;
    let mut found = found(call, query)?;
    if let Some(around) = around {
        sort_by_distance(&mut found, around);
    }
    found.truncate(limit.entries as usize);
    let shown: Vec<String> = found.iter().map(|entry| places::shown(&entry.body)).collect::<Result<_, _>>()?;
    Ok(limit.tell(Answer::ok(json::array(shown.iter().map(String::as_str)))))
}

/// Each once; those whose name fits before those whose street does.
fn found(call: &Call, query: &str) -> Result<Vec<Entry>, Stop> {
    if query.is_empty() {
        let newest = Search::first(LOOKED_AT).descending("@created-at");
        return Ok(common::find(call, COLLECTION, &newest)?.entries);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for key in [NAME_KEY, STREET_KEY] {
        let search = Search::first(LOOKED_AT).with(key, Comparison::StartsWith(key_of(query)));
        let page = common::find(call, COLLECTION, &search)?;
        found.extend(page.entries.into_iter().filter(|entry| seen.insert(entry.id.clone())));
    }
    Ok(found)
}

/// What nobody has located comes last.
fn sort_by_distance(found: &mut [Entry], around: Position) {
    let metres =
        |entry: &Entry| places::position_of(&entry.body).map_or(f64::INFINITY, |position| straight_m(around, position));
    found.sort_by_cached_key(|entry| metres(entry).to_bits());
}

fn around(call: &Call) -> Result<Option<Position>, Stop> {
    let degrees = |name: &'static str| -> Result<Option<f64>, Invalid> {
        let Some(text) = single(call, name)?.filter(|text| !text.is_empty()) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Invalid::Not { field: name, kind: "a number" })
    };
    match (degrees("latitude")?, degrees("longitude")?) {
        (Some(latitude), Some(longitude)) => Ok(Some(Position::new(latitude, longitude)?)),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Invalid::RequiredWith { field: "longitude", with: "latitude" }.into()),
        (None, Some(_)) => Err(Invalid::RequiredWith { field: "latitude", with: "longitude" }.into()),
    }
}
