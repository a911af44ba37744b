//! Fixes that come late, twice, or from the future: which one is the position of a driver, or of a vehicle.
//!
//! Always holds: the stored time never goes back, so that a device that sends what it kept while it was offline does
//! not move its driver back.

use crate::rules::invalid::Invalid;

/// Clocks of phones are off by so much, and no more.
pub const AHEAD_MS_MAX: u64 = 60_000;
/// Older fixes are no news even as a history.
pub const AGE_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;

/// `reported_ms`: when the device took it; without a word of the device it is taken now. A time a little ahead counts
/// as now.
pub fn taken_at(reported_ms: Option<u64>, now_ms: u64) -> Result<u64, Invalid> {
    let reported_ms = reported_ms.unwrap_or(now_ms);
    if reported_ms > now_ms.saturating_add(AHEAD_MS_MAX) {
        return Err(Invalid::Not { field: "recorded_at", kind: "a time that is not in the future" });
    }
    if reported_ms < now_ms.saturating_sub(AGE_MS_MAX) {
        return Err(Invalid::Not { field: "recorded_at", kind: "a time of the last seven days" });
    }
    Ok(reported_ms.min(now_ms))
}

/// Whether a fix of this time becomes the position. Of two fixes of one time the second counts: who gives no time gives
/// one after the other.
pub fn is_news(stored_ms: Option<u64>, at_ms: u64) -> bool {
    stored_ms.is_none_or(|stored_ms| stored_ms <= at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_000_000_000_000;

    fn check(stored_ms: Option<u64>, reported_ms: Option<u64>, expected: (u64, bool)) {
        let at_ms = taken_at(reported_ms, NOW).unwrap();
        assert_eq!((at_ms, is_news(stored_ms, at_ms)), expected, "{stored_ms:?} {reported_ms:?}");
    }

    #[test]
    fn a_late_fix_does_not_move_the_driver_back() {
        check(None, None, (NOW, true));
        check(Some(NOW - 10), None, (NOW, true));
        check(Some(NOW - 10), Some(NOW - 9), (NOW - 9, true));
        check(Some(NOW - 10), Some(NOW - 10), (NOW - 10, true));
        check(Some(NOW - 10), Some(NOW - 11), (NOW - 11, false));
    }

    #[test]
    fn a_clock_is_a_little_ahead_and_never_far() {
        check(Some(NOW - 10), Some(NOW + AHEAD_MS_MAX), (NOW, true));
        for reported_ms in [NOW + AHEAD_MS_MAX + 1, u64::MAX, 0, NOW - AGE_MS_MAX - 1] {
            assert!(taken_at(Some(reported_ms), NOW).is_err(), "{reported_ms}");
        }
        check(None, Some(NOW - AGE_MS_MAX), (NOW - AGE_MS_MAX, true));
    }

    proptest! {
        #[test]
        fn the_stored_time_never_goes_back(reported in prop::collection::vec(prop::option::of(NOW - 100..NOW + 100), 1..30)) {
            let mut stored = None;
            for (reported, now) in reported.into_iter().zip(NOW..) {
                let at_ms = taken_at(reported, now).unwrap();
                prop_assert!(at_ms <= now);
                if is_news(stored, at_ms) {
                    prop_assert!(stored.is_none_or(|before| before <= at_ms));
                    stored = Some(at_ms);
                }
            }
        }
    }
}
