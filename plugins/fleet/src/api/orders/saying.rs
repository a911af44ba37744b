//! What the tracking numbers of the things that an order carries say: kept with the order, so that lists find it by that
//! (`entity_status`). Nobody is shown it.
//!
//! Invariant: it is what they said last, whoever said it; a number that was asked for besides does not count.

use std::collections::BTreeSet;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::records::orders::{self, ENTITY_STATUSES, text};
use crate::records::payloads::{self, Payload};
use crate::records::{entities, tracking};

/// Keeps it, where it says something else than before.
pub fn keep(call: &Call, (id, order): (&str, &mut Object), payload: &Payload) -> Result<(), Stop> {
    let said = said(call, payload)?;
    if order.read::<Vec<String>>(ENTITY_STATUSES).ok().flatten().unwrap_or_default() == said {
        return Ok(());
    }
    order.set(ENTITY_STATUSES, &said)?;
    orders::store(call, id, order)
}

/// A caller has said something of a number: the order that carries what it names takes note.
pub fn note(call: &Call, number: &Entry) -> Result<(), Stop> {
    let subject = tracking::subject_of(&number.body)?;
    let Some(entity) = entities::load_many(call, std::slice::from_ref(&subject)).remove(&subject) else {
        return Ok(());
    };
    let home = entities::payload_of(&entity)?.map(|id| payloads::find(call, &id)).transpose()?.flatten();
    let Some((payload, order)) = home.and_then(|payload| payload.order().map(|order| (payload, order))) else {
        return Ok(());
    };
    let entry = orders::load(call, &order)?;
    let mut order: Object = json::from_text(&entry.body)?;
    keep(call, (&entry.id, &mut order), &payload)
}

/// Codes, each once.
fn said(call: &Call, payload: &Payload) -> Result<Vec<String>, Stop> {
    let ids = payload.entities();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers = Vec::new();
    for entity in entities::load_many(call, &ids).values() {
        numbers.extend(text(&json::from_text(entity)?, "tracking_number"));
    }
    let mut codes = BTreeSet::new();
    for number in tracking::load_many(call, &numbers)?.values() {
        codes.extend(text(&json::from_text(number)?, "status_code"));
    }
    Ok(codes.into_iter().collect())
}
