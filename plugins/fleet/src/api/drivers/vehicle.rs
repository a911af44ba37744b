//! A driver's vehicle: the vehicle learns whose it is, and whose it was loses it.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop, time};

use super::show;
use crate::api::{events, vehicles as api};
use crate::records::{drivers, vehicles};
use crate::rules::change::Change;
use crate::rules::vehicle::Vehicle;

/// `before` and `after`: ids of vehicles.
pub fn hand_over(call: &Call, driver: &str, before: Option<&str>, after: Option<&str>) -> Result<(), Stop> {
    if before == after {
        return Ok(());
    }
    if let Some(entry) = before.and_then(|id| vehicles::load(call, id).ok()) {
        let vehicle = vehicles::vehicle_of(&entry.body)?;
        // It may have been given to another one since.
        if vehicle.driver.as_deref() == Some(driver) {
            tell(call, &entry, &Vehicle { driver: None, ..vehicle })?;
        }
    }
    let Some(id) = after else { return Ok(()) };
    let entry = vehicles::load(call, id)?;
    let vehicle = vehicles::vehicle_of(&entry.body)?;
    if let Some(holder) = vehicle.driver.as_deref().filter(|holder| *holder != driver) {
        take_from(call, holder, id)?;
    }
    tell(call, &entry, &Vehicle { driver: Some(driver.to_owned()), ..vehicle })
}

/// Whoever had this vehicle has none now.
fn take_from(call: &Call, holder: &str, vehicle: &str) -> Result<(), Stop> {
    let found = drivers::load_many(call, &[holder.to_owned()]);
    let Some(body) = found.get(holder) else { return Ok(()) };
    let mut driver: Object = json::from_text(body)?;
    if driver.text("vehicle").ok().flatten().as_deref() != Some(vehicle) {
        return Ok(());
    }
    driver.set_raw("vehicle", "null");
    driver.set("updated_at", &time::to_text(call.now()))?;
    let body = driver.to_text();
    drivers::replace(call, holder, &body)?;
    super::events::emit(call, super::events::UPDATED, holder, &show::one(call, &body)?)
}

fn tell(call: &Call, entry: &Entry, vehicle: &Vehicle) -> Result<(), Stop> {
    let shown = vehicles::replace(call, entry, Some(vehicle), Change::Absent, None)?;
    events::emit(call, api::UPDATED_EVENT, &entry.id, &shown, &[])
}
