//! Entities: create, list, read, update, delete (research/fleet 1.5).

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::lists::{Asked, Filter, Listing};
use super::payloads::carrying;
use super::{actor, deleted, events};
use crate::records::entities::{self, COLLECTION, Home};
use crate::records::payloads::{self, Payload};
use crate::records::tracking;
use crate::rules::entity::{self, Comes};

pub const CREATED_EVENT: &str = "entity.created";
pub const UPDATED_EVENT: &str = "entity.updated";
pub const DELETED_EVENT: &str = "entity.deleted";

/// What is long of one.
const LONG: [&str; 3] = ["description", "photo", "meta"];

/// Clients send back what they have read.
const SHOWN: [&str; 4] = ["id", "tracking_number", "updated_at", "created_at"];

const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::text("name", "name"),
        Filter::word("type", "type"),
        Filter::text("internal_id", "internal_id"),
        Filter::text("sku", "sku"),
        Filter::word("payload", "payload"),
        Filter::word("customer", "customer"),
        Filter::word("destination", "destination"),
        Filter::number("weight", "weight"),
    ],
    sorts: &[("name", "name")],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let asked = entities::read(&mut form);
    let home = Homestead::of(call, form.text_change("payload").over(None))?;
    let meta = form.object("meta");
    let (entity, unknown) = form.settle(entity::settle(None, asked, Comes::Alone))?;
    carrying::check_customer(call, &entity)?;
    let (id, text) = entities::insert(call, &entity, home.as_home(), meta.as_deref())?;
    home.take_in(call, &id)?;
    Ok(unknown.tell(Answer::created(told(call, CREATED_EVENT, &id, &text)?)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    let found = Asked::of(call, &LISTING)?.find(call)?;
    let texts: Vec<&str> = found.entries.iter().map(|entry| entry.body.as_str()).collect();
    let shown = entities::shown(call, &texts)?;
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(entities::shown_one(call, &entities::load(call, call.parameter("id"))?.body)?))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let entry = entities::load(call, call.parameter("id"))?;
    let asked = entities::read(&mut form);
    let before = entities::payload_of(&entry.body)?;
    let home = Homestead::of(call, form.text_change("payload").over(before.clone()))?;
    let meta = form.object_change("meta");
    let mut known = entities::entity_of(&entry.body)?;
    // A stop of another payload is no stop of this one.
    known.destination = carrying::known_stop(known.destination, home.as_home());
    let (entity, unknown) = form.settle(entity::settle(Some(known), asked, Comes::Alone))?;
    carrying::check_customer(call, &entity)?;
    let text = entities::replace(call, &entry, &entity, home.as_home(), meta)?;
    if home.id() != before.as_deref() {
        carrying::leave(call, &entry)?;
        home.take_in(call, &entry.id)?;
    }
    Ok(unknown.tell(Answer::ok(told(call, UPDATED_EVENT, &entry.id, &text)?)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = entities::load(call, call.parameter("id"))?;
    told(call, DELETED_EVENT, &entry.id, &entry.body)?;
    carrying::leave(call, &entry)?;
    tracking::delete_of_subject(call, &entry.id)?;
    entities::delete(call, &entry.id)?;
    deleted::answer(call, &entry.id, "entity")
}

/// What is told where many are told of at once: one commit holds all of it. Whoever wants the rest reads the entity.
pub fn brief(text: &str) -> Result<String, Stop> {
    let mut brief: Object = json::from_text(text)?;
    LONG.into_iter().for_each(|name| brief.remove(name));
    Ok(brief.to_text())
}

/// As it is shown, after it was told of.
fn told(call: &Call, event: &'static str, id: &str, text: &str) -> Result<String, Stop> {
    let shown = entities::shown_one(call, text)?;
    events::emit(call, event, id, &shown, &[])?;
    Ok(shown)
}

/// The payload that an entity is of, if any, and its stops.
struct Homestead {
    payload: Option<Payload>,
    stops: Vec<(String, String)>,
}

impl Homestead {
    /// 404 where the payload is unknown.
    fn of(call: &Call, id: Option<String>) -> Result<Homestead, Stop> {
        let payload = id.map(|id| payloads::load(call, &id)).transpose()?;
        let stops = payload.as_ref().map(|payload| payload.route.destinations()).unwrap_or_default();
        Ok(Homestead { payload, stops })
    }

    fn id(&self) -> Option<&str> {
        self.payload.as_ref().map(|payload| payload.id.as_str())
    }

    fn as_home(&self) -> Home<'_> {
        Home { payload: self.id(), stops: &self.stops }
    }

    /// Refused once its order is started.
    fn take_in(self, call: &Call, id: &str) -> Result<(), Stop> {
        match self.payload {
            Some(payload) => carrying::join(call, payload, id),
            None => Ok(()),
        }
    }
}
