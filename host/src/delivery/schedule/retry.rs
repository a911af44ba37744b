//! The time of the next attempt of a failed delivery: a list of delays, a jitter that only adds, and `Retry-After`.
//!
//! Pure arithmetic: the time and the random number are arguments. The result is never earlier than the schedule.

use crate::clock::Timestamp;
use crate::limits;

/// The delays after the first, second, … failed attempt of one delivery. There is one attempt more than there are
/// delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    delays_ms: Vec<u64>,
    jitter_percent: u64,
}

impl RetrySchedule {
    /// Creates a schedule. Without delays there is a single attempt. `jitter_percent` is the maximum that is added to a
    /// delay. Values above 100 count as 100.
    pub fn new(delays_ms: Vec<u64>, jitter_percent: u64) -> Self {
        RetrySchedule { delays_ms, jitter_percent: jitter_percent.min(100) }
    }

    /// Returns the time of the next attempt after attempt number `made` (counted from 1) ended at `ended_at`. Returns
    /// `None` if it was the last. A `Retry-After` of the endpoint counts up to a cap if it is longer than the
    /// schedule's delay.
    pub fn next_at(
        &self,
        made: u32,
        ended_at: Timestamp,
        retry_after_ms: Option<u64>,
        random: u64,
    ) -> Option<Timestamp> {
        let index = usize::try_from(made.saturating_sub(1)).ok()?;
        let delay = *self.delays_ms.get(index)?;
        let requested = retry_after_ms.unwrap_or(0).min(limits::RETRY_AFTER_MS_MAX);
        let base = delay.max(requested);
        let jitter_max = base.saturating_mul(self.jitter_percent) / 100;
        let jitter = random % jitter_max.saturating_add(1);
        Some(ended_at.saturating_add(base).saturating_add(jitter))
    }
}

impl Default for RetrySchedule {
    fn default() -> Self {
        RetrySchedule::new(limits::RETRY_DELAYS_MS.to_vec(), limits::RETRY_JITTER_PERCENT)
    }
}
