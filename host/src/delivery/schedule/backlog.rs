//! What of a lane only the database holds: where it begins, and the load that is to bring it in.
//!
//! Used twice for each lane: for fresh deliveries, where a place is a sequence number, and for retries, where it is the
//! time when they are due. Invariant: whatever is in the database and not in memory stands at `from` or after it. A load
//! reads while the world goes on; what came to the database meanwhile (`missed`) and what ended meanwhile (`settled`) is
//! noted, so that its rows neither lose one nor bring one back.

use std::collections::HashSet;

use super::facts::Seq;
use crate::clock::Timestamp;
use crate::limits;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    from: Option<u64>,
    loading: Option<Loading>,
    not_before: Timestamp,
}

#[derive(Debug)]
struct Loading {
    ticket: u64,
    missed: Option<u64>,
    settled: HashSet<Seq>,
}

impl Backlog {
    /// Of a lane whose rows nobody has read yet.
    pub fn unread() -> Self {
        Backlog { from: Some(0), ..Backlog::default() }
    }

    /// Where it begins; nothing where all of the lane is in memory.
    pub fn from(&self) -> Option<u64> {
        self.from
    }

    /// One that stands at `place` stays in the database.
    pub fn leave(&mut self, place: u64) {
        self.from = earlier(self.from, Some(place));
        if let Some(loading) = &mut self.loading {
            loading.missed = earlier(loading.missed, Some(place));
        }
    }

    /// A delivery ended: rows of a load that began before may still show it as it was.
    pub fn settle(&mut self, seq: Seq) {
        if let Some(loading) = &mut self.loading {
            loading.settled.insert(seq);
        }
    }

    pub fn is_settled(&self, seq: Seq) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.settled.contains(&seq))
    }

    /// The time from which on a load may begin; nothing where there is nothing to load, or a load is under way.
    pub fn loads_from(&self) -> Option<Timestamp> {
        (self.from.is_some() && self.loading.is_none()).then_some(self.not_before)
    }

    pub fn begin(&mut self, ticket: u64) {
        self.loading = Some(Loading { ticket, missed: None, settled: HashSet::new() });
    }

    pub fn is_loading(&self, ticket: u64) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.ticket == ticket)
    }

    /// The load is in memory; from `rest` on there may be more.
    pub fn end(&mut self, rest: Option<u64>) {
        if let Some(loading) = self.loading.take() {
            self.from = earlier(rest, loading.missed);
        }
    }

    pub fn fail(&mut self, now: Timestamp) {
        self.loading = None;
        self.not_before = now.saturating_add(limits::DELIVERY_LOAD_PAUSE_MS);
    }

    /// Whatever the load brings is not wanted any more.
    pub fn cancel(&mut self) {
        self.loading = None;
    }
}

/// Nothing is later than everything.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}
