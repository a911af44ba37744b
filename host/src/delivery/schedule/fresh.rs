//! The deliveries of one lane that had no attempt yet, so that first attempts of one subject go out in their sequence.
//!
//! Invariants: of one subject at most one first attempt is under way; `ready` gives the lowest sequence number first; who
//! is held up by a subject that is busy waits in that subject's line and holds up nobody else. An attempt that ends brings
//! one delivery out of its line, so that each goes in and out a few times at most, for O(log n) each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::facts::{Seq, Subject};

#[derive(Debug, Default)]
pub(super) struct FreshQueue {
    ready: BTreeMap<Seq, Subject>,
    /// Only subjects that are busy, or whose next one has come out of the line and is ready.
    lines: HashMap<Subject, Line>,
    in_lines: usize,
}

#[derive(Debug, Default)]
struct Line {
    busy: bool,
    waiting: BTreeSet<Seq>,
}

impl FreshQueue {
    pub fn len(&self) -> usize {
        self.ready.len() + self.in_lines
    }

    pub fn push(&mut self, seq: Seq, subject: Subject) {
        self.ready.insert(seq, subject);
    }

    /// Whether `take` would give one.
    pub fn has_ready(&mut self) -> bool {
        while let Some(next) = self.ready.first_entry() {
            let Some(line) = self.lines.get_mut(next.get()).filter(|line| line.busy) else { return true };
            line.waiting.insert(*next.key());
            self.in_lines += 1;
            next.remove();
        }
        false
    }

    /// The next one whose subject is free. The subject is busy from now until `end`.
    pub fn take(&mut self) -> Option<Seq> {
        if !self.has_ready() {
            return None;
        }
        let (seq, subject) = self.ready.pop_first()?;
        self.lines.entry(subject).or_default().busy = true;
        Some(seq)
    }

    /// The first attempt ended, one way or the other: the next of the subject may go.
    pub fn end(&mut self, subject: Subject) {
        let Some(line) = self.lines.get_mut(&subject) else { return };
        line.busy = false;
        if let Some(seq) = line.waiting.pop_first() {
            self.in_lines -= 1;
            self.ready.insert(seq, subject);
        }
        if line.waiting.is_empty() {
            self.lines.remove(&subject);
        }
    }

    /// One that waits leaves its turn; the next of its subject takes it.
    pub fn remove(&mut self, seq: Seq, subject: Subject) {
        let was_ready = self.ready.remove(&seq).is_some();
        let Some(line) = self.lines.get_mut(&subject) else { return };
        self.in_lines -= usize::from(line.waiting.remove(&seq));
        if was_ready && !line.busy {
            self.end(subject);
        }
    }

    /// Drops everything that waits. Subjects stay busy with what is under way.
    pub fn clear(&mut self) {
        self.ready.clear();
        self.lines.retain(|_, line| line.busy);
        self.lines.values_mut().for_each(|line| line.waiting.clear());
        self.in_lines = 0;
    }
}
