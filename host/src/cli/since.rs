//! A point in time as people name it: a time, a day, or how long ago.

use crate::{admin::wire::Moment, clock::Clock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    At(Moment),
    AgoMs(u64),
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

impl Since {
    pub fn parse(text: &str) -> Result<Since, String> {
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Ok(Since::At(Moment(u64::try_from(at.as_millisecond()).unwrap_or_default())));
        }
        if let Ok(day) = text.parse::<jiff::civil::Date>()
            && let Ok(begin) = day.to_zoned(jiff::tz::TimeZone::UTC)
        {
            let at = begin.timestamp().as_millisecond();
            return Ok(Since::At(Moment(u64::try_from(at).unwrap_or_default())));
        }
        if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok()) {
            return Ok(Since::AgoMs(days.saturating_mul(DAY_MS)));
        }
        let ago = text.parse::<jiff::SignedDuration>().ok().and_then(|ago| u64::try_from(ago.as_millis()).ok());
        ago.map(Since::AgoMs)
            .ok_or_else(|| "write 2026-01-02T03:04:05Z, 2026-01-02, or how long ago: 90m, 2h, 3d".to_owned())
    }

    pub fn moment(self) -> Moment {
        match self {
            Since::At(moment) => moment,
            Since::AgoMs(ago) => Moment(Clock::system().now().saturating_sub(ago)),
        }
    }
}
