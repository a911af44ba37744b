//! When a delivery that failed is tried again: a list of delays, a jitter that only adds, and what the endpoint asked for.
//!
//! Pure arithmetic: the time and the random number are arguments. What comes out is never earlier than the schedule.

use crate::clock::Timestamp;
use crate::limits;

/// The delays after the first, second, … failed attempt of one delivery. There is one attempt more than there are delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    delays_ms: Vec<u64>,
    jitter_percent: u64,
}

impl RetrySchedule {
    /// No delays: one attempt and no other. `jitter_percent` is the most that is added to a delay, 100 at most.
    pub fn new(delays_ms: Vec<u64>, jitter_percent: u64) -> Self {
        RetrySchedule { delays_ms, jitter_percent: jitter_percent.min(100) }
    }

    /// When to try again after attempt number `made` (the first is 1) ended at `ended_at`; nothing where it was the last.
    /// An endpoint that asked for a pause (Retry-After) gets it, up to a cap, unless the schedule's own is longer.
    pub fn next_at(
        &self,
        made: u32,
        ended_at: Timestamp,
        retry_after_ms: Option<u64>,
        random: u64,
    ) -> Option<Timestamp> {
        let place = usize::try_from(made.saturating_sub(1)).ok()?;
        let delay = *self.delays_ms.get(place)?;
        let asked = retry_after_ms.unwrap_or(0).min(limits::RETRY_AFTER_MS_MAX);
        let base = delay.max(asked);
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
