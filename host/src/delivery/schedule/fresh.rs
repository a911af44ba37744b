//! The deliveries of one queue that have had no attempt yet. First attempts of one subject start in their sequence.
//!
//! Invariants: at most one first attempt of a subject is in flight. `take` returns the lowest sequence number in
//! `ready`. A delivery whose subject is busy waits in the list of that subject and blocks no other subject. The end of
//! an attempt moves one delivery back to `ready`, so each delivery moves a few times at most, for O(log n) each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::values::{Seq, Subject};

#[derive(Debug, Default)]
pub(super) struct FreshQueue {
    ready: BTreeMap<Seq, Subject>,
    /// Only subjects that are busy, and subjects whose next delivery has moved back to `ready`.
    subjects: HashMap<Subject, SubjectState>,
    blocked: usize,
}

#[derive(Debug, Default)]
struct SubjectState {
    busy: bool,
    blocked: BTreeSet<Seq>,
}

impl FreshQueue {
    pub fn len(&self) -> usize {
        self.ready.len() + self.blocked
    }

    pub fn push(&mut self, seq: Seq, subject: Subject) {
        self.ready.insert(seq, subject);
    }

    /// Returns true if `take` would return a delivery.
    pub fn has_ready(&mut self) -> bool {
        while let Some(next) = self.ready.first_entry() {
            let Some(state) = self.subjects.get_mut(next.get()).filter(|state| state.busy) else { return true };
            state.blocked.insert(*next.key());
            self.blocked += 1;
            next.remove();
        }
        false
    }

    /// Removes the next delivery whose subject is free. The subject is busy until `end`.
    pub fn take(&mut self) -> Option<Seq> {
        if !self.has_ready() {
            return None;
        }
        let (seq, subject) = self.ready.pop_first()?;
        self.subjects.entry(subject).or_default().busy = true;
        Some(seq)
    }

    /// Frees the subject after its first attempt has ended with any outcome.
    pub fn end(&mut self, subject: Subject) {
        let Some(state) = self.subjects.get_mut(&subject) else { return };
        state.busy = false;
        if let Some(seq) = state.blocked.pop_first() {
            self.blocked -= 1;
            self.ready.insert(seq, subject);
        }
        if state.blocked.is_empty() {
            self.subjects.remove(&subject);
        }
    }

    /// Removes a waiting delivery. The next delivery of its subject takes its place.
    pub fn remove(&mut self, seq: Seq, subject: Subject) {
        let was_ready = self.ready.remove(&seq).is_some();
        let Some(state) = self.subjects.get_mut(&subject) else { return };
        self.blocked -= usize::from(state.blocked.remove(&seq));
        if was_ready && !state.busy {
            self.end(subject);
        }
    }

    /// Drops all waiting deliveries. Subjects stay busy while their attempts are in flight.
    pub fn clear(&mut self) {
        self.ready.clear();
        self.subjects.retain(|_, state| state.busy);
        self.subjects.values_mut().for_each(|state| state.blocked.clear());
        self.blocked = 0;
    }
}
