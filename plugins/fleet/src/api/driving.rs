//! Who drives which vehicle. Both records say it, so whoever changes one of them has the other changed here. Asked whenever a
//! caller names the one or the other, the same as before among them: earlier versions wrote one side alone.
//!
//! Invariant: a driver's `vehicle` names a vehicle whose `driver` names him, and the other way round; whoever had either
//! before has none then. Each record that changes is told, and none that says so already.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use super::drivers::{events as told, show};
use super::{events, vehicles as api};
use crate::records::{drivers, vehicles};
use crate::rules::change::Change;
use crate::rules::vehicle::Vehicle;

/// A driver's own record says so already. `after`: the id of a vehicle; 404 where it is unknown.
pub fn driver_changes_vehicle(call: &Call, driver: &str, after: Option<&str>) -> Result<(), Stop> {
    leave_all_but(call, driver, after)?;
    let Some(id) = after else { return Ok(()) };
    let entry = vehicles::load(call, id)?;
    let vehicle = vehicles::vehicle_of(&entry.body)?;
    match vehicle.driver.as_deref() {
        Some(holder) if holder == driver => return Ok(()),
        Some(holder) => take_from(call, holder, id)?,
        None => {}
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
    if let Some(holder) = before.filter(|holder| Some(*holder) != after) {
        take_from(call, holder, vehicle)?;
    }
    let Some(id) = after else { return Ok(()) };
    let found = drivers::load(call, id);
    // Clients send back what they have read, be it one who was deleted long ago.
    if before == after && found.is_err() {
        return Ok(());
    }
    let entry = found?;
    leave_all_but(call, id, Some(vehicle))?;
    let mut driver: Object = json::from_text(&entry.body)?;
    if drivers::vehicle_of(&driver).as_deref() == Some(vehicle) {
        return Ok(());
    }
    let shown = show::one(call, &drivers::put_vehicle(call, id, &mut driver, Some(vehicle))?)?;
    told::emit(call, told::UPDATED, id, &shown)?;
    told::emit(call, told::ASSIGNED, id, &shown)
}

/// The vehicles that name him are nobody's, but for this one.
fn leave_all_but(call: &Call, driver: &str, kept: Option<&str>) -> Result<(), Stop> {
    let named = vehicles::ids_of_driver(call, driver)?;
    named.iter().filter(|id| Some(id.as_str()) != kept).try_for_each(|id| leave(call, driver, id))
}

/// Nobody's, unless it was given to another one since.
fn leave(call: &Call, driver: &str, vehicle: &str) -> Result<(), Stop> {
    let Ok(entry) = vehicles::load(call, vehicle) else { return Ok(()) };
    let vehicle = vehicles::vehicle_of(&entry.body)?;
    if vehicle.driver.as_deref() != Some(driver) {
        return Ok(());
    }
    drive(call, &entry, Vehicle { driver: None, ..vehicle })
}

/// Whoever had this vehicle has none now, unless he has another one.
fn take_from(call: &Call, holder: &str, vehicle: &str) -> Result<(), Stop> {
    let Some(body) = drivers::find_one(call, holder) else { return Ok(()) };
    let mut driver: Object = json::from_text(&body)?;
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
