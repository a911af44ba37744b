//! The circuit breaker of one queue: pauses an endpoint that keeps failing, and records since when it has been failing.
//!
//! Closed: it limits nothing. Open, after several consecutive failures: one attempt at a time, with a pause after each
//! failure that doubles up to a cap. Any success closes it. The breaker starts nothing and counts no attempts of
//! deliveries.

use crate::clock::Timestamp;
use crate::limits;

/// The state of the breaker when an attempt started. Only attempts that started while it was open lengthen the pause.
/// Otherwise the attempts that were in flight when it opened would raise the pause to the cap at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerState {
    Closed,
    Open,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Breaker {
    consecutive_failures: u32,
    /// The last pause. Present while the breaker is open.
    pause_ms: Option<u64>,
    paused_until: Timestamp,
    failing_since: Option<Timestamp>,
}

impl Breaker {
    /// Restores the stored health of an endpoint that was failing before this process started.
    pub fn with_failing_since(since: Option<Timestamp>) -> Self {
        Breaker { failing_since: since, ..Breaker::default() }
    }

    pub fn state(&self) -> BreakerState {
        if self.pause_ms.is_some() { BreakerState::Open } else { BreakerState::Closed }
    }

    /// Returns the time before which no attempt may start, or 0 while the breaker is closed.
    pub fn paused_until(&self) -> Timestamp {
        self.paused_until
    }

    /// Returns the time of the first failure after the last success.
    pub fn failing_since(&self) -> Option<Timestamp> {
        self.failing_since
    }

    pub fn record_success(&mut self) {
        *self = Breaker::default();
    }

    pub fn record_failure(&mut self, at_start: BreakerState, now: Timestamp) {
        self.failing_since.get_or_insert(now);
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        let pause_ms = match (self.pause_ms, at_start) {
            (None, _) if self.consecutive_failures >= limits::BREAKER_FAILURES => limits::BREAKER_PAUSE_MS_MIN,
            (Some(last_ms), BreakerState::Open) => last_ms.saturating_mul(2).min(limits::BREAKER_PAUSE_MS_MAX),
            (None, _) | (Some(_), BreakerState::Closed) => return,
        };
        self.pause_ms = Some(pause_ms);
        self.paused_until = now.saturating_add(pause_ms);
    }
}
