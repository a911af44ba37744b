//! Vehicles as they are stored (research/fleet 1.5).

use std::collections::BTreeMap;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use super::shapes::{Number, Point};
use crate::rules::change::{Change, find_text};
use crate::rules::location::Told;
use crate::rules::vehicle::{TEXTS, Vehicle};

pub const COLLECTION: &str = "vehicles";
const PREFIX: &str = "vehicle";

/// Looked at where the vehicles of one driver are asked for.
const OF_DRIVER_MAX: u32 = 20;

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    COLLECTION,
    &[
        BY_CREATED,
        BY_UPDATED,
        Index::on("by-status", &["status", "@created-at"]),
        Index::on("by-driver", &["driver", "@created-at"]),
        Index::on("by-plate-number", &["plate_number", "@created-at"]),
        Index::on("by-internal-id", &["internal_id", "@created-at"]),
    ],
)];

pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, PREFIX, id)
}

pub fn load_many(call: &Call, ids: &[String]) -> BTreeMap<String, String> {
    common::load_many(call, COLLECTION, PREFIX, ids)
}

/// Of those that name this driver. There is one; earlier versions may have left some more.
pub fn ids_of_driver(call: &Call, driver: &str) -> Result<Vec<String>, Stop> {
    let page = common::find(call, COLLECTION, &Search::first(OF_DRIVER_MAX).is("driver", driver))?;
    Ok(page.entries.into_iter().map(|entry| entry.id).collect())
}

/// `meta` is a JSON text. Gives the id and the text.
pub fn insert(
    call: &Call,
    vehicle: &Vehicle,
    told: Option<Told>,
    meta: Option<&str>,
) -> Result<(String, String), Stop> {
    let now = time::to_text(call.now());
    let inserted = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        write(&mut text, vehicle)?;
        write_place(&mut text, told)?;
        text.set_raw("meta", meta.unwrap_or("{}"));
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    });
    Ok(inserted?)
}

/// What changes is given; `meta` is a JSON text. Gives the text.
pub fn replace(
    call: &Call,
    entry: &Entry,
    vehicle: Option<&Vehicle>,
    told: Change<Told>,
    meta: Option<String>,
) -> Result<String, Stop> {
    let mut text: Object = json::from_text(&entry.body)?;
    if let Some(vehicle) = vehicle {
        write(&mut text, vehicle)?;
    }
    match told {
        Change::To(told) => write_place(&mut text, Some(told))?,
        Change::Cleared => write_place(&mut text, None)?,
        Change::Absent => {}
    }
    Ok(common::replace_changed(call, COLLECTION, &entry.id, text, meta)?)
}

/// The vehicle where a device says; nothing else of it changes. Gives the text.
pub fn move_to(call: &Call, id: &str, vehicle: &mut Object, told: Told) -> Result<String, Stop> {
    write_place(vehicle, Some(told))?;
    vehicle.set("updated_at", &time::to_text(call.now()))?;
    let text = vehicle.to_text();
    common::replace(call, COLLECTION, id, &text)?;
    Ok(text)
}

pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    common::delete(call, COLLECTION, id)
}

/// The vehicle as the rules know it.
pub fn vehicle_of(text: &str) -> Result<Vehicle, Stop> {
    let stored: Object = json::from_text(text)?;
    let wrong = |_| Stop::fault("a vehicle with a field of another type");
    let mut texts = Vec::new();
    for (name, _) in TEXTS {
        texts.extend(stored.text(name).map_err(wrong)?.map(|text| (name, text)));
    }
    let defaults = Vehicle::default();
    Ok(Vehicle {
        texts,
        status: stored.text("status").map_err(wrong)?.unwrap_or(defaults.status),
        year: stored.number("year").map_err(wrong)?,
        payload_capacity_kg: stored.number("payload_capacity").map_err(wrong)?,
        odometer: stored.number("odometer").map_err(wrong)?,
        odometer_unit: stored.text("odometer_unit").map_err(wrong)?.unwrap_or(defaults.odometer_unit),
        online: stored.boolean("online").map_err(wrong)?.unwrap_or_default(),
        driver: stored.text("driver").map_err(wrong)?,
        vendor: stored.text("vendor").map_err(wrong)?,
    })
}

fn write(text: &mut Object, vehicle: &Vehicle) -> Result<(), Stop> {
    for (name, _) in TEXTS {
        text.set(name, &find_text(&vehicle.texts, name))?;
    }
    text.set("status", &vehicle.status)?;
    text.set("year", &vehicle.year.map(Number))?;
    text.set("payload_capacity", &vehicle.payload_capacity_kg.map(Number))?;
    text.set("odometer", &vehicle.odometer.map(Number))?;
    text.set("odometer_unit", &vehicle.odometer_unit)?;
    text.set("online", &vehicle.online)?;
    text.set("driver", &vehicle.driver)?;
    text.set("vendor", &vehicle.vendor)
}

/// Where it is, and since when that is known.
fn write_place(text: &mut Object, told: Option<Told>) -> Result<(), Stop> {
    let fix = told.map(|told| told.fix);
    text.set("location", &Point::of(fix.map(|fix| fix.position)))?;
    text.set("heading", &fix.and_then(|fix| fix.heading).map(Number))?;
    text.set("altitude", &fix.and_then(|fix| fix.altitude).map(Number))?;
    text.set("speed", &fix.and_then(|fix| fix.speed).map(Number))?;
    text.set("location_recorded_at", &told.map(|told| time::to_text(told.at_ms)))
}
