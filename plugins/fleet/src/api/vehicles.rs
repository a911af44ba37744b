//! Vehicles: create, list, read, update, delete, track (research/fleet 1.5).

pub mod location;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::places::mixed;
use super::{actor, deleted, driving, events, fixes};
use crate::records::places;
use crate::records::vehicles::{self, COLLECTION};
use crate::rules::change::Change;
use crate::rules::location::{Fix, Position, Told, judge};
use crate::rules::vehicle::{self, Asked, TEXTS};

pub const CREATED_EVENT: &str = "vehicle.created";
pub const UPDATED_EVENT: &str = "vehicle.updated";
pub const DELETED_EVENT: &str = "vehicle.deleted";

/// Clients send back what they have read; what moves is told by `track`.
const SHOWN: [&str; 7] = ["id", "heading", "altitude", "speed", "location_recorded_at", "updated_at", "created_at"];

const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::word("status", "status"),
        Filter::text("internal_id", "internal_id"),
        Filter::text("name", "name"),
        Filter::word("type", "type"),
        Filter::text("make", "make"),
        Filter::text("model", "model"),
        Filter::text("plate_number", "plate_number"),
        Filter::text("vin", "vin"),
        Filter::word("driver", "driver"),
        Filter::boolean("online", "online"),
        Filter::number("year", "year"),
        Filter::number("payload_capacity", "payload_capacity"),
    ],
    sorts: &[],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let asked = read_body(&mut form);
    let position = mixed::position_change(&form)?;
    let meta = form.object("meta");
    let (vehicle, unknown) = form.settle(vehicle::settle(None, asked))?;
    let told = told_at(call, position).over(None);
    let (id, shown) = vehicles::insert(call, &vehicle, told, meta.as_deref())?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
    driving::vehicle_changes_driver(call, &id, None, vehicle.driver.as_deref())?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list(call, &LISTING)
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(vehicles::load(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let entry = vehicles::load(call, call.parameter("id"))?;
    let asked = read_body(&mut form);
    let position = mixed::position_change(&form)?;
    let meta = form.object_change("meta");
    let before = vehicles::vehicle_of(&entry.body)?;
    let names_driver = asked.driver != Change::Absent;
    let (vehicle, unknown) = form.settle(vehicle::settle(Some(before.clone()), asked))?;
    let told = if is_shown_at(&entry.body, &position) { Change::Absent } else { told_at(call, position) };
    let shown = vehicles::replace(call, &entry, Some(&vehicle), told, meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    if names_driver {
        driving::vehicle_changes_driver(call, &entry.id, before.driver.as_deref(), vehicle.driver.as_deref())?;
    }
    Ok(unknown.tell(Answer::ok(shown)))
}

/// Its driver has none then.
pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = vehicles::load(call, call.parameter("id"))?;
    driving::vehicle_changes_driver(call, &entry.id, vehicles::vehicle_of(&entry.body)?.driver.as_deref(), None)?;
    vehicles::delete(call, &entry.id)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])?;
    deleted::answer(call, &entry.id, "vehicle")
}

/// Where the vehicle says it is; nothing else of it changes. A fix that comes late is answered with the vehicle where it is.
pub fn track(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let entry = vehicles::load(call, call.parameter("id"))?;
    let (reported, at_ms) = (fixes::reported(&mut form), fixes::taken_at(&mut form, call.now()));
    let (fix, unknown) = form.settle(judge(reported))?;
    Ok(unknown.tell(Answer::ok(location::take(call, &entry, Told { fix, at_ms })?)))
}

/// A client that sends back what it has read does not move the vehicle; one of which nobody knows where it is is shown at
/// [0,0].
fn is_shown_at(vehicle: &str, position: &Change<Position>) -> bool {
    let shown = places::position_of(vehicle).map_or((0.0, 0.0), |known| (known.latitude(), known.longitude()));
    matches!(position, Change::To(position) if (position.latitude(), position.longitude()) == shown)
}

/// Where an organization says it is, it is now.
fn told_at(call: &Call, position: Change<Position>) -> Change<Told> {
    let at = |position| Told { fix: Fix { position, heading: None, speed: None, altitude: None }, at_ms: call.now() };
    match position {
        Change::To(position) => Change::To(at(position)),
        Change::Cleared => Change::Cleared,
        Change::Absent => Change::Absent,
    }
}

fn read_body(form: &mut Form) -> Asked {
    form.pass_over(&SHOWN);
    // There are no vendors yet.
    form.not_supported(&["vendor"]);
    Asked {
        texts: TEXTS.iter().map(|(name, _)| (*name, form.text_change(name))).collect(),
        status: form.text_change("status"),
        year: form.number_change("year"),
        payload_capacity_kg: form.number_change("payload_capacity"),
        odometer: form.number_change("odometer"),
        odometer_unit: form.text_change("odometer_unit"),
        online: form.boolean("online"),
        driver: form.text_change("driver"),
        vendor: Change::Absent,
    }
}
