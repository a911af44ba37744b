//! The deliveries of a queue that only the database holds: their first position, and the load that reads them.
//!
//! Each queue has two backlogs. For fresh deliveries a position is a sequence number. For retries it is the due time.
//! Invariant: every delivery that is in the database and not in memory has a position of `from` or later. The state may
//! change during a load. The backlog therefore records the deliveries that were stored meanwhile (`stored_meanwhile`),
//! so that none is lost, and those that ended meanwhile (`settled`), so that stale rows do not restore them.

use std::collections::HashSet;

use super::values::Seq;
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
    stored_meanwhile: Option<u64>,
    settled: HashSet<Seq>,
}

impl Backlog {
    /// Creates the backlog of a queue whose rows were never read.
    pub fn unread() -> Self {
        Backlog { from: Some(0), ..Backlog::default() }
    }

    /// Returns the first position, or `None` if memory holds the whole queue.
    pub fn from(&self) -> Option<u64> {
        self.from
    }

    /// Records that a delivery at `position` is in the database only.
    pub fn mark_stored(&mut self, position: u64) {
        self.from = min_position(self.from, Some(position));
        if let Some(loading) = &mut self.loading {
            loading.stored_meanwhile = min_position(loading.stored_meanwhile, Some(position));
        }
    }

    /// Records that a delivery ended. Rows of a load that began before may still contain its old state.
    pub fn settle(&mut self, seq: Seq) {
        if let Some(loading) = &mut self.loading {
            loading.settled.insert(seq);
        }
    }

    pub fn is_settled(&self, seq: Seq) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.settled.contains(&seq))
    }

    /// Returns the earliest time of the next load, or `None` if there is nothing to load or a load is in progress.
    pub fn loads_from(&self) -> Option<Timestamp> {
        (self.from.is_some() && self.loading.is_none()).then_some(self.not_before)
    }

    pub fn begin(&mut self, ticket: u64) {
        self.loading = Some(Loading { ticket, stored_meanwhile: None, settled: HashSet::new() });
    }

    pub fn is_loading(&self, ticket: u64) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.ticket == ticket)
    }

    /// Completes the load. There may be more rows from `rest` on.
    pub fn end(&mut self, rest: Option<u64>) {
        if let Some(loading) = self.loading.take() {
            self.from = min_position(rest, loading.stored_meanwhile);
        }
    }

    pub fn fail(&mut self, now: Timestamp) {
        self.loading = None;
        self.not_before = now.saturating_add(limits::DELIVERY_LOAD_PAUSE_MS);
    }

    /// Makes the queue ignore the result of the load.
    pub fn cancel(&mut self) {
        self.loading = None;
    }
}

/// Returns the lower position. `None` is higher than every position.
fn min_position(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left.into_iter().chain(right).min()
}
