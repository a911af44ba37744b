//! Formatting and parsing of timestamps. Owns the calendar arithmetic. This module reads no clock: the host passes the
//! time of a call.

const DAY_MS: u64 = 86_400_000;
/// 10000-01-01T00:00:00Z, the first time whose year has five digits.
const END_MS: u64 = 253_402_300_800_000;

/// Formats milliseconds since 1970-01-01T00:00:00Z as "2026-05-07T08:30:00.000000Z".
pub fn to_text(milliseconds: u64) -> String {
    let (year, month, day) = civil_from_days(milliseconds / DAY_MS);
    let rest = milliseconds % DAY_MS;
    let mut text = String::with_capacity(27);
    push_digits(&mut text, year, 4);
    for (mark, value) in
        [('-', month), ('-', day), ('T', rest / 3_600_000), (':', rest / 60_000 % 60), (':', rest / 1000 % 60)]
    {
        text.push(mark);
        push_digits(&mut text, value, 2);
    }
    text.push('.');
    push_digits(&mut text, rest % 1000 * 1000, 6);
    text.push('Z');
    text
}

/// Parses a date ("2026-05-07") or a time ("2026-05-07T08:30:00.5Z", "2026-05-07 08:30", "…+02:00") to milliseconds. A
/// time without an offset is UTC. Returns `None` if the string is invalid or not within the years 1970 to 9999.
pub fn parse(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = parse_date(date)?;
    if rest.is_empty() {
        return Some(days * DAY_MS);
    }
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset_minutes) = split_offset(clock)?;
    let milliseconds = i64::try_from(days * DAY_MS + parse_clock(clock)?).ok()?;
    u64::try_from(milliseconds - offset_minutes * 60_000).ok().filter(|milliseconds| *milliseconds < END_MS)
}

/// Returns true if the string is a date without a time.
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && parse_date(text).is_some()
}

fn parse_date(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    (year >= 1970 && (1..=length).contains(&day)).then(|| days_from_civil(year, month, day))
}

fn parse_clock(text: &str) -> Option<u64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.splitn(3, ':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    let thousandths = parse_fraction(fraction)?;
    (hour < 24 && minute < 60 && second < 60)
        .then_some(hour * 3_600_000 + minute * 60_000 + second * 1000 + thousandths)
}

/// Parses one to nine digits and returns thousandths of a second. Drops the digits after the third.
fn parse_fraction(text: &str) -> Option<u64> {
    if text.is_empty() || text.len() > 9 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.bytes().chain(*b"00").take(3).fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0')))
}

fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(position) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (clock, offset) = text.split_at_checked(position)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some((clock, sign * i64::try_from(hours * 60 + minutes).ok()?))
}

fn digits(text: &str, length: usize) -> Option<u64> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn push_digits(text: &mut String, value: u64, width: u32) {
    for exponent in (0..width).rev() {
        let digit = value / 10u64.pow(exponent) % 10;
        text.push(char::from(b'0' + digit as u8));
    }
}

/// Converts days since 1970-01-01 to year, month and day. Counts from 0000-03-01 in eras of 400 years, so that the leap
/// day is the last day of a year.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times_are_formatted_and_parsed() {
        assert_eq!(to_text(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(to_text(1_778_142_600_123), "2026-05-07T08:30:00.123000Z");
        assert_eq!(parse("2026-05-07T08:30:00.123Z"), Some(1_778_142_600_123));
        assert_eq!(parse("2026-05-07 08:30"), Some(1_778_142_600_000));
        assert_eq!(parse("2026-05-07T10:30:00+02:00"), Some(1_778_142_600_000));
        assert_eq!(parse("2024-02-29"), parse("2024-02-29T00:00:00Z"));
    }

    #[test]
    fn invalid_dates_and_times_are_rejected() {
        for text in [
            "",
            "2026",
            "2026-02-30",
            "2026-13-01",
            "1969-12-31",
            "2026-05-07T25:00",
            "2026-05-07X08:30",
            "tomorrow!!",
            "2026-05-é",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_inverts_formatting(milliseconds in 0u64..END_MS) {
            prop_assert_eq!(parse(&to_text(milliseconds)), Some(milliseconds));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
