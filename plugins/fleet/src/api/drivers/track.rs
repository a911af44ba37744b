//! Where a driver is: the busiest operation by far, so the stored text is patched and not rebuilt, and nothing is looked up
//! but the driver and his vehicle. It asks the host three times (get, replace, emit), and as often again for a vehicle.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome};

use super::events;
use crate::api::actor::allow;
use crate::api::fixes;
use crate::api::form::Form;
use crate::api::vehicles::location;
use crate::records::{drivers, shapes, vehicles};
use crate::rules::authority::{Operation, Subject};
use crate::rules::location::{Told, judge};

/// A fix that comes late, or is at 0, 0, moves nobody, and is answered with the driver where he is. His vehicle may know
/// better than he does: it has a device of its own.
pub fn track(call: &Call) -> Outcome {
    let id = call.parameter("id");
    allow(call, Operation::Track, Subject::Driver(id))?;
    let mut form = Form::of(call)?;
    let (reported, at_ms) = (fixes::reported(&mut form), fixes::taken_at(&mut form, call.now()));
    let (fix, unknown) = form.settle(judge(reported))?;
    let entry = drivers::load(call, id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    let told = Told { fix, at_ms };
    let vehicle = drivers::vehicle_of(&driver).and_then(|id| vehicles::load(call, &id).ok());
    let moves = told.moves(shapes::recorded_at_ms(&driver));
    // The stored text, if the answer is the same.
    let mut stored = None;
    if moves {
        drivers::moved(call, &mut driver, told)?;
        let text = driver.to_text();
        drivers::replace(call, id, &text)?;
        events::moved(call, id, &driver, &fix)?;
        stored = Some(text);
    }
    let vehicle = match vehicle {
        Some(vehicle) if moves => Some(location::take(call, &vehicle, told)?),
        still => still.map(|vehicle| vehicle.body),
    };
    if driver.given("vehicle").is_some() {
        driver.set_raw("vehicle", vehicle.unwrap_or_else(|| "null".to_owned()));
        stored = None;
    }
    if drivers::photo_file(&driver).is_some() {
        drivers::show_photo(call, &mut driver)?;
        stored = None;
    }
    Ok(unknown.tell(Answer::ok(stored.unwrap_or_else(|| driver.to_text()))))
}
