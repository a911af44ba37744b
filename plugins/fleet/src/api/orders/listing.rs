//! The list of orders (research/fleet 5). A driver's holds his own and those that are offered.
//!
//! Where a filter means one of several fields, the orders that it means are found first, by whatever else was asked for;
//! more than a hundred are refused.

use std::collections::BTreeSet;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Comparison, Entry, Search, Value};
use tenon_plugin::{Call, Outcome, Stop};

use super::nearby;
use super::shown::{self, Without};
use crate::api::actor::{actor, allow};
use crate::api::lists::{Asked, Filter, Listing, filters};
use crate::records::orders::{self, COLLECTION, ENTITY_STATUSES, OFFERED};
use crate::records::{common, contacts};
use crate::rules::authority::{Actor, Operation, Subject};
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::text;
use crate::rules::tracking::status_code;

/// Of one list of ids: as many as the host takes.
const IDS_MAX: usize = 100;
/// Orders that are left out one by one.
const EXCLUDED_MAX: usize = 10;

const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::word("status", "status"),
        Filter::boolean("active", "open"),
        Filter::word("driver", "driver_assigned"),
        Filter::word("driver_assigned", "driver_assigned"),
        Filter::word("vehicle", "vehicle_assigned"),
        Filter::word("vehicle_assigned", "vehicle_assigned"),
        Filter::word("facilitator", "facilitator"),
        Filter::word("payload", "payload"),
        Filter::word("pickup", "stops.pickup"),
        Filter::word("dropoff", "stops.dropoff"),
        Filter::word("return", "stops.return"),
        Filter::member("entity", "entities"),
        Filter::day("on", "days"),
        Filter::word("type", "type"),
        Filter::word("order_config", "order_config"),
        Filter::text("internal_id", "internal_id"),
        Filter::word("tracking_number", "tracking_number"),
        Filter::boolean("pod_required", "pod_required"),
        Filter::word("pod_method", "pod_method"),
        Filter::boolean("dispatched", "dispatched"),
        Filter::boolean("started", "started"),
        Filter::boolean("adhoc", "adhoc"),
        Filter::time("scheduled_at", "scheduled_at"),
        Filter::time("dispatched_at", "dispatched_at"),
        Filter::time("started_at", "started_at"),
        Filter::number("orchestrator_priority", "orchestrator_priority"),
    ],
    sorts: &[],
    own: &[
        "status",
        "entity_status",
        "query",
        "bulk_query",
        "only",
        "exclude",
        "unassigned",
        "without_driver",
        "customer",
        "tracking",
        "nearby",
        "radius",
        "with",
        "expand",
        "without",
    ],
};

pub fn list(call: &Call) -> Outcome {
    allow(call, Operation::ListOrders, Subject::Organization)?;
    let mut asked = Asked::of(call, &LISTING)?;
    if let Actor::Driver(me) = actor(call) {
        asked.narrow("seen_by", one_of([me, OFFERED]));
    }
    narrow_by_fields(call, &mut asked)?;
    narrow_by_ids(call, &mut asked)?;
    let show = |entries: &[Entry]| {
        let page: Vec<Object> =
            entries.iter().map(|entry| json::from_text(&entry.body)).collect::<Result<_, Stop>>()?;
        shown::many(call, &page, &Without::of(call))
    };
    if let Some(ranked) = nearby::find(call, &asked)? {
        return asked.answer_ranked(call, ranked, show);
    }
    let found = asked.find(call)?;
    let shown = show(&found.entries)?;
    found.answer(call, &shown)
}

fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Comparison {
    Comparison::OneOf(texts.into_iter().map(|text| Value::Text(text.to_owned())).collect())
}

