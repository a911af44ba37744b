//! Positions on the earth and what a driver's device reports (spec/fleet: driver location).

pub mod distance;
pub mod recency;

use super::invalid::Invalid;

/// Degrees, WGS 84. Invariant: latitude within ±90, longitude within ±180, both finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    latitude: f64,
    longitude: f64,
}

/// Metres: below the Dead Sea, above any aircraft.
const ALTITUDE: (f64, f64) = (-1_000.0, 100_000.0);
/// No device of a driver is faster, whatever unit it reports.
const SPEED_MAX: f64 = 2_000.0;

impl Position {
    /// How what nobody has located is shown.
    pub const NOWHERE: Position = Position { latitude: 0.0, longitude: 0.0 };

    pub fn new(latitude: f64, longitude: f64) -> Result<Position, Invalid> {
        let latitude = within("latitude", latitude, (-90.0, 90.0))?;
        let longitude = within("longitude", longitude, (-180.0, 180.0))?;
        Ok(Position { latitude, longitude })
    }

    /// "1.3521,103.8198": latitude first. `None`: not two numbers.
    pub fn from_text(text: &str) -> Option<Result<Position, Invalid>> {
        let (latitude, longitude) = text.split_once(',')?;
        Some(Position::new(latitude.trim().parse().ok()?, longitude.trim().parse().ok()?))
    }

    pub fn latitude(self) -> f64 {
        self.latitude
    }

    pub fn longitude(self) -> f64 {
        self.longitude
    }
}

/// Where a device says it is. What it does not know is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    pub position: Position,
    /// Degrees clockwise from north, 0 to 360.
    pub heading: Option<f64>,
    /// As the device reports it, usually metres a second.
    pub speed: Option<f64>,
    /// Metres.
    pub altitude: Option<f64>,
}

/// A fix, and when it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    pub fix: Fix,
    pub at_ms: u64,
}

impl Told {
    /// Whether it moves what was last seen at `stored_ms`. A device that knows no position says 0, 0 (research/fleet 1.2).
    pub fn moves(&self, stored_ms: Option<u64>) -> bool {
        self.fix.position != Position::NOWHERE && recency::is_news(stored_ms, self.at_ms)
    }
}

/// A fix before it is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reported {
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub heading: Option<f64>,
    pub speed: Option<f64>,
    pub altitude: Option<f64>,
}

/// Every fault of a report at once. A heading or speed below zero is how phones say "not known".
pub fn judge(reported: Reported) -> Result<Fix, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let mut note = |outcome: Result<Option<f64>, Invalid>| {
        outcome.unwrap_or_else(|invalid| {
            wrong.push(invalid);
            None
        })
    };
    let latitude = note(required("latitude", reported.latitude, (-90.0, 90.0)));
    let longitude = note(required("longitude", reported.longitude, (-180.0, 180.0)));
    let heading = note(known("heading", reported.heading, 360.0));
    let speed = note(known("speed", reported.speed, SPEED_MAX));
    let altitude = note(reported.altitude.map(|metres| within("altitude", metres, ALTITUDE)).transpose());
    match (latitude, longitude) {
        (Some(latitude), Some(longitude)) if wrong.is_empty() => {
            Ok(Fix { position: Position { latitude, longitude }, heading, speed, altitude })
        }
        _ => Err(wrong),
    }
}

fn required(field: &'static str, value: Option<f64>, range: (f64, f64)) -> Result<Option<f64>, Invalid> {
    value.map_or(Err(Invalid::Required(field)), |value| within(field, value, range).map(Some))
}

fn known(field: &'static str, value: Option<f64>, most: f64) -> Result<Option<f64>, Invalid> {
    value.filter(|value| *value >= 0.0).map(|value| within(field, value, (0.0, most))).transpose()
}

fn within(field: &'static str, value: f64, (least, most): (f64, f64)) -> Result<f64, Invalid> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(Invalid::OutOfRange { field, least, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(reported: Reported, expected: Result<(Option<f64>, Option<f64>), &[&str]>) {
        let judged = judge(reported);
        match expected {
            Ok(known) => assert_eq!(judged.map(|fix| (fix.heading, fix.speed)), Ok(known)),
            Err(sentences) => {
                let found: Vec<String> =
                    judged.unwrap_err().iter().map(|invalid| invalid.sentence().into_owned()).collect();
                assert_eq!(found, sentences);
            }
        }
    }

    #[test]
    fn reports_are_judged_field_by_field() {
        let singapore = Reported { latitude: Some(1.3), longitude: Some(103.8), ..Reported::default() };
        check(singapore, Ok((None, None)));
        check(Reported { heading: Some(360.0), speed: Some(0.0), ..singapore }, Ok((Some(360.0), Some(0.0))));
        check(Reported { heading: Some(-1.0), speed: Some(-1.0), ..singapore }, Ok((None, None)));
        check(Reported { heading: Some(361.0), ..singapore }, Err(&["The heading field must be between 0 and 360."]));
        check(Reported { latitude: Some(90.1), ..singapore }, Err(&["The latitude field must be between -90 and 90."]));
        check(Reported { longitude: None, ..singapore }, Err(&["The longitude field is required."]));
        check(Reported::default(), Err(&["The latitude field is required.", "The longitude field is required."]));
    }

    #[test]
    fn the_poles_and_the_date_line_are_on_the_earth() {
        assert!(Position::new(90.0, 180.0).is_ok() && Position::new(-90.0, -180.0).is_ok());
        assert!(Position::new(f64::NAN, 0.0).is_err() && Position::new(0.0, f64::INFINITY).is_err());
    }

    #[test]
    fn two_numbers_in_a_text_are_a_position_or_wrong() {
        assert_eq!(Position::from_text(" 1.5, -103 "), Some(Position::new(1.5, -103.0)));
        for text in ["91,0", "0,181", "nan,0", "0,1e999"] {
            assert!(matches!(Position::from_text(text), Some(Err(Invalid::OutOfRange { .. }))), "{text}");
        }
        for text in ["12, Main Street", "1", "1,2,3", ","] {
            assert_eq!(Position::from_text(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_fix_is_always_on_the_earth(latitude: f64, longitude: f64, heading: f64, speed: f64) {
            let reported = Reported { latitude: Some(latitude), longitude: Some(longitude), heading: Some(heading), speed: Some(speed), altitude: None };
            if let Ok(fix) = judge(reported) {
                prop_assert!(fix.position.latitude().abs() <= 90.0 && fix.position.longitude().abs() <= 180.0);
                prop_assert!(fix.heading.is_none_or(|degrees| (0.0..=360.0).contains(&degrees)));
                prop_assert!(fix.speed.is_none_or(|speed| speed >= 0.0));
            }
        }
    }
}
