//! Payloads: create, list, read, update, delete (research/fleet 1.5). One of an order is changed before the order is
//! started, and goes with it.

pub mod carrying;
pub mod form;
pub mod making;
pub mod shown;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, EventType, Outcome, Route, Stop, delete, get, patch, post, put};

use super::actor::manage;
use super::form::Form;
use super::lists::{self, Asked, Filter, Listing};
use super::orders::joined::Wanted;
use super::orders::moving::Moving;
use super::{deleted, events};
use crate::records::contacts::Made;
use crate::records::orders;
use crate::records::payloads::{self, Payload};
use crate::rules::payload::Comes;
use crate::rules::refusal::Refusal;
use form::Stand;

pub const ROUTES: &[Route] = &[
    post("/v1/payloads", "create-payload", create).headers(lists::HEADERS),
    get("/v1/payloads", "list-payloads", list).headers(lists::HEADERS),
    get("/v1/payloads/{id}", "read-payload", read),
    put("/v1/payloads/{id}", "update-payload", update).headers(lists::HEADERS),
    patch("/v1/payloads/{id}", "patch-payload", update).headers(lists::HEADERS),
    delete("/v1/payloads/{id}", "delete-payload", remove),
];

const CREATED: &str = "payload.created";
const UPDATED: &str = "payload.updated";
const DELETED: &str = "payload.deleted";

const SCHEMA: &str = r#"{"type":"object","required":["id","type"],"properties":{"id":{"type":"string"},"type":{"type":"string"},"order":{"type":["string","null"]},"pickup":{"type":["string","null"]},"dropoff":{"type":["string","null"]},"return":{"type":["string","null"]},"current_waypoint":{"type":["string","null"]},"waypoints":{"type":"array"},"entities":{"type":"array"},"meta":{"type":"object"}}}"#;

pub const EVENT_TYPES: &[EventType] = &[
    EventType::new(CREATED, "A payload was created.", SCHEMA),
    EventType::new(UPDATED, "A payload was changed.", SCHEMA),
    EventType::new(DELETED, "A payload was deleted.", SCHEMA),
];

const LISTING: Listing = Listing {
    collection: payloads::COLLECTION,
    filters: &[
        Filter::word("type", "type"),
        Filter::word("order", "order"),
        Filter::word("pickup", "pickup"),
        Filter::word("dropoff", "dropoff"),
        Filter::word("return", "return"),
        Filter::member("entity", "entities"),
        Filter::word("payment_method", "payment_method"),
        Filter::word("cod_currency", "cod_currency"),
    ],
    sorts: &[],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let draft = form::read(call, &mut form, None, Comes::Alone, Stand::Alone, &Made::default())?;
    let unknown = form.finish()?;
    let payload = making::make(call, draft.ok_or_else(nothing)?, None)?;
    let shown = shown::one(call, &payload)?;
    events::emit(call, CREATED, &payload.id, &shown, &[])?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn read(call: &Call) -> Outcome {
    manage(call)?;
    Ok(Answer::ok(shown::one(call, &payloads::load(call, call.parameter("id"))?)?))
}

pub fn list(call: &Call) -> Outcome {
    manage(call)?;
    let found = Asked::of(call, &LISTING)?.find(call)?;
    let page: Vec<Payload> =
        found.entries.iter().map(|entry| Payload::parse(&entry.id, &entry.body)).collect::<Result<_, _>>()?;
    let mut wanted = Wanted::default();
    page.iter().for_each(|payload| wanted.add_payload(payload));
    let joined = wanted.load(call, page.len())?;
    let shown: Vec<String> = page.iter().map(|payload| shown::text_of(payload, &joined)).collect();
    found.answer(call, &shown)
}

/// That of an order goes through the order, which may not be started yet, and whose way is measured anew.
pub fn update(call: &Call) -> Outcome {
    manage(call)?;
    let payload = payloads::load(call, call.parameter("id"))?;
    let mut form = Form::of(call)?;
    let draft = form::read(call, &mut form, Some(&payload), Comes::Alone, Stand::Alone, &Made::default())?;
    let unknown = form.finish()?;
    let (_, shown) = carry_out(call, payload, draft.ok_or_else(nothing)?)?;
    Ok(unknown.tell(Answer::ok(shown)))
}

/// Stores and tells what becomes of it, through its order where it has one. Gives it, and as it is shown. What an order
/// carries already is no change of it, whatever its state.
pub fn carry_out(call: &Call, mut payload: Payload, draft: form::Draft) -> Result<(Payload, String), Stop> {
    match payload.order() {
        Some(order) => {
            let mut moving = Moving::load(call, &orders::load(call, &order)?)?;
            if !making::change_in_order(&mut moving, draft)? {
                let shown = shown::one(call, &payload)?;
                return Ok((payload, shown));
            }
            moving.refresh();
            moving.tell_changes();
            moving.finish()?;
            payload = payloads::load(call, &payload.id)?;
        }
        None => {
            making::change(call, &mut payload, draft)?;
            payload.body.set("updated_at", &tenon_plugin::time::to_text(call.now()))?;
            payloads::store(call, &payload)?;
        }
    }
    let shown = shown::one(call, &payload)?;
    tell_updated(call, &payload.id, &shown)?;
    Ok((payload, shown))
}

pub fn tell_updated(call: &Call, id: &str, shown: &str) -> Result<(), Stop> {
    events::emit(call, UPDATED, id, shown, &[])
}

pub fn tell_deleted(call: &Call, id: &str, shown: &str) -> Result<(), Stop> {
    events::emit(call, DELETED, id, shown, &[])
}

/// That of an order goes with its order.
pub fn remove(call: &Call) -> Outcome {
    manage(call)?;
    let payload = payloads::load(call, call.parameter("id"))?;
    if payload.order().is_some() {
        return Err(Refusal::InvalidPayload.into());
    }
    let shown = shown::one(call, &payload)?;
    making::remove(call, &payload)?;
    tell_deleted(call, &payload.id, &shown)?;
    deleted::answer(call, &payload.id, "payload")
}

/// A form that was finished without a fault has made something of the body.
pub fn nothing() -> Stop {
    Stop::fault("a body was refused without a fault")
}
