//! The next delivery that a queue starts, and its earliest start.
//!
//! The scheduler indexes `readiness`. `start` checks it again when a slot is assigned, so no attempt starts early.

use super::{Class, EndpointQueue, Readiness, Running, State, Waiting};
use crate::clock::Timestamp;
use crate::delivery::schedule::{
    breaker::BreakerState,
    values::{Attempt, Seq},
};

impl EndpointQueue {
    /// Returns the earliest start of either class. While the breaker is open, one attempt runs at a time, and a due
    /// retry precedes a fresh delivery.
    pub fn readiness(&mut self, now: Timestamp) -> Readiness {
        let is_open = self.breaker.state() == BreakerState::Open;
        if self.state != State::Enabled || (is_open && !self.running.is_empty()) {
            return Readiness::default();
        }
        let gate = self.paused_until.max(self.breaker.paused_until());
        let due = self.retries.first().map(|(due, _)| *due);
        let retries_running = self.running.len() - self.first_running;
        let retry =
            due.filter(|_| retries_running < self.settings.retries_in_flight_max.max(1)).map(|due| due.max(gate));
        let first_is_ready = self.first_running < self.settings.first_in_flight_max.max(1)
            && !(is_open && retry.is_some_and(|at| at <= now))
            && self.fresh.has_ready();
        Readiness { first: first_is_ready.then_some(gate), retry }
    }

    /// Starts the next delivery of the class if one may start now.
    pub fn start(&mut self, class: Class, now: Timestamp) -> Option<(Seq, Attempt)> {
        let readiness = self.readiness(now);
        let at = if class == Class::First { readiness.first } else { readiness.retry };
        at.filter(|at| *at <= now)?;
        let seq = match class {
            Class::First => self.fresh.take()?,
            Class::Retry => self.retries.pop_first()?.1,
        };
        let before = self.waiting.remove(&seq)?;
        self.shrink();
        self.first_running += usize::from(class == Class::First);
        self.running.insert(seq, Running { breaker_at_start: self.breaker.state(), before });
        let attempt = match before {
            Waiting::Fresh(_) => Attempt::First,
            Waiting::Retry { attempt, .. } => Attempt::Retry(attempt),
        };
        Some((seq, attempt))
    }

    /// Shrinks the table after a burst.
    fn shrink(&mut self) {
        let capacity = self.waiting.capacity();
        if capacity > 64 && self.waiting.len() < capacity / 8 {
            self.waiting.shrink_to(capacity / 4);
        }
    }
}
