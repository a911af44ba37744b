//! Entities: create, list, read, update, delete (research/fleet 1.5).

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::{actor, deleted, errors, events};
use crate::records::contacts;
use crate::records::entities::{self, COLLECTION, Payload};
use crate::rules::change::{Change, find_text};
use crate::rules::entity::{self, Comes, Entity};

pub const CREATED_EVENT: &str = "entity.created";
pub const UPDATED_EVENT: &str = "entity.updated";
pub const DELETED_EVENT: &str = "entity.deleted";

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
    let payload = Belongs::read(call, form.text_change("payload"), None)?;
    let meta = form.object("meta");
    let (entity, unknown) = form.settle(entity::settle(None, asked, Comes::Alone))?;
    check_customer(call, &entity)?;
    let (id, shown) = entities::insert(call, &entity, payload.as_payload(), meta.as_deref())?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list(call, &LISTING)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(entities::load(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let entry = entities::load(call, call.parameter("id"))?;
    let asked = entities::read(&mut form);
    let before: Object = json::from_text(&entry.body)?;
    let payload = Belongs::read(call, form.text_change("payload"), before.text("payload").ok().flatten())?;
    let meta = form.object_change("meta");
    let before = entities::entity_of(&entry.body)?;
    let (entity, unknown) = form.settle(entity::settle(Some(before), asked, Comes::Alone))?;
    check_customer(call, &entity)?;
    let shown = entities::replace(call, &entry, &entity, payload.as_payload(), meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    Ok(unknown.tell(Answer::ok(shown)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = entities::load(call, call.parameter("id"))?;
    entities::delete(call, &entry.id)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])?;
    deleted::answer(call, &entry.id, "entity")
}

/// The payload that an entity is of, and its stops.
struct Belongs {
    id: Option<String>,
    stops: Vec<(String, String)>,
}

impl Belongs {
    /// 404 where the payload is unknown.
    fn read(call: &Call, asked: Change<String>, before: Option<String>) -> Result<Belongs, Stop> {
        let id = asked.over(before);
        let stops = match &id {
            Some(id) => stops_of(call, id)?,
            None => Vec::new(),
        };
        Ok(Belongs { id, stops })
    }

    fn as_payload(&self) -> Payload<'_> {
        Payload { id: self.id.as_deref(), stops: &self.stops }
    }
}

fn stops_of(_: &Call, _: &str) -> Result<Vec<(String, String)>, Stop> {
    Err(errors::not_found())
}

/// 404 where the customer is unknown.
fn check_customer(call: &Call, entity: &Entity) -> Result<(), Stop> {
    match find_text(&entity.texts, "customer") {
        Some(customer) => contacts::load(call, customer).map(|_| ()),
        None => Ok(()),
    }
}
