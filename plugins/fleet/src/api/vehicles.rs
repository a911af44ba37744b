//! Vehicles: create, list, read, update, delete, track (research/fleet 1.5).

#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::places::mixed;
use super::{actor, deleted, events};
use crate::records::shapes::Number;
use crate::records::vehicles::{self, COLLECTION};
use crate::records::{drivers, places};
use crate::rules::change::Change;
use crate::rules::location::{self, Fix, Position, Reported};
use crate::rules::vehicle::{self, Asked, TEXTS, Vehicle};

pub const CREATED_EVENT: &str = "vehicle.created";
pub const UPDATED_EVENT: &str = "vehicle.updated";
pub const DELETED_EVENT: &str = "vehicle.deleted";
pub const LOCATION_EVENT: &str = "vehicle.location_changed";

/// Clients send back what they have read; what moves is told by `track`.
const SHOWN: [&str; 6] = ["id", "heading", "altitude", "speed", "updated_at", "created_at"];

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
    check_driver(call, &vehicle)?;
    let fix = fix_at(position).over(None);
    let (id, shown) = vehicles::insert(call, &vehicle, fix.as_ref(), meta.as_deref())?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
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
    let (vehicle, unknown) = form.settle(vehicle::settle(Some(vehicles::vehicle_of(&entry.body)?), asked))?;
    check_driver(call, &vehicle)?;
    // A client that sends back what it has read does not move the vehicle.
    let is_there = matches!(position, Change::To(position) if places::position_of(&entry.body) == Some(position));
    let fix = if is_there { Change::Absent } else { fix_at(position) };
    let shown = vehicles::replace(call, &entry, Some(&vehicle), fix, meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    Ok(unknown.tell(Answer::ok(shown)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = vehicles::load(call, call.parameter("id"))?;
    vehicles::delete(call, &entry.id)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])?;
    deleted::answer(call, &entry.id, "vehicle")
}

/// Where the vehicle says it is; nothing else of it changes.
pub fn track(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let entry = vehicles::load(call, call.parameter("id"))?;
    let reported = Reported {
        latitude: form.number("latitude"),
        longitude: form.number("longitude"),
        heading: form.number("heading"),
        speed: form.number("speed"),
        altitude: form.number("altitude"),
    };
    let (fix, unknown) = form.settle(location::judge(reported))?;
    let shown = vehicles::replace(call, &entry, None, Change::To(fix), None)?;
    events::emit(call, LOCATION_EVENT, &entry.id, &shown, &location_keys(&entry.id, &fix)?)?;
    Ok(unknown.tell(Answer::ok(shown)))
}

/// As the location of a driver is told (spec/fleet: Events).
fn location_keys(id: &str, fix: &Fix) -> Result<[(&'static str, String); 6], Stop> {
    Ok([
        ("vehicle_id", json::to_text(id)?),
        ("latitude", json::to_text(&Number(fix.position.latitude()))?),
        ("longitude", json::to_text(&Number(fix.position.longitude()))?),
        ("heading", json::to_text(&fix.heading.map(Number))?),
        ("speed", json::to_text(&fix.speed.map(Number))?),
        ("altitude", json::to_text(&fix.altitude.map(Number))?),
    ])
}

fn fix_at(position: Change<Position>) -> Change<Fix> {
    match position {
        Change::To(position) => Change::To(Fix { position, heading: None, speed: None, altitude: None }),
        Change::Cleared => Change::Cleared,
        Change::Absent => Change::Absent,
    }
}

/// 404 where the driver is unknown.
fn check_driver(call: &Call, vehicle: &Vehicle) -> Result<(), Stop> {
    match &vehicle.driver {
        Some(driver) => drivers::load(call, driver).map(|_| ()),
        None => Ok(()),
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
