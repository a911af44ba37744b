//! A waypoint by itself: as it stands in its payload, but that `id` is its own and the place's is in `place`.

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::api::orders::joined::{Joined, Wanted};
use crate::api::payloads::shown::stop_text;
use crate::records::payloads::{self, Payload};
use crate::records::waypoints;

pub fn one(call: &Call, entry: &Entry) -> Result<String, Stop> {
    many(call, std::slice::from_ref(entry))?.pop().ok_or_else(|| Stop::fault("a waypoint that was not shown"))
}

/// A page.
pub fn many(call: &Call, entries: &[Entry]) -> Result<Vec<String>, Stop> {
    let ids: Vec<String> = entries.iter().map(waypoints::payload_of).collect::<Result<_, _>>()?;
    let texts = payloads::load_many(call, &ids);
    let payloads: BTreeMap<String, Payload> = texts
        .into_iter()
        .map(|(id, text)| Payload::parse(&id, &text).map(|payload| (id, payload)))
        .collect::<Result<_, _>>()?;
    let mut wanted = Wanted::default();
    for (entry, payload) in entries.iter().zip(&ids) {
        payloads
            .get(payload)
            .and_then(|payload| payload.route.find(&entry.id))
            .iter()
            .for_each(|stop| wanted.add_stop(stop));
    }
    let joined = wanted.load(call)?;
    let shown = |(entry, id): (&Entry, &String)| payloads.get(id).and_then(|payload| text_of(entry, payload, &joined));
    let lost = || Stop::fault("a waypoint that its payload does not have");
    entries.iter().zip(&ids).map(|found| shown(found).ok_or_else(lost)?).collect()
}

/// `None`: it is not there.
fn text_of(entry: &Entry, payload: &Payload, joined: &Joined) -> Option<Result<String, Stop>> {
    let stop = payload.route.find(&entry.id)?;
    let at = payload.route.waypoints.iter().position(|known| known.id == stop.id);
    Some(own_text(entry, (&payload.id, &stop.place), &stop_text(at, stop, joined)))
}

fn own_text(entry: &Entry, (payload, place): (&str, &str), text: &str) -> Result<String, Stop> {
    let stored: Object = json::from_text(&entry.body)?;
    let mut shown: Object = json::from_text(text)?;
    shown.set("id", &entry.id)?;
    shown.set("payload", &payload)?;
    shown.set("place", &place)?;
    for time in ["updated_at", "created_at"] {
        shown.set_raw(time, stored.raw(time).unwrap_or("null").to_owned());
    }
    Ok(shown.to_text())
}
