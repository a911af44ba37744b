//! The list of drivers, and who is near (research/fleet 5). Those who are near come nearest first, and nobody whose position
//! is not known is among them.

use tenon_plugin::records::{Comparison, Entry, Search};
use tenon_plugin::{Call, Outcome};

use super::show;
use crate::api::actor::manage;
use crate::api::lists::{Asked, Filter, Listing, single};
use crate::api::nearby;
use crate::records::drivers::{self, MEASURED_AT_ONCE};
use crate::rules::driver::TEXT_CHARS_MAX;
use crate::rules::invalid::Invalid;
use crate::rules::location::distance::Nearby;
use crate::rules::text;

const LISTING: Listing = Listing {
    collection: drivers::COLLECTION,
    filters: &[
        Filter::text("name", "name"),
        Filter::text("email", "email"),
        Filter::text("phone", "phone"),
        Filter::word("status", "status"),
        Filter::boolean("online", "online"),
        Filter::word("vehicle", "vehicle"),
        Filter::word("current_job", "current_job"),
        Filter::word("country", "country"),
        Filter::text("city", "city"),
        Filter::word("internal_id", "internal_id"),
        Filter::text("drivers_license_number", "drivers_license_number"),
    ],
    sorts: &[],
    own: &["nearby", "radius", "query"],
};

pub fn list(call: &Call) -> Outcome {
    manage(call)?;
    let mut asked = Asked::of(call, &LISTING)?;
    if let Some(query) = single(call, "query")?.filter(|query| !query.is_empty()) {
        text::check_line("query", query, TEXT_CHARS_MAX)?;
        asked.narrow("name", Comparison::StartsWith(query.to_owned()));
    }
    match nearby::asked(call)? {
        Some(nearby) => list_near(call, asked, &nearby),
        None => {
            let found = asked.find(call)?;
            let shown = show::all(call, &found.entries)?;
            found.answer(call, &shown)
        }
    }
}

fn list_near(call: &Call, asked: Asked, nearby: &Nearby) -> Outcome {
    let (candidates, all) = drivers::around(call, nearby, asked.search(Search::first(MEASURED_AT_ONCE))?)?;
    if !all {
        return Err(Invalid::Not { field: "radius", kind: "smaller: too many drivers are near" }.into());
    }
    let near: Vec<Entry> = nearby.find(candidates, usize::MAX).into_iter().map(|(entry, _)| entry).collect();
    asked.answer_ranked(call, near, |entries| show::all(call, entries))
}