fn narrow_by_fields(call: &Call, asked: &mut Asked) -> Result<(), Stop> {
    match words(call, "status")? {
        Some(states) if states == ["active"] => asked.narrow("open", Comparison::Equal(Value::Boolean(true))),
        Some(states) => asked.narrow("status", one_of(states)),
        None => {}
    }
    for parameter in ["unassigned", "without_driver"] {
        match filters::single(call, parameter)? {
            None => {}
            Some("" | "1" | "true") => asked.narrow("driver_assigned", Comparison::Equal(Value::Null)),
            Some("0" | "false") => asked.narrow("driver_assigned", Comparison::NotEqual(Value::Null)),
            Some(_) => return Err(Invalid::Not { field: parameter, kind: "true or false" }.into()),
        }
    }
    if let Some(customers) = words(call, "customer")? {
        let ids: Vec<String> = customers.into_iter().map(contacts::own_id).collect();
        asked.narrow("customer", one_of(ids.iter().map(String::as_str)));
    }
    // As many as are named are to be found, each with anything that it carries.
    let statuses: BTreeSet<String> =
        words(call, "entity_status")?.unwrap_or_default().into_iter().map(status_code).collect();
    for status in statuses {
        asked.narrow(ENTITY_STATUSES, Comparison::Contains(Value::Text(status)));
    }
    if let Some(numbers) = words(call, "tracking")? {
        let field =
            if numbers.iter().all(|number| number.starts_with("track_")) { "tracking_number" } else { "number" };
        asked.narrow(field, one_of(numbers));
    }
    Ok(())
}

fn narrow_by_ids(call: &Call, asked: &mut Asked) -> Result<(), Stop> {
    if let Some(ids) = words(call, "only")? {
        asked.narrow("@id", one_of(ids));
    }
    let excluded = words(call, "exclude")?.unwrap_or_default();
    if excluded.len() > EXCLUDED_MAX {
        return Err(Invalid::Not { field: "exclude", kind: "a list of at most 10 ids" }.into());
    }
    for id in excluded {
        asked.narrow("@id", Comparison::NotEqual(Value::Text(id.to_owned())));
    }
    if let Some(text) = filters::single(call, "query")?.map(str::trim).filter(|text| !text.is_empty()) {
        text::check_line("query", text, TEXT_CHARS_MAX)?;
        let begins = |_: &str| Comparison::StartsWith(text.to_owned());
        let fitting = named(call, asked, ("query", &[text]), begins)?;
        asked.narrow("@id", fitting);
    }
    if let Some(names) = words(call, "bulk_query")? {
        let is = |_: &str| one_of(names.iter().copied());
        let fitting = named(call, asked, ("bulk_query", &names), is)?;
        asked.narrow("@id", fitting);
    }
    Ok(())
}

/// The orders that have one of these ids, or whose own name or number fits.
fn named(
    call: &Call,
    asked: &Asked,
    (parameter, names): (&'static str, &[&str]),
    fits: impl Fn(&str) -> Comparison,
) -> Result<Comparison, Stop> {
    let is_id = |name: &&&str| common::is_public_id("order", name);
    let mut ids: BTreeSet<String> = names.iter().filter(is_id).map(|name| (*name).to_owned()).collect();
    let mut is_all = true;
    for field in ["internal_id", "number"] {
        let page = orders::find(call, &asked.search(Search::first(IDS_MAX as u32))?.with(field, fits(field)))?;
        is_all &= page.next.is_none();
        ids.extend(page.entries.into_iter().map(|entry| entry.id));
    }
    if !is_all || ids.len() > IDS_MAX {
        let kind = "more exact: it means more than 100 orders";
        return Err(Invalid::Not { field: parameter, kind }.into());
    }
    Ok(one_of(ids.iter().map(String::as_str)))
}

/// What stands between the commas, each once, however often the parameter is there.
fn words<'c>(call: &Call<'c>, parameter: &'static str) -> Result<Option<Vec<&'c str>>, Stop> {
    let words: Vec<&str> = filters::words(call, parameter).collect();
    for word in &words {
        text::check_line(parameter, word, TEXT_CHARS_MAX)?;
    }
    match words.len() {
        0 => Ok(None),
        1..=IDS_MAX => Ok(Some(BTreeSet::from_iter(words).into_iter().collect())),
        _ => Err(Invalid::Not { field: parameter, kind: "a list of at most 100 values" }.into()),
    }
}
