//! Who drives which vehicle. Both records say it, so whoever changes one of them has the other changed here.
//!
//! Invariant: a driver's `vehicle` names a vehicle whose `driver` names him, and the other way round; whoever had either
//! before has none then. Each record that changes is told.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use super::drivers::{events as told, show};
use super::{events, vehicles as api};
use crate::records::{drivers, vehicles};
use crate::rules::change::Change;
use crate::rules::vehicle::Vehicle;

/// A driver's own record says so already. `before` and `after`: ids of vehicles; 404 where the new one is unknown.
pub fn driver_changes_vehicle(
    call: &Call,
    driver: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Stop> {
    if before == after {
        return Ok(());
    }
    leave(call, driver, before)?;
    let Some(id) = after else { return Ok(()) };
    let entry = vehicles::load(call, id)?;
    let vehicle = vehicles::vehicle_of(&entry.body)?;
    if let Some(holder) = vehicle.driver.as_deref().filter(|holder| *holder != driver) {
        take_from(call, holder, id)?;
    }
    drive(call, &entry, Vehicle { driver: Some(driver.to_owned()), ..vehicle })
}

/// A vehicle's own record says so already. `before` and `after`: ids of drivers; 404 where the new one is unknown.
pub fn vehicle_changes_driver(
    call: &Call,
    vehicle: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Stop> {
    if before == after {
        return Ok(());
    }
    if let Some(holder) = before {
        take_from(call, holder, vehicle)?;
    }
    let Some(id) = after else { return Ok(()) };
    let entry = drivers::load(call, id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    leave(call, id, drivers::vehicle_of(&driver).as_deref().filter(|own| *own != vehicle))?;
    let shown = show::one(call, &drivers::put_vehicle(call, id, &mut driver, Some(vehicle))?)?;
    told::emit(call, told::UPDATED, id, &shown)?;
    told::emit(call, told::ASSIGNED, id, &shown)
}

/// The vehicle that a driver had is nobody's, unless it was given to another one since.
fn leave(call: &Call, driver: &str, vehicle: Option<&str>) -> Result<(), Stop> {
    let Some(entry) = vehicle.and_then(|id| vehicles::load(call, id).ok()) else { return Ok(()) };
    let vehicle = vehicles::vehicle_of(&entry.body)?;
    if vehicle.driver.as_deref() != Some(driver) {
        return Ok(());
    }
    drive(call, &entry, Vehicle { driver: None, ..vehicle })
}

/// Whoever had this vehicle has none now, unless he has another one.
fn take_from(call: &Call, holder: &str, vehicle: &str) -> Result<(), Stop> {
    let found = drivers::load_many(call, &[holder.to_owned()]);
    let Some(body) = found.get(holder) else { return Ok(()) };
    let mut driver: Object = json::from_text(body)?;
    if drivers::vehicle_of(&driver).as_deref() != Some(vehicle) {
        return Ok(());
    }
    let shown = show::one(call, &drivers::put_vehicle(call, holder, &mut driver, None)?)?;
    told::emit(call, told::UPDATED, holder, &shown)
}

fn drive(call: &Call, entry: &Entry, vehicle: Vehicle) -> Result<(), Stop> {
    let shown = vehicles::replace(call, entry, Some(&vehicle), Change::Absent, None)?;
    events::emit(call, api::UPDATED_EVENT, &entry.id, &shown, &[])
}
