//! Places as callers write them (research/fleet 1.0): an id, an address, coordinates in any of the usual forms, or an
//! object.

use tenon_plugin::Stop;
use tenon_plugin::json::Object;

use crate::api::errors;
use crate::api::form::Form;
use crate::records::common::is_public_id;
use crate::records::places::NewPlace;
use crate::rules::change::Change;
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::place::{DETAIL_CHARS_MAX as ADDRESS_CHARS_MAX, DETAILS, Place};
use crate::rules::text;

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

/// `value` is the field's JSON text.
pub fn read(field: &'static str, value: &str) -> Result<Mixed, Stop> {
    match value.as_bytes().first() {
        Some(b'"') => from_text(field, &unquoted(field, value)?),
        Some(b'[') => Ok(Mixed::New(at(position(field, value)?))),
        Some(b'{') => from_object(field, Object::parse(value).map_err(|_| not_a_place(field))?),
        _ => Err(not_a_place(field).into()),
    }
}

fn at(position: Position) -> NewPlace {
    NewPlace { place: Place::at(position), meta: None }
}

fn from_text(field: &'static str, text: &str) -> Result<Mixed, Stop> {
    let text = text.trim();
    if is_public_id("place", text) {
        return Ok(Mixed::Known(text.to_owned()));
    }
    if is_public_id("driver", text) {
        return Ok(Mixed::AtDriver(text.to_owned()));
    }
    if let Some(position) = Position::from_text(text) {
        return Ok(Mixed::New(at(position?)));
    }
    if text.is_empty() {
        return Err(Invalid::Required(field).into());
    }
    text::check_lines(field, text, ADDRESS_CHARS_MAX)?;
    Ok(Mixed::Address(text.to_owned()))
}

fn from_object(field: &'static str, object: Object) -> Result<Mixed, Stop> {
    if object.given("id").is_some() {
        // What is no id is one of nothing.
        let id = object.text("id").ok().flatten().ok_or_else(errors::not_found)?;
        return Ok(Mixed::Known(id));
    }
    let given = position_of(field, &object)?;
    // What nobody has located is shown at 0, 0.
    let mut place = Place { position: given.filter(|at| *at != Position::NOWHERE), ..Place::default() };
    for name in DETAILS {
        place.details.extend(detail(&object, name)?.map(|text| (name, text)));
    }
    if place.detail("street1").is_none() {
        place.details.extend(detail(&object, "address")?.map(|text| ("street1", text)));
    }
    if place.details.is_empty() && given.is_none() {
        return Err(not_a_place(field).into());
    }
    let mut form = Form::new(object);
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
pub fn position_of(field: &'static str, object: &Object) -> Result<Option<Position>, Stop> {
    if let Some(geometry) = object.given("geometry").or(object.given("location")) {
        return position(field, geometry).map(Some);
    }
    if let Some(coordinates) = object.given("coordinates") {
        // GeoJSON has the longitude first.
        let [longitude, latitude] = pair(field, coordinates)?;
        return Ok(Some(Position::new(latitude, longitude)?));
    }
    let latitude = coordinate(object, &["latitude", "lat", "y"])?;
    let longitude = coordinate(object, &["longitude", "lng", "lon", "long", "x"])?;
    match (latitude, longitude) {
        (Some(latitude), Some(longitude)) => Ok(Some(Position::new(latitude, longitude)?)),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Invalid::RequiredWith { field: "longitude", with: "latitude" }.into()),
        (None, Some(_)) => Err(Invalid::RequiredWith { field: "latitude", with: "longitude" }.into()),
    }
}

/// Under the first of its names that is there.
fn coordinate(object: &Object, names: &[&'static str]) -> Result<Option<f64>, Invalid> {
    let Some(name) = names.iter().find(|name| object.given(name).is_some()) else { return Ok(None) };
    object.number(name).map_err(|_| Invalid::Not { field: name, kind: "a number" })
}

/// A point in any form: `[latitude, longitude]`, "latitude,longitude", GeoJSON, an object with both.
pub fn position(field: &'static str, value: &str) -> Result<Position, Stop> {
    let found = match value.as_bytes().first() {
        Some(b'[') => {
            let [latitude, longitude] = pair(field, value)?;
            Some(Position::new(latitude, longitude)?)
        }
        Some(b'"') => Position::from_text(&unquoted(field, value)?).transpose()?,
        Some(b'{') => position_of(field, &Object::parse(value).map_err(|_| not_a_place(field))?)?,
        _ => None,
    };
    found.ok_or_else(|| not_a_place(field).into())
}

/// The text that a JSON text stands for: one that is not Unicode is none.
fn unquoted(field: &'static str, value: &str) -> Result<String, Invalid> {
    serde_json::from_str(value).map_err(|_| not_a_place(field))
}

fn pair(field: &'static str, value: &str) -> Result<[f64; 2], Invalid> {
    serde_json::from_str(value).map_err(|_| not_a_place(field))
}

fn not_a_place(field: &'static str) -> Invalid {
    Invalid::Not { field, kind: "an address, coordinates, or a place" }
}

/// Names that a position may have beside the other fields of a body.
pub const POSITION_FIELDS: [&str; 10] =
    ["location", "latitude", "longitude", "lat", "lng", "lon", "long", "x", "y", "coordinates"];

/// What a place in a body may have besides its details and its position; GeoJSON has a few of its own.
pub const OTHER_FIELDS: [&str; 9] =
    ["id", "address", "meta", "geometry", "bbox", "properties", "order", "updated_at", "created_at"];

/// What a body says of a position: a null `location`, or none of its names at all, say something too.
pub fn position_change(form: &Form) -> Result<Change<Position>, Stop> {
    form.reading(&POSITION_FIELDS, |body| match position_of("location", body)? {
        Some(position) => Ok(Change::To(position)),
        None if body.has("location") => Ok(Change::Cleared),
        None => Ok(Change::Absent),
    })
}
