//! Vehicles (research/fleet 1.5), as far as orders, drivers and rules about loads need them.

use super::change::{Change, Faults, TextField, Texts, find_text};
use super::invalid::Invalid;
use super::zone;

/// What a vehicle says of itself in one line each. None of them is asked for.
pub const TEXTS: [TextField; 16] = [
    ("internal_id", 128),
    ("name", 128),
    ("type", 64),
    ("make", 64),
    ("model", 64),
    ("trim", 64),
    ("color", 64),
    ("plate_number", 64),
    ("vin", 64),
    ("serial_number", 128),
    ("call_sign", 64),
    ("fuel_type", 64),
    ("body_type", 64),
    ("usage_type", 64),
    ("timezone", 64),
    ("description", 500),
];

const STATUSES: &str = "available, active, inactive, maintenance";
const DISTANCE_UNITS: &str = "km, mi";
const YEARS: (f64, f64) = (1885.0, 2100.0);
/// Kilograms: the largest there are.
const PAYLOAD_KG: (f64, f64) = (0.0, 1_000_000.0);
const ODOMETER: (f64, f64) = (0.0, 100_000_000.0);

#[derive(Clone, Debug, PartialEq)]
pub struct Vehicle {
    /// Of [`TEXTS`].
    pub texts: Texts,
    pub status: String,
    pub year: Option<f64>,
    pub payload_capacity_kg: Option<f64>,
    pub odometer: Option<f64>,
    /// "km" or "mi".
    pub odometer_unit: String,
    pub online: bool,
    /// By ids; whether they exist, its reader looks.
    pub driver: Option<String>,
    pub vendor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub texts: Vec<(&'static str, Change<String>)>,
    pub status: Change<String>,
    pub year: Change<f64>,
    pub payload_capacity_kg: Change<f64>,
    pub odometer: Change<f64>,
    pub odometer_unit: Change<String>,
    pub online: Option<bool>,
    pub driver: Change<String>,
    pub vendor: Change<String>,
}

impl Default for Vehicle {
    fn default() -> Vehicle {
        Vehicle {
            texts: Texts::new(),
            status: "available".to_owned(),
            year: None,
            payload_capacity_kg: None,
            odometer: None,
            odometer_unit: "km".to_owned(),
            online: false,
            driver: None,
            vendor: None,
        }
    }
}

/// What was asked for, on top of the vehicle before where there is one. A status or unit that is cleared is the default
/// again.
pub fn settle(before: Option<Vehicle>, asked: Asked) -> Result<Vehicle, Vec<Invalid>> {
    let before = before.unwrap_or_default();
    let zone = find_text(&before.texts, "timezone").map(str::to_owned);
    let defaults = Vehicle::default();
    let mut faults = Faults::default();
    let status = faults.word("status", asked.status.over(Some(before.status)), STATUSES);
    let odometer_unit =
        faults.word("odometer_unit", asked.odometer_unit.over(Some(before.odometer_unit)), DISTANCE_UNITS);
    let vehicle = Vehicle {
        texts: faults.texts(&TEXTS, asked.texts, before.texts),
        status: status.unwrap_or(defaults.status),
        year: faults.number("year", asked.year.over(before.year), YEARS),
        payload_capacity_kg: faults.number(
            "payload_capacity",
            asked.payload_capacity_kg.over(before.payload_capacity_kg),
            PAYLOAD_KG,
        ),
        odometer: faults.number("odometer", asked.odometer.over(before.odometer), ODOMETER),
        odometer_unit: odometer_unit.unwrap_or(defaults.odometer_unit),
        online: asked.online.unwrap_or(before.online),
        driver: faults.line(("driver", 64), asked.driver, before.driver),
        vendor: faults.line(("vendor", 64), asked.vendor, before.vendor),
    };
    if vehicle.year.is_some_and(|year| year.fract() != 0.0) {
        faults.note(Invalid::Not { field: "year", kind: "a whole number" });
    }
    faults.keep(zone::check_change(zone.as_deref(), find_text(&vehicle.texts, "timezone")));
    faults.finish(vehicle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn asked() -> Asked {
        Asked {
            texts: vec![("plate_number", to("SGX 1234 A")), ("type", to("van"))],
            year: Change::To(2024.0),
            odometer: Change::To(12_000.5),
            driver: to("driver_1"),
            ..Asked::default()
        }
    }

    #[test]
    fn a_vehicle_needs_nothing_and_begins_available() {
        let vehicle = settle(None, Asked::default()).unwrap();
        assert_eq!(vehicle, Vehicle::default());
        assert_eq!(
            (vehicle.status.as_str(), vehicle.odometer_unit.as_str(), vehicle.online),
            ("available", "km", false)
        );
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let before = settle(None, asked()).unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default()), Ok(before.clone()));
        let changed = Asked {
            texts: vec![("type", Change::Cleared)],
            status: to("Maintenance"),
            odometer: Change::To(13_000.0),
            driver: Change::Cleared,
            online: Some(true),
            ..Asked::default()
        };
        let changed = settle(Some(before), changed).unwrap();
        assert_eq!(
            (find_text(&changed.texts, "type"), find_text(&changed.texts, "plate_number")),
            (None, Some("SGX 1234 A"))
        );
        assert_eq!((changed.status.as_str(), changed.odometer, changed.driver), ("maintenance", Some(13_000.0), None));
        let again = settle(
            Some(Vehicle { online: true, ..Vehicle::default() }),
            Asked { status: Change::Cleared, ..Asked::default() },
        );
        assert_eq!(again.unwrap(), Vehicle { online: true, ..Vehicle::default() });
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked {
            texts: vec![("vin", to(&"x".repeat(65)))],
            status: to("asleep"),
            year: Change::To(2024.5),
            odometer: Change::To(-1.0),
            odometer_unit: to("furlongs"),
            payload_capacity_kg: Change::To(f64::INFINITY),
            ..Asked::default()
        };
        assert_eq!(settle(None, wrong).unwrap_err().len(), 6);
    }
}
