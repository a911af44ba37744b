//! What a scanned code names: the order, the stop or the entity of a tracking number, or of an id, as our own labels hold
//! them.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Stop};

use crate::api::form::Form;
use crate::api::orders::shown;
use crate::api::waypoints::shown as waypoint_shown;
use crate::api::{actor, errors};
use crate::records::common::is_public_id;
use crate::records::orders::{self, Holder};
use crate::records::{entities, payloads, tracking, waypoints};
use crate::rules::authority::{Actor, Operation, Subject};
use crate::rules::invalid::Invalid;
use crate::rules::proof::capture::CODE_CHARS_MAX;
use crate::rules::tracking::is_number;

/// 404 for a code that names nothing that the caller may see.
pub fn find(call: &Call) -> Outcome {
    let mut form = Form::of(call)?;
    let code = form.text("code", CODE_CHARS_MAX).map(|code| code.trim().to_owned()).filter(|code| !code.is_empty());
    if code.is_none() {
        form.refuse(Invalid::Required("code"));
    }
    let unknown = form.finish()?;
    let subject = subject(call, &code.unwrap_or_default())?;
    let shown = if is_public_id("entity", &subject) {
        let entity = entities::load(call, &subject)?;
        allow_with(call, &entities::payload_of(&entity.body)?.unwrap_or_default())?;
        entities::shown_one(call, &entity.body)?
    } else if is_public_id(waypoints::PREFIX, &subject) {
        let waypoint = waypoints::load(call, &subject)?;
        allow_with(call, &waypoints::payload_of(&waypoint)?)?;
        waypoint_shown::one(call, &waypoint)?
    } else {
        let entry = orders::load(call, &subject)?;
        shown::one(call, &allowed(call, &entry)?)?
    };
    Ok(unknown.tell(Answer::ok(shown)))
}

/// The id that the code stands for.
fn subject(call: &Call, code: &str) -> Result<String, Stop> {
    if is_number(code) || is_public_id("track", code) {
        return tracking::subject_of(&tracking::find(call, code)?.body);
    }
    Ok(code.to_owned())
}

fn allowed<'e>(call: &Call, entry: &'e Entry) -> Result<Object<'e>, Stop> {
    let order: Object = json::from_text(&entry.body)?;
    actor::allow(call, Operation::ReadOrder, Subject::Order(Holder::of(&order).held()))?;
    Ok(order)
}

/// A driver sees what an order of his carries, and where that goes.
fn allow_with(call: &Call, payload: &str) -> Result<(), Stop> {
    if actor::actor(call) == Actor::Organization {
        return Ok(());
    }
    let order = payloads::load(call, payload)?.order().ok_or_else(errors::not_found)?;
    allowed(call, &orders::load(call, &order)?).map(|_| ())
}
