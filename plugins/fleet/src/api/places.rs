//! Places as callers write them (research/fleet 1.0): an address, coordinates in any of the usual forms, or an object.

use tenon_plugin::Stop;
use tenon_plugin::json::{self, Object};

use super::errors;
use crate::records;
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;
use crate::rules::place::{DETAILS, Place};

const ADDRESS_CHARS_MAX: usize = 500;

/// `value` is the field's JSON text. References to places are not found: this version keeps places within their order.
pub fn read(field: &'static str, value: &str) -> Result<Place, Stop> {
    match value.as_bytes().first() {
        Some(b'"') => from_text(field, &json::from_text::<String>(value)?),
        Some(b'[') => Ok(Place::at(position(field, value)?)),
        Some(b'{') => from_object(field, &Object::parse(value).map_err(|_| not_a_place(field))?),
        _ => Err(not_a_place(field).into()),
    }
}

fn from_text(field: &'static str, text: &str) -> Result<Place, Stop> {
    let text = text.trim();
    if records::is_public_id("place", text) || records::is_public_id("driver", text) {
        return Err(errors::not_found());
    }
    if let Some(position) = Position::from_text(text) {
        return Ok(Place::at(position));
    }
    if text.is_empty() {
        return Err(Invalid::Required(field).into());
    }
    if text.chars().nth(ADDRESS_CHARS_MAX).is_some() {
        return Err(Invalid::TooLong { field, characters_max: ADDRESS_CHARS_MAX }.into());
    }
    Ok(Place::of_address(text))
}

fn from_object(field: &'static str, object: &Object) -> Result<Place, Stop> {
    if object.given("id").is_some() {
        return Err(errors::not_found());
    }
    let mut place = Place { details: Vec::new(), position: position_of(field, object)? };
    for name in DETAILS {
        let text = object.text(name).map_err(|_| Invalid::Not { field: name, kind: "a text" })?;
        let Some(text) = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else { continue };
        if text.chars().nth(ADDRESS_CHARS_MAX).is_some() {
            return Err(Invalid::TooLong { field: name, characters_max: ADDRESS_CHARS_MAX }.into());
        }
        place.details.push((name, text));
    }
    if let (None, Ok(Some(address))) = (place.detail("street1"), object.text("address")) {
        place.details.push(("street1", address));
    }
    if place.details.is_empty() && place.position.is_none() {
        return Err(not_a_place(field).into());
    }
    Ok(place)
}

/// A GeoJSON point or feature, a `location` of any form, or latitude and longitude under one of their names.
fn position_of(field: &'static str, object: &Object) -> Result<Option<Position>, Stop> {
    if let Some(geometry) = object.given("geometry").or(object.given("location")) {
        return position(field, geometry).map(Some);
    }
    if let Some(coordinates) = object.given("coordinates") {
        // GeoJSON has the longitude first.
        let [longitude, latitude] = pair(field, coordinates)?;
        return Ok(Some(Position::new(latitude, longitude)?));
    }
    for (latitude, longitude) in
        [("latitude", "longitude"), ("lat", "lng"), ("lat", "lon"), ("lat", "long"), ("y", "x")]
    {
        if let (Ok(Some(latitude)), Ok(Some(longitude))) = (object.number(latitude), object.number(longitude)) {
            return Ok(Some(Position::new(latitude, longitude)?));
        }
    }
    Ok(None)
}

/// A point in any form: `[latitude, longitude]`, "latitude,longitude", GeoJSON, an object with both.
pub fn position(field: &'static str, value: &str) -> Result<Position, Stop> {
    let found = match value.as_bytes().first() {
        Some(b'[') => {
            let [latitude, longitude] = pair(field, value)?;
            Some(Position::new(latitude, longitude)?)
        }
        Some(b'"') => Position::from_text(&json::from_text::<String>(value)?),
        Some(b'{') => position_of(field, &Object::parse(value).map_err(|_| not_a_place(field))?)?,
        _ => None,
    };
    found.ok_or_else(|| not_a_place(field).into())
}

fn pair(field: &'static str, value: &str) -> Result<[f64; 2], Stop> {
    serde_json::from_str(value).map_err(|_| not_a_place(field).into())
}

fn not_a_place(field: &'static str) -> Invalid {
    Invalid::Not { field, kind: "an address, coordinates, or a place" }
}
