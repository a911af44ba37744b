//! Drivers: create, read, track (spec/fleet; research/fleet 1.2).

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::form::Form;
use super::{errors, places};
use crate::records::{self, DriverExtras, Number};
use crate::rules::driver::{self, Applicant, TEXT_CHARS_MAX};
use crate::rules::invalid::Invalid;
use crate::rules::location::{self, Fix, Position, Reported};

pub const LOCATION_EVENT: &str = "driver.location_changed";

/// Of the real interface, not of this version.
const NOT_SUPPORTED: [&str; 5] = ["password", "vehicle", "vendor", "job", "photo"];

pub fn create(call: &Call) -> Outcome {
    let mut form = Form::new(call.object()?);
    form.not_supported(&NOT_SUPPORTED);
    let applicant = Applicant {
        name: form.text("name", TEXT_CHARS_MAX),
        email: form.text("email", TEXT_CHARS_MAX),
        phone: form.text("phone", TEXT_CHARS_MAX),
        status: form.text("status", TEXT_CHARS_MAX),
    };
    let extras = DriverExtras {
        internal_id: form.text("internal_id", TEXT_CHARS_MAX),
        drivers_license_number: form.text("drivers_license_number", TEXT_CHARS_MAX),
        license_expiry: form.date("license_expiry"),
        country: form.text("country", 2),
        city: form.text("city", TEXT_CHARS_MAX),
        timezone: form.text("timezone", TEXT_CHARS_MAX),
        meta: form.object("meta"),
        position: starting_position(&mut form)?,
    };
    let (driver, unknown) = form.settle(driver::admit(applicant))?;
    Ok(unknown.tell(Answer::created(records::insert_driver(call, &driver, &extras)?)))
}

/// `location` in any form, or latitude and longitude beside the other fields.
fn starting_position(form: &mut Form) -> Result<Option<Position>, Stop> {
    if let Some(value) = form.given("location") {
        return places::position("location", value).map(Some);
    }
    for (field, with) in [("latitude", "longitude"), ("longitude", "latitude")] {
        if form.given(field).is_none() && form.given(with).is_some() {
            form.refuse(Invalid::RequiredWith { field, with });
        }
    }
    match (form.number("latitude"), form.number("longitude")) {
        (Some(latitude), Some(longitude)) => Ok(form.keep(Position::new(latitude, longitude))),
        _ => Ok(None),
    }
}

pub fn read(call: &Call) -> Outcome {
    Ok(Answer::ok(records::load_driver(call, call.parameter("id"))?.body))
}

/// The busiest operation by far: the stored text is patched, not rebuilt.
pub fn track(call: &Call) -> Outcome {
    let mut form = Form::new(call.object()?);
    let driver = records::load_driver(call, call.parameter("id"))?;
    let reported = Reported {
        latitude: form.number("latitude"),
        longitude: form.number("longitude"),
        heading: form.number("heading"),
        speed: form.number("speed"),
        altitude: form.number("altitude"),
    };
    let unknown = form.finish()?;
    let fix = location::judge(reported).map_err(|faults| errors::invalid(&faults))?;
    let body = moved(&driver.body, &fix, call.now())?;
    records::replace_driver(call, &driver.id, &body)?;
    call.emit(LOCATION_EVENT, &driver.id, &location_event(&driver.id, &fix)?);
    Ok(unknown.tell(Answer::ok(body)))
}

fn moved(driver: &str, fix: &Fix, now: u64) -> Result<String, Stop> {
    let mut driver: Object = json::from_text(driver)?;
    driver.set("location", &records::Point::at(fix.position))?;
    driver.set("heading", &fix.heading.map(Number))?;
    driver.set("speed", &fix.speed.map(Number))?;
    driver.set("altitude", &fix.altitude.map(Number))?;
    driver.set("updated_at", &time::to_text(now))?;
    Ok(driver.to_text())
}

fn location_event(driver_id: &str, fix: &Fix) -> Result<String, Stop> {
    #[derive(serde::Serialize)]
    struct LocationChanged<'a> {
        driver_id: &'a str,
        latitude: Number,
        longitude: Number,
        heading: Option<Number>,
        speed: Option<Number>,
        altitude: Option<Number>,
    }
    json::to_text(&LocationChanged {
        driver_id,
        latitude: Number(fix.position.latitude()),
        longitude: Number(fix.position.longitude()),
        heading: fix.heading.map(Number),
        speed: fix.speed.map(Number),
        altitude: fix.altitude.map(Number),
    })
}
