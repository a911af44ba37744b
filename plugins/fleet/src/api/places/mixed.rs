//! Places as callers write them (research/fleet 1.0): an id, an address, coordinates in any of the usual forms, or an
//! object.

use tenon_plugin::Stop;
use tenon_plugin::json::Object;

use crate::api::errors;
use crate::api::form::{Form, object_at};
use crate::records::common::is_public_id;
use crate::records::places::NewPlace;
use crate::rules::change::Change;
use crate::rules::invalid::{Invalid, joined};
use crate::rules::location::Position;
use crate::rules::place::{DETAIL_CHARS_MAX as ADDRESS_CHARS_MAX, DETAILS, Place};
use crate::rules::text;

const KIND: &str = "an address, coordinates, or a place";

/// What has an id that is no address, and no place either.
const NOT_PLACES: [&str; 8] = ["waypoint", "entity", "order", "payload", "contact", "customer", "vehicle", "file"];

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Mixed {
    /// The id of a place.
    Known(String),
    /// The id of a driver: where he is.
    AtDriver(String),
    /// A free text.
    Address(String),
    New(NewPlace),
}

/// `value` is the JSON text at this path of the body.
pub fn read(path: &str, value: &str) -> Result<Mixed, Stop> {
    match value.as_bytes().first() {
        Some(b'"') => from_text(path, &unquoted(path, value)?),
        Some(b'[') => Ok(Mixed::New(at(position(path, value)?))),
        Some(b'{') => from_object(path, object_at(path, value, KIND)?),
        _ => Err(not_a_place(path).into()),
    }
}

fn at(position: Position) -> NewPlace {
    NewPlace { place: Place::at(position), meta: None }
}

fn from_text(path: &str, text: &str) -> Result<Mixed, Stop> {
    let text = text.trim();
    if is_public_id("place", text) {
        return Ok(Mixed::Known(text.to_owned()));
    }
    if is_public_id("driver", text) {
        return Ok(Mixed::AtDriver(text.to_owned()));
    }
    if NOT_PLACES.iter().any(|prefix| is_public_id(prefix, text)) {
        return Err(errors::not_found());
    }
    if let Some(position) = Position::from_text(text) {
        return Ok(Mixed::New(at(position.map_err(|fault| fault.within(path))?)));
    }
    if text.is_empty() {
        return Err(Invalid::Required("").within(path).into());
    }
    text::check_lines("", text, ADDRESS_CHARS_MAX).map_err(|fault| fault.within(path))?;
    Ok(Mixed::Address(text.to_owned()))
}

fn from_object(path: &str, object: Object) -> Result<Mixed, Stop> {
    if object.given("id").is_some() {
        // What is no id is one of nothing.
        let id = object.text("id").ok().flatten().ok_or_else(errors::not_found)?;
        return Ok(Mixed::Known(id));
    }
    let given = position_of(path, &object)?;
    let detail = |name| detail(&object, name).map_err(|fault| fault.within(path));
    // What nobody has located is shown at 0, 0.
    let mut place = Place { position: given.filter(|at| *at != Position::NOWHERE), ..Place::default() };
    for name in DETAILS {
        place.details.extend(detail(name)?.map(|text| (name, text)));
    }
    if place.detail("street1").is_none() {
        place.details.extend(detail("address")?.map(|text| ("street1", text)));
    }
    if place.details.is_empty() && given.is_none() {
        return Err(not_a_place(path).into());
    }
    let mut form = Form::within(path, object);
    let meta = form.object("meta");
    // Its other fields are read above.
    let _ = form.finish()?;
    Ok(Mixed::New(NewPlace { place, meta }))
}

fn detail(object: &Object, name: &'static str) -> Result<Option<String>, Invalid> {
    let text = object.text(name).map_err(|_| Invalid::Not { field: name, kind: "a text" })?;
    let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    text::check_lines(name, text, ADDRESS_CHARS_MAX)?;
    Ok(Some(text.to_owned()))
}

