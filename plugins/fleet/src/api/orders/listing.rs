//! Lists (research/fleet 5): a bare array, newest first, by offset or page. Parameters that it does not know are ignored,
//! as the clients of this interface expect.

use tenon_plugin::json;
use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use crate::records;
use crate::rules::invalid::Invalid;
use crate::rules::order::{self, TEXT_CHARS_MAX};
use crate::rules::text;

pub const LIMIT_DEFAULT: u32 = 30;
pub const LIMIT_MAX: u32 = 100;
/// A full page of the largest orders.
const PAGE_BYTES_MAX: usize = LIMIT_MAX as usize * (order::BYTES_MAX + 1) + 1;
/// Records that a page may skip: further back a filter by date is cheaper for everybody.
const OFFSET_MAX: u32 = 100_000;
const DAY_MS: u64 = 86_400_000;

/// Query parameter and field of the record.
const FILTERS: [(&str, &str); 4] =
    [("status", "status"), ("internal_id", "internal_id"), ("customer", "customer.id"), ("type", "type")];

pub fn list(call: &Call) -> Outcome {
    let limit = whole(call, "limit", (1, LIMIT_MAX))?.unwrap_or(LIMIT_DEFAULT);
    let offset = match whole(call, "offset", (0, OFFSET_MAX))? {
        Some(offset) => offset,
        None => (whole(call, "page", (1, OFFSET_MAX / LIMIT_MAX))?.unwrap_or(1) - 1) * limit,
    };
    let mut search = sorted(call, Search::first(limit).offset(offset))?;
    for (parameter, field) in FILTERS {
        if let Some(value) = call.query(parameter) {
            text::check_line(parameter, value, TEXT_CHARS_MAX)?;
            search = search.is(field, value);
        }
    }
    search = created_within(call, search)?;
    let page = records::find_orders(call, &search)?;
    let orders = json::array(page.entries.iter().map(|entry| entry.body.as_str()));
    // Who counts on by `limit` would miss what a short page leaves out. Only orders that an older version took are so large.
    let is_short = page.next.is_some() && page.entries.len() < limit as usize;
    if is_short || orders.len() > PAGE_BYTES_MAX {
        let kind = "smaller: the orders of this page are too large together";
        return Err(Invalid::Not { field: "limit", kind }.into());
    }
    Ok(Answer::ok(orders))
}

/// A whole number of the query.
pub fn whole(call: &Call, name: &'static str, (least, most): (u32, u32)) -> Result<Option<u32>, Stop> {
    let Some(text) = call.query(name) else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Invalid::OutOfRange { field: name, least: least.into(), most: most.into() }.into()),
    }
}

fn sorted(call: &Call, search: Search) -> Result<Search, Stop> {
    match call.query("sort").unwrap_or("-created_at") {
        "-created_at" | "created_at:desc" | "latest" => Ok(search.descending("@created-at")),
        "created_at" | "created_at:asc" | "oldest" => Ok(search.ascending("@created-at")),
        _ => Err(Invalid::NotOneOf { field: "sort", allowed: "created_at, -created_at" }.into()),
    }
}

/// A day ("2026-05-07"), or a range of two times ("2026-05-01,2026-05-07"); the end's day is included.
fn created_within(call: &Call, search: Search) -> Result<Search, Stop> {
    let Some(text) = call.query("created_at") else { return Ok(search) };
    let not_a_range = Invalid::Not { field: "created_at", kind: "a day, or two of them with a comma between" };
    let (start, end) = text.split_once(',').unwrap_or((text, text));
    let (Some(from), Some(to)) = (time::parse(start), time::parse(end)) else { return Err(not_a_range.into()) };
    let to = if time::is_date(end) { to + DAY_MS - 1 } else { to };
    let bound = |milliseconds: u64| Value::Integer(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    Ok(search.with("@created-at", Comparison::AtLeast(bound(from))).with("@created-at", Comparison::AtMost(bound(to))))
}
