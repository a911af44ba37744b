//! What a lane starts next, and when it may.
//!
//! `readiness` is what the scheduler notes; `start` asks it again when the slot is there, so that nothing is ever early.

use super::{Before, Class, Lane, Readiness, Running, State, Waiting};
use crate::{
    changes::change_set::Timestamp,
    delivery::schedule::{
        breaker::Began,
        facts::{Attempt, Seq},
    },
};

impl Lane {
    /// While the breaker is open one attempt goes at a time, and a retry that is due goes before a fresh one.
    pub fn readiness(&mut self, now: Timestamp) -> Readiness {
        let is_open = self.breaker.began() == Began::Open;
        if self.state != State::Enabled || (is_open && !self.running.is_empty()) {
            return Readiness::default();
        }
        let gate = self.rests_until.max(self.breaker.rests_until());
        let due = if self.manual.is_empty() { self.retries.first().map(|(due, _)| *due) } else { Some(0) };
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
        let (seq, attempt, before) = match class {
            Class::First => self.take_fresh()?,
            Class::Retry => self.take_manual().or_else(|| self.take_retry())?,
        };
        self.waiting.remove(&seq);
        self.shrink();
        self.first_running += usize::from(attempt == Attempt::First);
        self.running.insert(seq, Running { attempt, began: self.breaker.began(), before });
        Some((seq, attempt))
    }

    fn take_fresh(&mut self) -> Option<(Seq, Attempt, Before)> {
        let (seq, subject) = self.fresh.take()?;
        Some((seq, Attempt::First, Before::Fresh(subject)))
    }

    fn take_manual(&mut self) -> Option<(Seq, Attempt, Before)> {
        let seq = self.manual.pop_front()?;
        let Some(Waiting::Retry { due, attempt }) = self.waiting.get(&seq).copied() else {
            return Some((seq, Attempt::Manual, Before::Nothing));
        };
        self.retries.remove(&(due, seq));
        Some((seq, Attempt::Manual, Before::Retry { due, attempt }))
    }

    fn take_retry(&mut self) -> Option<(Seq, Attempt, Before)> {
        let (due, seq) = self.retries.pop_first()?;
        let Some(Waiting::Retry { attempt, .. }) = self.waiting.get(&seq).copied() else { return None };
        Some((seq, Attempt::Retry(attempt), Before::Retry { due, attempt }))
    }

    /// A table that a burst made large does not stay so.
    fn shrink(&mut self) {
        let capacity = self.waiting.capacity();
        if capacity > 64 && self.waiting.len() < capacity / 8 {
            self.waiting.shrink_to(capacity / 4);
        }
    }
}
