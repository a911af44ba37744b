//! Where a vehicle is: told by its own device, or by that of the driver who drives it. Either way a fix that is older than
//! the one that is known moves nothing and is not told, and one that moves it is told by one event of one form.

use serde::Serialize;
use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::records::shapes::{self, Number, Point, raw};
use crate::records::vehicles;
use crate::rules::location::{Fix, Told};

pub const LOCATION_EVENT: &str = "vehicle.location_changed";

/// Gives the vehicle as it then is. Two calls of the host where it moves: drivers' tracks come here, which are many.
pub fn take(call: &Call, entry: &Entry, told: Told) -> Result<String, Stop> {
    let mut vehicle: Object = json::from_text(&entry.body)?;
    if !told.moves(shapes::recorded_at_ms(&vehicle)) {
        return Ok(entry.body.clone());
    }
    let text = vehicles::move_to(call, &entry.id, &mut vehicle, told)?;
    call.emit(LOCATION_EVENT, &entry.id, &event(&entry.id, &vehicle, &told.fix)?);
    Ok(text)
}

/// As the location of a driver is told (spec/fleet: Events).
#[derive(Serialize)]
struct LocationChanged<'a> {
    vehicle_id: &'a str,
    latitude: Number,
    longitude: Number,
    heading: Option<Number>,
    speed: Option<Number>,
    altitude: Option<Number>,
    id: &'a str,
    internal_id: Box<RawValue>,
    name: Box<RawValue>,
    plate_number: Box<RawValue>,
    driver: Box<RawValue>,
    location: Point,
}

fn event(id: &str, vehicle: &Object, fix: &Fix) -> Result<String, Stop> {
    let known = |name: &str| raw(vehicle.raw(name).unwrap_or("null"));
    json::to_text(&LocationChanged {
        vehicle_id: id,
        latitude: Number(fix.position.latitude()),
        longitude: Number(fix.position.longitude()),
        heading: fix.heading.map(Number),
        speed: fix.speed.map(Number),
        altitude: fix.altitude.map(Number),
        id,
        internal_id: known("internal_id")?,
        name: known("name")?,
        plate_number: known("plate_number")?,
        driver: known("driver")?,
        location: Point::at(fix.position),
    })
}
