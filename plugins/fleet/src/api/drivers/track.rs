//! Where a driver is: the busiest operation by far, so the stored text is patched and not rebuilt, and nothing is looked up
//! but the driver and his vehicle. It asks the host three times (get, replace, emit), five times where there is a vehicle.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, time};

use super::events;
use crate::api::actor::allow;
use crate::api::errors;
use crate::api::form::Form;
use crate::records::drivers::{self, Told};
use crate::records::vehicles;
use crate::rules::authority::{Operation, Subject};
use crate::rules::change::Change;
use crate::rules::invalid::Invalid;
use crate::rules::location::recency::{Recency, judge_time};
use crate::rules::location::{self, Reported};

/// Numbers from here on are milliseconds, below it seconds: it is a moment of 1973, and a year far ahead.
const MILLISECONDS_FROM: f64 = 1e11;

/// A fix that comes late moves nobody, and is answered with the driver where he is.
pub fn track(call: &Call) -> Outcome {
    let id = call.parameter("id");
    allow(call, Operation::Track, Subject::Driver(id))?;
    let mut form = Form::of(call)?;
    let reported = Reported {
        latitude: form.number("latitude"),
        longitude: form.number("longitude"),
        heading: form.number("heading"),
        speed: form.number("speed"),
        altitude: form.number("altitude"),
    };
    let recorded_at_ms = recorded_at(&mut form);
    let (fix, unknown) = form.settle(location::judge(reported))?;
    let entry = drivers::load(call, id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    let stored_ms = driver.text("location_recorded_at").ok().flatten().and_then(|text| time::parse(&text));
    let recency = judge_time(stored_ms, recorded_at_ms, call.now()).map_err(|fault| errors::invalid(&[fault]))?;
    let vehicle = driver.text("vehicle").ok().flatten().and_then(|id| vehicles::load(call, &id).ok());
    let mut shown_vehicle = vehicle.as_ref().map(|vehicle| vehicle.body.clone());
    if let Recency::Newer { at_ms } = recency {
        let told = Told { fix, at_ms };
        drivers::moved(call, &mut driver, told)?;
        drivers::replace(call, id, &driver.to_text())?;
        if let Some(vehicle) = &vehicle {
            shown_vehicle = Some(vehicles::replace(call, vehicle, None, Change::To(fix), None)?);
        }
        call.emit(events::LOCATION, id, &events::location(id, &driver, &fix)?);
    }
    if driver.given("vehicle").is_some() {
        driver.set_raw("vehicle", shown_vehicle.unwrap_or_else(|| "null".to_owned()));
    }
    Ok(unknown.tell(Answer::ok(driver.to_text())))
}

/// When the device was there, by `recorded_at` or `timestamp`: a date, or seconds or milliseconds since 1970.
fn recorded_at(form: &mut Form) -> Option<u64> {
    let field = if form.given("recorded_at").is_some() { "recorded_at" } else { "timestamp" };
    form.pass_over(&["recorded_at", "timestamp"]);
    let value = form.given(field)?;
    if value.starts_with(|letter: char| letter.is_ascii_digit()) {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let milliseconds = number.map(|number| if number < MILLISECONDS_FROM { number * 1_000.0 } else { number });
        return form.keep(milliseconds.map(|number| number as u64).ok_or(Invalid::Not { field, kind: "a date" }));
    }
    form.date(field)
}
