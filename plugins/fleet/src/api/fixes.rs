//! What a device says of where it is, as a driver's and a vehicle's track read it; and when it was there.

use super::form::Form;
use crate::rules::invalid::Invalid;
use crate::rules::location::{Reported, recency};

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
