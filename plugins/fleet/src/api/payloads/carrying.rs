//! What a payload carries: things come with it, are changed with it, join it and leave it by themselves.
//!
//! Invariants: an entity is listed by the payload that it names and by no other; an order is found by what it carries,
//! however that came to it; what an order carries is settled when it is started; no entity goes to a stop that its payload
//! does not have.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop, time};

use crate::api::entities::{DELETED_EVENT, UPDATED_EVENT, brief};
use crate::api::events;
use crate::api::form::Form;
use crate::api::free;
use crate::api::orders::moving::Moving;
use crate::api::orders::way;
use crate::api::payloads::form::Listed;
use crate::records::common::LOOK_IDS_MAX;
use crate::records::entities::{self, Home};
use crate::records::payloads::{self, Payload};
use crate::records::{contacts, orders, tracking};
use crate::rules::change::find_text;
use crate::rules::entity::{self, Comes, Destination, Entity};
use crate::rules::invalid::Invalid;
use crate::rules::payload::check_entities;

/// Of the entities that one call changes, takes in, or leaves without a destination: today's fifty have 4 MiB together, and
/// a commit has 8, with the rest of the order and what is told of it.
const WRITTEN_BYTES_MAX: usize = 5 << 20;
const TOO_LARGE: Invalid =
    Invalid::TooLarge { resource: "entities that are changed together", bytes_max: WRITTEN_BYTES_MAX };

/// Bytes of stored entities that were written anew; of those that are new the body is the bound.
#[derive(Default)]
pub struct Written(usize);

impl Written {
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    fn add(&mut self, text: &str) -> Result<(), Invalid> {
        self.0 += text.len();
        if self.0 > WRITTEN_BYTES_MAX { Err(TOO_LARGE) } else { Ok(()) }
    }
}

const NOT_AN_ENTITY: Invalid = Invalid::Not { field: "", kind: "an id or an object" };
/// What an object names an entity by; the second and the third are those of other servers of this interface.
const NAMES: [&str; 3] = ["id", "public_id", "uuid"];
const TWICE: Invalid = Invalid::Not { field: "", kind: "another entity than those before it" };

/// The list as a body has it. An object with the id of one that the payload carries changes that one; any
/// other object is a new one, and where it has an id, it has been copied from one that is there; an id alone stands for
/// one that no order carries, however often. What is not in the list any more goes.
pub fn replace(call: &Call, payload: &mut Payload, listed: &Listed, written: &mut Written) -> Result<(), Stop> {
    let before = payload.entities();
    let stops = payload.route.destinations();
    let home = Home { payload: Some(&payload.id), stops: &stops };
    let mut ids: Vec<String> = Vec::new();
    for (path, value) in listed.items() {
        ids.extend(one(call, (&path, value), (&before, &ids), home, written)?);
    }
    let gone: Vec<String> = before.into_iter().filter(|id| !ids.contains(id)).collect();
    for (id, text) in gone.chunks(LOOK_IDS_MAX).flat_map(|ids| entities::load_many(call, ids)) {
        tell(call, DELETED_EVENT, &id, &text)?;
    }
    gone.iter().try_for_each(|id| delete(call, id))?;
    payload.body.set("entities", &ids)
}

/// Its id; `None`: it is in the list already.
fn one(
    call: &Call,
    (path, value): (&str, &str),
    (before, taken): (&[String], &[String]),
    home: Home,
    written: &mut Written,
) -> Result<Option<String>, Stop> {
    let not_an_entity = |_| NOT_AN_ENTITY.within(path);
    if value.starts_with('"') {
        let id: String = serde_json::from_str(value).map_err(not_an_entity)?;
        if taken.contains(&id) {
            return Ok(None);
        }
        if !before.contains(&id) {
            take(call, (path, &id), home, written)?;
        }
        return Ok(Some(id));
    }
    let object = Object::parse(value).map_err(not_an_entity)?;
    match named(&object).map_err(|fault| fault.within(path))? {
        None => make(call, (path, object), home).map(Some),
        Some(id) if taken.contains(&id) => Err(TWICE.within(path).into()),
        Some(id) if before.contains(&id) => change(call, &id, (path, object), home, written).map(|()| Some(id)),
        Some(id) => {
            // A mistyped id is no new entity: 404.
            entities::load(call, &id)?;
            make(call, (path, object), home).map(Some)
        }
    }
}

/// What the object is named by, under whichever of the names; an empty name is none.
fn named(object: &Object) -> Result<Option<String>, Invalid> {
    let mut found = None;
    for field in NAMES {
        let id = object.text(field).map_err(|_| Invalid::Not { field, kind: "a text" })?.filter(|id| !id.is_empty());
        if found.is_some() && id.is_some() && found != id {
            return Err(Invalid::Not { field, kind: "the id of the same entity" });
        }
        found = found.or(id);
    }
    Ok(found)
}

/// The order or payload that it comes with is told of, not the entity. Gives its id.
fn make(call: &Call, (path, object): (&str, Object), home: Home) -> Result<String, Stop> {
    let mut form = Form::within(path, object);
    let asked = entities::read(&mut form);
    let meta = form.object("meta");
    let (entity, _) = form.settle(entity::settle(None, asked, Comes::WithOrder))?;
    check_destination(path, &entity, home)?;
    check_customer(call, &entity)?;
    entities::insert(call, &entity, home, meta.as_deref()).map(|(id, _)| id)
}

