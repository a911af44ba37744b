//! Fixes that come late, twice, or from the future: which one is the position of the driver.
//!
//! Always holds: the stored time never goes back, so that a device that sends what it kept while it was offline does
//! not move its driver back.

use crate::rules::invalid::Invalid;

/// Clocks of phones are off by so much, and no more.
pub const AHEAD_MS_MAX: u64 = 60_000;
/// Older fixes are no news even as a history.
pub const AGE_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recency {
    /// It becomes the position, with this time.
    Newer { at_ms: u64 },
    /// It is kept for the way that was driven, if at all; the position stays.
    Late { at_ms: u64 },
}

/// `reported_ms`: when the device took it; without a word of the device it is taken now. A time a little ahead counts
/// as now.
pub fn judge_time(stored_ms: Option<u64>, reported_ms: Option<u64>, now_ms: u64) -> Result<Recency, Invalid> {
    let reported_ms = reported_ms.unwrap_or(now_ms);
    if reported_ms > now_ms.saturating_add(AHEAD_MS_MAX) {
        return Err(Invalid::Not { field: "timestamp", kind: "a time that is not in the future" });
    }
    if reported_ms < now_ms.saturating_sub(AGE_MS_MAX) {
        return Err(Invalid::Not { field: "timestamp", kind: "a time of the last seven days" });
    }
    let at_ms = reported_ms.min(now_ms);
    // Of two fixes of one time the second counts: who gives no time gives one after the other.
    match stored_ms {
        Some(stored_ms) if at_ms < stored_ms => Ok(Recency::Late { at_ms }),
        _ => Ok(Recency::Newer { at_ms }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_000_000_000_000;

    fn check(stored_ms: Option<u64>, reported_ms: Option<u64>, expected: Recency) {
        assert_eq!(judge_time(stored_ms, reported_ms, NOW), Ok(expected), "{stored_ms:?} {reported_ms:?}");
    }

    #[test]
    fn a_late_fix_does_not_move_the_driver_back() {
        check(None, None, Recency::Newer { at_ms: NOW });
        check(Some(NOW - 10), None, Recency::Newer { at_ms: NOW });
        check(Some(NOW - 10), Some(NOW - 9), Recency::Newer { at_ms: NOW - 9 });
        check(Some(NOW - 10), Some(NOW - 10), Recency::Newer { at_ms: NOW - 10 });
        check(Some(NOW - 10), Some(NOW - 11), Recency::Late { at_ms: NOW - 11 });
    }

    #[test]
    fn a_clock_is_a_little_ahead_and_never_far() {
        check(Some(NOW - 10), Some(NOW + AHEAD_MS_MAX), Recency::Newer { at_ms: NOW });
        assert!(judge_time(None, Some(NOW + AHEAD_MS_MAX + 1), NOW).is_err());
        assert!(judge_time(None, Some(u64::MAX), NOW).is_err() && judge_time(None, Some(0), NOW).is_err());
        check(None, Some(NOW - AGE_MS_MAX), Recency::Newer { at_ms: NOW - AGE_MS_MAX });
    }

    proptest! {
        #[test]
        fn the_stored_time_never_goes_back(reported in prop::collection::vec(prop::option::of(NOW - 100..NOW + 100), 1..30)) {
            let mut stored = None;
            for (reported, now) in reported.into_iter().zip(NOW..) {
                let Ok(Recency::Newer { at_ms }) = judge_time(stored, reported, now) else { continue };
                prop_assert!(stored.is_none_or(|before| before <= at_ms) && at_ms <= now);
                stored = Some(at_ms);
            }
        }
    }
}
