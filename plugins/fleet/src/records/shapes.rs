//! Forms that stored texts share: numbers as people write them, positions as GeoJSON, since when a position is known.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tenon_plugin::json::Object;
use tenon_plugin::{Stop, json, time};

use crate::rules::location::Position;

/// A number that is whole is written so: 90, not 90.0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Whole numbers below 2^53 are exact in both.
        if self.0.fract() == 0.0 && self.0.abs() < 9_007_199_254_740_992.0 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// GeoJSON: the longitude comes first.
#[derive(Serialize)]
pub struct Point {
    #[serde(rename = "type")]
    kind: &'static str,
    coordinates: [Number; 2],
}

impl Point {
    pub fn at(position: Position) -> Point {
        Point { kind: "Point", coordinates: [Number(position.longitude()), Number(position.latitude())] }
    }

    /// What nobody has located is at [0,0], as the clients of this interface know it.
    pub fn of(position: Option<Position>) -> Point {
        position.map_or(Point { kind: "Point", coordinates: [Number(0.0), Number(0.0)] }, Point::at)
    }
}

/// When the device was where a driver or a vehicle is stored; `None`: nobody knows.
pub fn recorded_at_ms(stored: &Object) -> Option<u64> {
    stored.text("location_recorded_at").ok().flatten().and_then(|text| time::parse(&text))
}

/// `text` is one JSON text.
pub fn raw(text: &str) -> Result<Box<RawValue>, Stop> {
    RawValue::from_string(text.to_owned()).map_err(|error| Stop::fault(error.to_string()))
}

/// One JSON object of names and JSON texts.
pub fn object_of<'m>(members: impl Iterator<Item = (&'m str, &'m str)>) -> Result<String, Stop> {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&json::to_text(name)?);
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    Ok(text)
}
