//! Dates and times of messages (spec/clearing: settlement_date, creation_date_time): full-date and date-time of RFC 3339.
//!
//! Owns the calendar of the rules; never asks a clock. Years 1970 to 9999, in UTC.

use super::invalid::{Field, Invalid, Rule};

const DAY_MS: u64 = 86_400_000;
/// 9999-12-31 has ended: no text of RFC 3339 is later.
const END_MS: u64 = 253_402_300_800_000;

/// A day of the calendar: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u64);

impl Date {
    /// "2026-05-07" and nothing else.
    pub fn parse(field: Field, text: &str) -> Result<Date, Invalid> {
        days(text).map(Date).ok_or(field.breaks(Rule::NotDate))
    }

    /// The day of a time, in UTC.
    pub fn of_ms(ms: u64) -> Date {
        Date(ms / DAY_MS)
    }

    /// "2026-05-07".
    pub fn to_text(self) -> String {
        // Counted in years that begin in March, so that the leap day is the last of its year.
        let shifted = self.0 + 719_468;
        let era = shifted / 146_097;
        let day_of_era = shifted % 146_097;
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_index + 2) / 5 + 1;
        let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        format!("{year:04}-{month:02}-{day:02}")
    }
}

/// Milliseconds since 1970 of a time with its offset.
pub fn parse_date_time(field: Field, text: &str) -> Result<u64, Invalid> {
    // An offset may lead out of the last year.
    date_time(text).filter(|ms| *ms < END_MS).ok_or(field.breaks(Rule::NotDateTime))
}

fn date_time(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (clock, offset) = rest.split_at_checked(rest.find(['Z', 'z', '+', '-'])?)?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let ms = days(date)? * DAY_MS + clock_ms(clock)? + fraction.map_or(Some(0), fraction_ms)?;
    if offset.eq_ignore_ascii_case("z") {
        return Some(ms);
    }
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let offset_ms = (within(hours, 2, 23)? * 60 + within(minutes, 2, 59)?) * 60_000;
    if sign == "+" { ms.checked_sub(offset_ms) } else { ms.checked_add(offset_ms) }
}

fn clock_ms(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let seconds = (within(hours, 2, 23)? * 60 + within(minutes, 2, 59)?) * 60 + within(seconds, 2, 59)?;
    parts.next().is_none().then_some(seconds * 1_000)
}

/// Whole milliseconds of up to nine digits.
fn fraction_ms(text: &str) -> Option<u64> {
    let length = u32::try_from(text.len()).ok().filter(|length| (1..=9).contains(length))?;
    let value = within(text, text.len(), u64::MAX)?;
    Some(value * 1_000 / 10u64.pow(length))
}

fn days(text: &str) -> Option<u64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (within(year, 4, 9_999)?, within(month, 2, 12)?, within(day, 2, 31)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(leap),
        _ => 31,
    };
    let exists = parts.next().is_none() && year >= 1970 && month >= 1 && (1..=length).contains(&day);
    exists.then(|| days_before(year, month) + day - 1)
}

/// Days from 1970-01-01 to the first of that month.
fn days_before(year: u64, month: u64) -> u64 {
    // The year of this count begins in March, so that the leap day is its last.
    let (year, month_index) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month_index + 2) / 5 - 719_468
}

/// Exactly so many digits, and not more than `most`.
fn within(text: &str, digits: usize, most: u64) -> Option<u64> {
    let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten().filter(|value| *value <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str) -> Option<u64> {
        parse_date_time(Field::CreationDateTime, text).ok()
    }

    #[test]
    fn dates_exist_in_the_calendar() {
        for text in ["1970-01-01", "2024-02-29", "2000-02-29", "2026-11-21", "9999-12-31"] {
            assert_eq!(Date::parse(Field::SettlementDate, text).unwrap().to_text(), text);
        }
        for text in ["", "2026-2-1", "2026-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "1969-12-31"]
        {
            let refused = Date::parse(Field::SettlementDate, text);
            assert_eq!(refused, Err(Field::SettlementDate.breaks(Rule::NotDate)), "{text:?}");
        }
        assert!(Date::parse(Field::SettlementDate, "2026-05-07T00:00:00Z").is_err());
    }

    #[test]
    fn times_carry_their_offset() {
        assert_eq!(time("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(time("2026-05-07T08:30:00Z"), Some(1_778_142_600_000));
        assert_eq!(time("2026-05-07T10:30:00+02:00"), time("2026-05-07T08:30:00Z"));
        assert_eq!(time("2026-05-07t06:30:00.5-02:00"), Some(1_778_142_600_500));
        assert_eq!(time("2026-05-07T08:30:00.123456789z"), Some(1_778_142_600_123));
        assert_eq!(time("9999-12-31T23:59:59.999Z"), Some(END_MS - 1));
        for text in [
            "2026-05-07",
            "2026-05-07T08:30:00",
            "2026-05-07T08:30Z",
            "2026-05-07 08:30:00Z",
            "2026-05-07T24:00:00Z",
            "2026-05-07T08:30:60Z",
            "2026-05-07T08:30:00.Z",
            "2026-05-07T08:30:00+0200",
            "2026-05-07T08:30:00+02:00x",
            "1970-01-01T00:00:00+02:00",
            "9999-12-31T23:59:59-01:00",
            "2026-05-0７T08:30:00Z",
        ] {
            assert_eq!(time(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_day_reads_back_as_itself(day in 0u64..2_932_896) {
            let text = Date(day).to_text();
            prop_assert_eq!(Date::parse(Field::SettlementDate, &text), Ok(Date(day)));
            prop_assert_eq!(Date::of_ms(day * DAY_MS + DAY_MS - 1).to_text(), text);
        }

        #[test]
        fn no_text_breaks_the_parser(text in "\\PC{0,40}", close in "[0-9TtZz:.+-]{10,30}") {
            let _ = (time(&text), time(&close), Date::parse(Field::SettlementDate, &close));
        }
    }
}
