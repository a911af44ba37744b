//! Whose clocks show a time: UTC, an offset, or a zone by its name in the IANA database, which is a table within the plugin.
//!
//! Never asks what time it is, nor where this runs.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::invalid::Invalid;

pub const UTC: &str = "UTC";

const UNKNOWN: Invalid =
    Invalid::Not { field: "timezone", kind: "UTC, an offset like +08:00, or a name like Europe/Vienna" };
/// Before 1970 there are no times here.
const OUT_OF_RANGE: Invalid = Invalid::Not { field: "date", kind: "a day from 1970-01-01 on, in UTC" };

/// Milliseconds since 1970-01-01T00:00:00Z of a time that the clocks of the zone show. `shown_ms`: the same of the clocks of
/// UTC. Of a time that is skipped where clocks are put forward it is the one an hour later, of one that is shown twice where
/// they are put back the first.
pub fn moment(shown_ms: u64, zone: &str) -> Result<u64, Invalid> {
    let zone = zone_of(zone).ok_or(UNKNOWN)?;
    let shown = i64::try_from(shown_ms).ok().and_then(|shown| Timestamp::from_millisecond(shown).ok());
    let shown = TimeZone::UTC.to_datetime(shown.ok_or(OUT_OF_RANGE)?);
    let moment = zone.to_timestamp(shown).map_err(|_| OUT_OF_RANGE)?;
    u64::try_from(moment.as_millisecond()).map_err(|_| OUT_OF_RANGE)
}

/// A zone that is said of something. One that was taken before zones were looked at stays.
pub fn check_change(before: Option<&str>, after: Option<&str>) -> Result<(), Invalid> {
    match after {
        Some(zone) if before != after && zone_of(zone).is_none() => Err(UNKNOWN),
        _ => Ok(()),
    }
}

fn zone_of(name: &str) -> Option<TimeZone> {
    if matches!(name, UTC | "GMT" | "Z") {
        return Some(TimeZone::UTC);
    }
    if name.starts_with(['+', '-']) {
        return offset_of(name);
    }
    TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown())
}

/// "+08:00"
fn offset_of(text: &str) -> Option<TimeZone> {
    let (sign, rest) = text.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':')?;
    let two = |digits: &str| (digits.len() == 2).then(|| digits.parse::<u8>().ok()).flatten().map(i32::from);
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    if hours > 23 || minutes > 59 || !rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
        return None;
    }
    let seconds = hours * 3_600 + minutes * 60;
    let offset = jiff::tz::Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).ok()?;
    Some(TimeZone::fixed(offset))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR_MS: u64 = 3_600_000;
    /// 2026-01-15T12:00, 2026-07-15T12:00 by any clock.
    const WINTER: u64 = 1_768_478_400_000;
    const SUMMER: u64 = 1_784_116_800_000;

    #[test]
    fn a_zone_is_named_or_an_offset() {
        for (zone, winter, summer) in [
            ("UTC", 0, 0),
            ("GMT", 0, 0),
            ("Z", 0, 0),
            ("+08:00", 8, 8),
            ("-03:00", -3, -3),
            ("Europe/Vienna", 1, 2),
            ("europe/vienna", 1, 2),
            ("America/New_York", -5, -4),
            ("Asia/Singapore", 8, 8),
            ("Australia/Sydney", 11, 10),
        ] {
            let ahead = |hours: i64, shown: u64| Ok((shown as i64 - hours * HOUR_MS as i64) as u64);
            assert_eq!(
                (moment(WINTER, zone), moment(SUMMER, zone)),
                (ahead(winter, WINTER), ahead(summer, SUMMER)),
                "{zone}"
            );
        }
        assert_eq!(moment(WINTER, "+05:45"), Ok(WINTER - 6 * HOUR_MS + HOUR_MS / 4));
    }

    #[test]
    fn what_is_no_zone_is_refused() {
        let zones =
            ["", "Mars/Base", "Etc/Unknown", "+8", "+24:00", "+08:60", "+8:000", "++8:00", "+08:00:00", "08:00", "é"];
        for zone in zones {
            assert_eq!(moment(WINTER, zone), Err(UNKNOWN), "{zone}");
        }
    }

    #[test]
    fn a_day_that_there_is_not_is_told_and_not_the_zone() {
        assert_eq!(moment(0, "+08:00"), Err(OUT_OF_RANGE), "a day before 1970");
        assert_eq!(moment(u64::MAX, "UTC"), Err(OUT_OF_RANGE));
    }

    #[test]
    fn only_a_zone_that_changes_is_looked_at() {
        let table = [
            (None, Some("Asia/Singapore"), Ok(())),
            (None, Some("Mars/Base"), Err(UNKNOWN)),
            (Some("Mars/Base"), Some("Mars/Base"), Ok(())),
            (Some("Mars/Base"), Some("Mars/Other"), Err(UNKNOWN)),
            (Some("Mars/Base"), None, Ok(())),
        ];
        for (before, after, expected) in table {
            assert_eq!(check_change(before, after), expected, "{before:?} {after:?}");
        }
    }

    /// In Vienna the clocks go from 02:00 to 03:00 on 2026-03-29, and from 03:00 back to 02:00 on 2026-10-25.
    #[test]
    fn a_time_that_is_skipped_or_shown_twice_is_one_moment() {
        let skipped = 1_774_751_400_000; // 2026-03-29T02:30
        assert_eq!(moment(skipped, "Europe/Vienna"), Ok(skipped - HOUR_MS));
        assert_eq!(moment(skipped, "Europe/Vienna"), moment(skipped + HOUR_MS, "Europe/Vienna"));
        let twice = 1_792_895_400_000; // 2026-10-25T02:30
        assert_eq!(moment(twice, "Europe/Vienna"), Ok(twice - 2 * HOUR_MS));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(shown: u64, zone in "\\PC{0,16}|[+-][0-9:]{0,8}") {
            let _ = moment(shown, &zone);
        }
    }
}
