//! A waypoint by itself: as it stands in its payload, but that `id` is its own and the place's is in `place`.

use std::collections::BTreeSet;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::api::errors;
use crate::api::orders::joined::{Joined, Wanted, payloads_of};
use crate::api::payloads::shown::stop_text;
use crate::records::payloads::{Payload, StoredStop};
use crate::records::waypoints;

/// 404 where its payload does not have it.
pub fn one(call: &Call, entry: &Entry) -> Result<String, Stop> {
    many(call, std::slice::from_ref(entry))?.pop().ok_or_else(errors::not_found)
}

/// A page; what went while the page was being found is not there.
pub fn many(call: &Call, entries: &[Entry]) -> Result<Vec<String>, Stop> {
    let ids: Vec<String> = entries.iter().map(waypoints::payload_of).collect::<Result<_, _>>()?;
    // One payload may be that of all: it is read once.
    let distinct: BTreeSet<&String> = ids.iter().collect();
    let payloads = payloads_of(call, &distinct.into_iter().cloned().collect::<Vec<_>>())?;
    let stop_of = |(entry, id)| stop_of(entry, payloads.get::<String>(id)?);
    let stops: Vec<(&Entry, &Payload, &StoredStop)> = entries.iter().zip(&ids).filter_map(stop_of).collect();
    let mut wanted = Wanted::default();
    stops.iter().for_each(|(_, _, stop)| wanted.add_stop(stop));
    let joined = wanted.load(call, stops.len())?;
    stops.into_iter().map(|found| text_of(found, &joined)).collect()
}

fn stop_of<'a>(entry: &'a Entry, payload: &'a Payload) -> Option<(&'a Entry, &'a Payload, &'a StoredStop)> {
    Some((entry, payload, payload.route.find(&entry.id)?))
}

fn text_of((entry, payload, stop): (&Entry, &Payload, &StoredStop), joined: &Joined) -> Result<String, Stop> {
    let at = payload.route.waypoints.iter().position(|known| known.id == stop.id);
    let stored: Object = json::from_text(&entry.body)?;
    let text = stop_text(at, stop, joined);
    let mut shown: Object = json::from_text(&text)?;
    shown.set("id", &entry.id)?;
    shown.set("payload", &payload.id)?;
    shown.set("place", &stop.place)?;
    for time in ["updated_at", "created_at"] {
        shown.set_raw(time, stored.raw(time).unwrap_or("null").to_owned());
    }
    Ok(shown.to_text())
}
