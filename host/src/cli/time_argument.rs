//! Times in arguments: a timestamp, a day, or an age.

use crate::{admin::wire::TimestampText, clock::Clock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArgument {
    At(TimestampText),
    /// Milliseconds before now.
    AgoMs(u64),
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

impl TimeArgument {
    pub fn parse(text: &str) -> Result<TimeArgument, String> {
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Ok(TimeArgument::At(TimestampText(u64::try_from(at.as_millisecond()).unwrap_or_default())));
        }
        if let Ok(day) = text.parse::<jiff::civil::Date>()
            && let Ok(begin) = day.to_zoned(jiff::tz::TimeZone::UTC)
        {
            let at = begin.timestamp().as_millisecond();
            return Ok(TimeArgument::At(TimestampText(u64::try_from(at).unwrap_or_default())));
        }
        if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok()) {
            return Ok(TimeArgument::AgoMs(days.saturating_mul(DAY_MS)));
        }
        let ago = text.parse::<jiff::SignedDuration>().ok().and_then(|ago| u64::try_from(ago.as_millis()).ok());
        ago.map(TimeArgument::AgoMs).ok_or_else(|| {
            "must be a timestamp (2026-01-02T03:04:05Z), a day (2026-01-02) or an age (90m, 2h, 3d)".to_owned()
        })
    }

    pub fn timestamp(self) -> TimestampText {
        match self {
            TimeArgument::At(timestamp) => timestamp,
            TimeArgument::AgoMs(ago) => TimestampText(Clock::system().now().saturating_sub(ago)),
        }
    }
}
