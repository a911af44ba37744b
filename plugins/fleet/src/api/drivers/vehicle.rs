//! A driver's vehicle: the vehicle learns whose it is.

use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::api::{events, vehicles as api};
use crate::records::vehicles;
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
    tell(call, &entry, &Vehicle { driver: Some(driver.to_owned()), ..vehicle })
}

fn tell(call: &Call, entry: &Entry, vehicle: &Vehicle) -> Result<(), Stop> {
    let shown = vehicles::replace(call, entry, Some(vehicle), Change::Absent, None)?;
    events::emit(call, api::UPDATED_EVENT, &entry.id, &shown, &[])
}
