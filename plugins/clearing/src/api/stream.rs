//! GET /v1/clearing/stream and /v1/clearing/events: what happens to the tenant's payments, as it happens and page by page.

use tenon_plugin::{Answer, Call, FeedFilter, Outcome, Stop, json};

use super::{listing, webhooks};
use crate::rules::uetr::Uetr;
use crate::{events, words};

/// Uetrs that one stream may name.
const SUBJECTS_MAX: usize = 100;
/// What the host gives at once.
const PAGE_MAX: u32 = 100;

/// `events` and `uetrs` name what is shown, with commas between; absent: everything.
pub fn open(call: &Call) -> Outcome {
    let FeedFilter { event_types, subjects } = filter(call)?;
    Ok(Answer::stream(event_types, subjects))
}

/// The same for readers that pull, from the oldest that is kept: they go on at `next`, at once where there is `more`.
pub fn list(call: &Call) -> Outcome {
    let (filter, limit, after) = (filter(call)?, listing::limit(call)?.min(PAGE_MAX), listing::cursor(call)?);
    let page = call.feed(&filter, after, limit);
    let page = page.ok_or_else(|| words::wrong("after", "must be an event that is still kept"))?;
    let bodies = json::array(page.events.iter().map(|event| event.body.as_str()));
    let (next, more) = (json::to_text(&page.next)?, json::to_text(&page.more)?);
    Ok(Answer::ok(["{\"events\":", &bodies, ",\"next\":", &next, ",\"more\":", &more, "}"].concat()))
}

fn filter(call: &Call) -> Result<FeedFilter, Stop> {
    webhooks::check_reader(call)?;
    let event_types = listed(call, "events");
    if !event_types.iter().all(|name| events::NAMES.contains(&name.as_str())) {
        return Err(words::wrong("events", &["must be of: ", &events::NAMES.join(", ")].concat()));
    }
    let uetrs = listed(call, "uetrs");
    if uetrs.len() > SUBJECTS_MAX {
        return Err(words::wrong("uetrs", "may have at most 100 members"));
    }
    let uetrs = uetrs.iter().map(|text| Uetr::parse(text).map(|uetr| uetr.as_str().to_owned()));
    let subjects = uetrs.collect::<Result<Vec<String>, _>>();
    let subjects = subjects.map_err(|_| words::wrong("uetrs", "must be UUIDs with commas between"))?;
    Ok(FeedFilter { event_types, subjects })
}

fn listed(call: &Call, name: &str) -> Vec<String> {
    let names = call.query(name).unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
