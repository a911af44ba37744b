//! Where a stop is: a place in any form in `place` or `location`, or the fields of one beside those of the stop.
//!
//! Others may go to the same place: a stop whose address changes goes to a new one, which has what was not changed.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::api::form::Form;
use crate::api::places as places_api;
use crate::api::places::mixed::{self, Mixed};
use crate::records::places::{self, NewPlace};
use crate::rules::change::Change;
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::place::{self, Asked, DETAILS};

/// The id of the place where it goes from now on; `None`: it stays where it is, or the form knows what is wrong.
/// `before`: the id of the place where it was.
pub fn read(call: &Call, form: &mut Form, before: Option<&str>) -> Result<Option<String>, Stop> {
    if let Some(value) = form.given("place").map(str::to_owned)
        && !is_id(&value, before)
    {
        // What else stands there is what was read of the place before.
        look_over(form);
        return places::take(call, "place", &value).map(Some);
    }
    if form.has("place") && form.given("place").is_none() {
        form.refuse(Invalid::Required("place"));
        return Ok(None);
    }
    if let Some(value) = located(form)? {
        return places::take(call, "location", &value).map(Some);
    }
    let mut asked = places_api::read_body(form)?;
    let meta = form.object_change("meta");
    // The type is the stop's.
    for (name, change) in &mut asked.details {
        if *name == "type" {
            *change = Change::Absent;
        }
    }
    // What nobody has located is shown at 0, 0: it is not said where a new one is.
    if asked.position == Change::To(Position::NOWHERE) {
        asked.position = Change::Absent;
    }
    match before {
        None if !says_any(&asked) => {
            form.refuse(Invalid::Required("place"));
            Ok(None)
        }
        _ => changed(call, form, before, asked, meta),
    }
}

/// A `location` that is no position but an address or an id, where nothing else is said of the place.
fn located(form: &Form) -> Result<Option<String>, Stop> {
    let names_details = DETAILS.iter().filter(|name| **name != "type").any(|name| form.given(name).is_some());
    let Some(value) = form.given("location").filter(|value| value.starts_with('"') && !names_details) else {
        return Ok(None);
    };
    let is_position = matches!(mixed::read("location", value)?, Mixed::New(_));
    Ok((!is_position).then(|| value.to_owned()))
}

/// A new place, unless it is what it was.
fn changed(
    call: &Call,
    form: &mut Form,
    before: Option<&str>,
    asked: Asked,
    meta: Option<String>,
) -> Result<Option<String>, Stop> {
    let known = before.and_then(|id| places::load_stored(call, id).ok()).map(|entry| entry.body);
    let known_place = known.as_deref().map(places::place_of).transpose()?;
    let known_meta = known.as_deref().map(meta_of).transpose()?.flatten();
    if known_place.is_none() && !says_any(&asked) {
        return Ok(None);
    }
    let place = match place::settle(known_place.clone(), asked) {
        Ok(place) => place,
        Err(faults) => {
            form.refuse_all(faults);
            return Ok(None);
        }
    };
    let keeps_meta = meta.is_none() || known_place.is_some() && is_same(meta.as_deref(), known_meta.as_deref());
    if keeps_meta && known_place.as_ref() == Some(&place) {
        return Ok(None);
    }
    let meta = meta.or(known_meta);
    places::insert(call, &NewPlace { place, meta }).map(|(id, _)| Some(id))
}

fn look_over(form: &Form) {
    form.pass_over(&DETAILS);
    form.pass_over(&mixed::POSITION_FIELDS);
    form.pass_over(&mixed::OTHER_FIELDS);
}

fn says_any(asked: &Asked) -> bool {
    asked.position != Change::Absent || asked.details.iter().any(|(_, change)| *change != Change::Absent)
}

fn is_id(value: &str, id: Option<&str>) -> bool {
    serde_json::from_str::<String>(value).is_ok_and(|asked| Some(asked.as_str()) == id)
}

fn meta_of(place: &str) -> Result<Option<String>, Stop> {
    let place: Object = json::from_text(place)?;
    Ok(place.given("meta").map(str::to_owned))
}

/// The same, however it is written.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    let value = |text: Option<&str>| serde_json::from_str::<serde_json::Value>(text.unwrap_or("{}")).ok();
    value(one) == value(other)
}
