//! What a lane starts next, and when it may.
//!
//! `readiness` is what the scheduler notes; `start` asks it again when the slot is there, so that nothing is ever early.

use super::{Class, Lane, Readiness, Running, State, Waiting};
use crate::clock::Timestamp;
use crate::delivery::schedule::{
    breaker::Began,
    facts::{Attempt, Seq},
};

impl Lane {
    /// While the breaker is open one attempt goes at a time, and a retry that is due goes before a fresh one.
    pub fn readiness(&mut self, now: Timestamp) -> Readiness {
        let is_open = self.breaker.began() == Began::Open;
        if self.state != State::Enabled || (is_open && !self.running.is_empty()) {
            return Readiness::default();
        }
        let gate = self.rests_until.max(self.breaker.rests_until());
        let due = self.retries.first().map(|(due, _)| *due);
        let retries_running = self.running.len() - self.first_running;
        let retry =
            due.filter(|_| retries_running < self.settings.retries_in_flight_max.max(1)).map(|due| due.max(gate));
        let first_goes = self.first_running < self.settings.first_in_flight_max.max(1)
            && !(is_open && retry.is_some_and(|at| at <= now))
            && self.fresh.has_ready();
        Readiness { first: first_goes.then_some(gate), retry }
    }

    /// Takes out the next delivery of that class, if one may start now.
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
        self.running.insert(seq, Running { began: self.breaker.began(), before });
        let attempt = match before {
            Waiting::Fresh(_) => Attempt::First,
            Waiting::Retry { attempt, .. } => Attempt::Retry(attempt),
        };
        Some((seq, attempt))
    }

    /// A table that a burst made large does not stay so.
    fn shrink(&mut self) {
        let capacity = self.waiting.capacity();
        if capacity > 64 && self.waiting.len() < capacity / 8 {
            self.waiting.shrink_to(capacity / 4);
        }
    }
}
