//! The circuit breaker of one lane: how an endpoint that keeps failing is spared, and since when it has been failing.
//!
//! Closed: attempts go as they may. Open, after several failures in a row: one attempt at a time, with a pause after each
//! that doubles up to a cap. Any success closes it. It starts nothing and counts nothing as an attempt itself.

use crate::clock::Timestamp;
use crate::limits;

/// Whether the breaker was open when an attempt was started: only such attempts lengthen the pause. The others were on
/// their way before it opened, and would stretch it to the cap all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Began {
    Closed,
    Open,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Breaker {
    failures_in_a_row: u32,
    /// The pause that was taken last; there while the breaker is open.
    pause_ms: Option<u64>,
    rests_until: Timestamp,
    failing_since: Option<Timestamp>,
}

impl Breaker {
    /// Of an endpoint that was failing before this process began.
    pub fn failing_since(since: Option<Timestamp>) -> Self {
        Breaker { failing_since: since, ..Breaker::default() }
    }

    pub fn began(&self) -> Began {
        if self.pause_ms.is_some() { Began::Open } else { Began::Closed }
    }

    /// No attempt before that time. 0 while closed.
    pub fn rests_until(&self) -> Timestamp {
        self.rests_until
    }

    /// When the first failure after the last success was.
    pub fn is_failing_since(&self) -> Option<Timestamp> {
        self.failing_since
    }

    pub fn succeed(&mut self) {
        *self = Breaker::default();
    }

    pub fn fail(&mut self, began: Began, now: Timestamp) {
        self.failing_since.get_or_insert(now);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let pause_ms = match (self.pause_ms, began) {
            (None, _) if self.failures_in_a_row >= limits::BREAKER_FAILURES => limits::BREAKER_PAUSE_MS_MIN,
            (Some(last_ms), Began::Open) => last_ms.saturating_mul(2).min(limits::BREAKER_PAUSE_MS_MAX),
            (None, _) | (Some(_), Began::Closed) => return,
        };
        self.pause_ms = Some(pause_ms);
        self.rests_until = now.saturating_add(pause_ms);
    }
}