/// A GeoJSON point or feature, a `location` of any form, or latitude and longitude under one of their names.
pub fn position_of(path: &str, object: &Object) -> Result<Option<Position>, Stop> {
    for name in ["geometry", "location"] {
        if let Some(point) = object.given(name) {
            return position(&joined(path, name), point).map(Some);
        }
    }
    if let Some(coordinates) = object.given("coordinates") {
        // GeoJSON has the longitude first.
        let path = joined(path, "coordinates");
        let [longitude, latitude] = pair(&path, coordinates)?;
        return Ok(Some(Position::new(latitude, longitude).map_err(|fault| fault.within(&path))?));
    }
    Ok(position_beside(object).map_err(|fault| fault.within(path))?)
}

fn position_beside(object: &Object) -> Result<Option<Position>, Invalid> {
    let latitude = coordinate(object, &["latitude", "lat", "y"])?;
    let longitude = coordinate(object, &["longitude", "lng", "lon", "long", "x"])?;
    match (latitude, longitude) {
        (Some((north, latitude)), Some((east, longitude))) => Position::new(latitude, longitude)
            .map(Some)
            .map_err(|fault| fault.renamed("latitude", north).renamed("longitude", east)),
        (None, None) => Ok(None),
        (Some((with, _)), None) => Err(Invalid::RequiredWith { field: "longitude", with }),
        (None, Some((with, _))) => Err(Invalid::RequiredWith { field: "latitude", with }),
    }
}

/// Under the first of its names that is there, which comes with it.
fn coordinate(object: &Object, names: &[&'static str]) -> Result<Option<(&'static str, f64)>, Invalid> {
    let Some(name) = names.iter().find(|name| object.given(name).is_some()) else { return Ok(None) };
    let number = object.number(name).map_err(|_| Invalid::Not { field: name, kind: "a number" })?;
    Ok(number.map(|number| (*name, number)))
}

/// A point in any form: `[latitude, longitude]`, "latitude,longitude", GeoJSON, an object with both.
pub fn position(path: &str, value: &str) -> Result<Position, Stop> {
    let found = match value.as_bytes().first() {
        Some(b'[') => {
            let [latitude, longitude] = pair(path, value)?;
            Some(Position::new(latitude, longitude))
        }
        Some(b'"') => Position::from_text(&unquoted(path, value)?),
        Some(b'{') => position_of(path, &object_at(path, value, KIND)?)?.map(Ok),
        _ => None,
    };
    Ok(found.ok_or_else(|| not_a_place(path))?.map_err(|fault| fault.within(path))?)
}

/// The text that a JSON text stands for: one that is not Unicode is none.
fn unquoted(path: &str, value: &str) -> Result<String, Invalid> {
    serde_json::from_str(value).map_err(|_| not_a_place(path))
}

fn pair(path: &str, value: &str) -> Result<[f64; 2], Invalid> {
    serde_json::from_str(value).map_err(|_| not_a_place(path))
}

fn not_a_place(path: &str) -> Invalid {
    Invalid::Not { field: "", kind: KIND }.within(path)
}

/// Names that a position may have beside the other fields of a body.
pub const POSITION_FIELDS: [&str; 10] =
    ["location", "latitude", "longitude", "lat", "lng", "lon", "long", "x", "y", "coordinates"];

/// What a place in a body may have besides its details and its position; GeoJSON has a few of its own.
pub const OTHER_FIELDS: [&str; 9] =
    ["id", "address", "meta", "geometry", "bbox", "properties", "order", "updated_at", "created_at"];

/// What a body says of a position: a null `location`, or none of its names at all, say something too.
pub fn position_change(form: &Form) -> Result<Change<Position>, Stop> {
    form.reading(&POSITION_FIELDS, |body| match position_of("", body)? {
        Some(position) => Ok(Change::To(position)),
        None if body.has("location") => Ok(Change::Cleared),
        None => Ok(Change::Absent),
    })
}