/// The fields that the object has. What is sent back as it was read is no change.
fn change(
    call: &Call,
    id: &str,
    (path, object): (&str, Object),
    home: Home,
    written: &mut Written,
) -> Result<(), Stop> {
    let entry = entities::load(call, id)?;
    let stored: Object = json::from_text(&entry.body)?;
    let mut form = Form::within(path, object);
    let asked = entities::read(&mut form);
    let meta =
        form.object_change("meta").filter(|meta| !stored.raw("meta").is_some_and(|known| free::is_same(known, meta)));
    let before = entities::entity_of(&entry.body)?;
    let known = Entity { destination: known_stop(before.destination.clone(), home), ..before.clone() };
    let (entity, _) = form.settle(entity::settle(Some(known), asked, Comes::WithOrder))?;
    if entity == before && meta.is_none() {
        return Ok(());
    }
    check_destination(path, &entity, home)?;
    check_customer(call, &entity)?;
    let text = entities::replace(call, &entry, &entity, home, meta)?;
    written.add(&text)?;
    tell(call, UPDATED_EVENT, id, &text)
}

/// One that is there already comes into this payload.
fn take(call: &Call, (path, id): (&str, &str), home: Home, written: &mut Written) -> Result<(), Stop> {
    let entry = entities::load(call, id)?;
    let payload = entities::payload_of(&entry.body)?.map(|id| payloads::find(call, &id)).transpose()?.flatten();
    // What an order carries stays with it.
    if payload.is_some_and(|payload| payload.order().is_some()) {
        return Err(Invalid::Not { field: "", kind: "an entity that no order carries" }.within(path).into());
    }
    leave(call, &entry)?;
    let entity = Entity { destination: None, ..entities::entity_of(&entry.body)? };
    let text = entities::replace(call, &entry, &entity, home, None)?;
    written.add(&text)?;
    tell(call, UPDATED_EVENT, id, &text)
}

/// Its payload lists it from now on.
pub fn join(call: &Call, payload: Payload, id: &str) -> Result<(), Stop> {
    let mut ids = payload.entities();
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
    check_entities(ids.len())?;
    list(call, payload, &ids)
}

/// Its payload does not list it any more.
pub fn leave(call: &Call, entry: &Entry) -> Result<(), Stop> {
    let Some(payload) = entities::payload_of(&entry.body)?.map(|id| payloads::find(call, &id)).transpose()?.flatten()
    else {
        return Ok(());
    };
    let mut ids = payload.entities();
    ids.retain(|id| *id != entry.id);
    list(call, payload, &ids)
}

/// The order knows what it carries as well, and says no once it is started.
fn list(call: &Call, mut payload: Payload, ids: &[String]) -> Result<(), Stop> {
    match payload.order() {
        Some(order) => {
            let mut moving = Moving::load(call, &orders::load(call, &order)?)?;
            moving.check_not_started()?;
            moving.payload.body.set("entities", ids)?;
            way::measure(&mut moving)?;
            moving.finish().map(|_| ())
        }
        None => {
            payload.body.set("entities", ids)?;
            payload.body.set("updated_at", &time::to_text(call.now()))?;
            payloads::store(call, &payload)
        }
    }
}

/// What was to go to a stop that is there no more goes with the rest.
pub fn forget_stops(call: &Call, payload: &Payload, written: &mut Written) -> Result<(), Stop> {
    let stops = payload.route.destinations();
    let home = Home { payload: Some(&payload.id), stops: &stops };
    let ids = payload.entities();
    for (id, body) in ids.chunks(LOOK_IDS_MAX).flat_map(|ids| entities::load_many(call, ids)) {
        let before = entities::entity_of(&body)?;
        let destination = known_stop(before.destination.clone(), home);
        if destination != before.destination {
            let entity = Entity { destination, ..before };
            let text = entities::replace(call, &entities::load(call, &id)?, &entity, home, None)?;
            written.add(&text)?;
            tell(call, UPDATED_EVENT, &id, &text)?;
        }
    }
    Ok(())
}

fn check_destination(path: &str, entity: &Entity, home: Home) -> Result<(), Invalid> {
    let found = entity.destination.as_ref().map(|destination| destination.find_stop(home.stops));
    found.transpose().map(|_| ()).map_err(|fault| fault.within(path))
}

/// `None` where it is no stop of the payload.
pub fn known_stop(destination: Option<Destination>, home: Home) -> Option<Destination> {
    destination.filter(|destination| destination.find_stop(home.stops).is_ok())
}

/// Without what is long of it: one commit holds all that is told of a list.
fn tell(call: &Call, event: &'static str, id: &str, text: &str) -> Result<(), Stop> {
    events::emit(call, event, id, &entities::shown_one(call, &brief(text)?)?, &[])
}

/// 404 where the customer is unknown.
pub fn check_customer(call: &Call, entity: &Entity) -> Result<(), Stop> {
    match find_text(&entity.texts, "customer") {
        Some(customer) => contacts::load(call, customer).map(|_| ()),
        None => Ok(()),
    }
}

/// With its tracking numbers. It may be gone already.
pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    tracking::delete_of_subject(call, id)?;
    if entities::load_many(call, &[id.to_owned()]).is_empty() { Ok(()) } else { entities::delete(call, id) }
}
