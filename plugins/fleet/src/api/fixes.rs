//! What a device says of where it is, as a driver's and a vehicle's track read it; when it was there; and how a move is told.

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use super::form::Form;
use crate::records::shapes::{Number, Point};
use crate::rules::invalid::Invalid;
use crate::rules::location::{Fix, Reported, recency};

/// Numbers from here on are milliseconds, below it seconds: it is a moment of 1973, and a year far ahead.
const MILLISECONDS_FROM: f64 = 1e11;

/// Not judged yet.
pub fn reported(form: &mut Form) -> Reported {
    Reported {
        latitude: form.number("latitude"),
        longitude: form.number("longitude"),
        heading: form.number("heading"),
        speed: form.number("speed"),
        altitude: form.number("altitude"),
    }
}

/// When the device was there; what is wrong with that the form knows.
pub fn taken_at(form: &mut Form, now_ms: u64) -> u64 {
    let reported_ms = recorded_at(form);
    form.keep(recency::taken_at(reported_ms, now_ms)).unwrap_or(now_ms)
}

/// By `recorded_at` or `timestamp`: a date, or seconds or milliseconds since 1970.
fn recorded_at(form: &mut Form) -> Option<u64> {
    let field = form.called("recorded_at", &["timestamp"]);
    let value = form.given(field)?;
    if value.starts_with(|letter: char| letter.is_ascii_digit()) {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let milliseconds = number.map(|number| if number < MILLISECONDS_FROM { number * 1_000.0 } else { number });
        return form.keep(milliseconds.map(|number| number as u64).ok_or(Invalid::Not { field, kind: "a date" }));
    }
    form.date(field)
}

/// What has moved, as it is told: the keys of the specification beside those that clients know (research/fleet 6.1).
pub struct Moved<'a> {
    pub event: &'static str,
    /// The name of its id in the specification.
    pub named: &'static str,
    pub id: &'a str,
    pub fix: &'a Fix,
    pub stored: &'a Object<'a>,
    /// What is told of it besides, as it is stored, or else this JSON text.
    pub besides: &'static [(&'static str, &'static str)],
}

/// As the specification has it, but for the name of the id.
#[derive(Serialize)]
struct Told<'a> {
    latitude: Number,
    longitude: Number,
    heading: Option<Number>,
    speed: Option<Number>,
    altitude: Option<Number>,
    id: &'a str,
    location: Point,
}

impl Moved<'_> {
    pub fn tell(&self, call: &Call) -> Result<(), Stop> {
        call.emit(self.event, self.id, &self.text()?);
        Ok(())
    }

    /// Drivers' tracks are the busiest operation: what is stored is passed on as it is.
    fn text(&self) -> Result<String, Stop> {
        let Fix { position, heading, speed, altitude } = *self.fix;
        let mut text = json::to_text(&Told {
            latitude: Number(position.latitude()),
            longitude: Number(position.longitude()),
            heading: heading.map(Number),
            speed: speed.map(Number),
            altitude: altitude.map(Number),
            id: self.id,
            location: Point::at(position),
        })?;
        text.pop();
        let id = json::to_text(self.id)?;
        let stored = self.besides.iter().map(|(name, otherwise)| (*name, self.stored.raw(name).unwrap_or(otherwise)));
        for (name, value) in stored.chain([(self.named, id.as_str())]) {
            [",\"", name, "\":", value].iter().for_each(|part| text.push_str(part));
        }
        text.push('}');
        Ok(text)
    }
}
