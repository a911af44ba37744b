//! An endpoint queue: the deliveries of one endpoint that are in memory, and when each may start.
//!
//! Owns the order and the start times of its deliveries. It does not depend on other queues and takes no slots.
//! Invariants: a delivery is in memory once (`waiting` or `running`, never both), so it never has two attempts in
//! flight. Deliveries that are not in memory are covered by a backlog. A queue that is not enabled holds only running
//! attempts.
//!
//! - `start`: the next delivery and its earliest start.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    backlog::Backlog,
    breaker::{Breaker, BreakerState},
    fresh::FreshQueue,
    index::IndexEntry,
    values::{FreshRow, Opening, QueueSettings, QueueView, RetryRow, Seq, Subject, TenantId},
};
use crate::clock::Timestamp;

mod start;

/// The class of an attempt. Each class has its own slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    First,
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Enabled,
    Disabled,
    /// The endpoint was removed. The queue exists until its running attempts end.
    Closed,
}

/// The attempt that a delivery waits for.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Fresh(Subject),
    Retry { due: Timestamp, attempt: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub breaker_at_start: BreakerState,
    /// The state that is restored if the attempt was not made.
    before: Waiting,
}

#[derive(Debug)]
pub(super) struct EndpointQueue {
    pub tenant: TenantId,
    pub settings: Arc<QueueSettings>,
    pub state: State,
    pub breaker: Breaker,
    pub fresh_backlog: Backlog,
    pub retry_backlog: Backlog,
    pub index_entry: IndexEntry,
    fresh: FreshQueue,
    retries: BTreeSet<(Timestamp, Seq)>,
    waiting: HashMap<Seq, Waiting>,
    running: HashMap<Seq, Running>,
    first_running: usize,
    paused_until: Timestamp,
}

/// The earliest start of either class, without regard to slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    pub first: Option<Timestamp>,
    pub retry: Option<Timestamp>,
}

impl Running {
    pub fn class(&self) -> Class {
        match self.before {
            Waiting::Fresh(_) => Class::First,
            Waiting::Retry { .. } => Class::Retry,
        }
    }

    /// Returns the number of this attempt, counted from 1.
    pub fn number(&self) -> u32 {
        match self.before {
            Waiting::Fresh(_) => 1,
            Waiting::Retry { attempt, .. } => attempt,
        }
    }
}

impl EndpointQueue {
    pub fn new(opening: Opening) -> Self {
        let backlog = || if opening.has_stored { Backlog::unread() } else { Backlog::default() };
        EndpointQueue {
            tenant: opening.tenant,
            state: if opening.enabled { State::Enabled } else { State::Disabled },
            breaker: Breaker::with_failing_since(opening.failing_since),
            fresh_backlog: backlog(),
            retry_backlog: backlog(),
            settings: opening.settings,
            index_entry: IndexEntry::default(),
            fresh: FreshQueue::default(),
            retries: BTreeSet::new(),
            waiting: HashMap::new(),
            running: HashMap::new(),
            first_running: 0,
            paused_until: 0,
        }
    }

    pub fn held(&self) -> usize {
        self.waiting.len() + self.running.len()
    }

    pub fn fresh_held(&self) -> usize {
        self.fresh.len()
    }

    pub fn retries_held(&self) -> usize {
        self.retries.len()
    }

    pub fn in_flight(&self) -> usize {
        self.running.len()
    }

    pub fn view(&self) -> QueueView {
        QueueView { in_flight: self.running.len(), breaker_open: self.breaker.state() == BreakerState::Open }
    }

    /// Adds a delivery without an attempt, unless it is in memory already.
    pub fn insert_fresh(&mut self, row: FreshRow) {
        if self.running.contains_key(&row.seq) || self.waiting.contains_key(&row.seq) {
            return;
        }
        self.waiting.insert(row.seq, Waiting::Fresh(row.subject));
        self.fresh.push(row.seq, row.subject);
    }

    /// Adds a delivery that waits for a retry. If it is in memory already and not running, its row replaces that state,
    /// because a redelivery may have changed the row.
    pub fn insert_retry(&mut self, row: RetryRow) {
        let RetryRow { seq, attempt, due } = row;
        if self.running.contains_key(&seq) {
            return;
        }
        match self.waiting.get(&seq) {
            Some(Waiting::Fresh(subject)) => self.fresh.remove(seq, *subject),
            Some(Waiting::Retry { due: known, .. }) => {
                self.retries.remove(&(*known, seq));
            }
            None => {}
        }
        self.waiting.insert(seq, Waiting::Retry { due, attempt });
        self.retries.insert((due, seq));
    }

    /// Makes both backlogs load all rows again, because deliveries in memory may differ from their rows.
    pub fn reread(&mut self) {
        self.fresh_backlog.mark_stored(0);
        self.retry_backlog.mark_stored(0);
    }

    /// Removes an ended attempt. A first attempt keeps its subject busy until `settle` or `restore`.
    pub fn end(&mut self, seq: Seq) -> Option<Running> {
        let running = self.running.remove(&seq)?;
        self.first_running -= usize::from(running.class() == Class::First);
        Some(running)
    }

    /// Frees the subject and makes both backlogs ignore stale rows of the delivery.
    pub fn settle(&mut self, seq: Seq, running: &Running) {
        self.fresh_backlog.settle(seq);
        self.retry_backlog.settle(seq);
        self.free_subject(running);
    }

    fn free_subject(&mut self, running: &Running) {
        if let Waiting::Fresh(subject) = running.before {
            self.fresh.end(subject);
        }
    }

    /// Restores the delivery after an attempt that was not made.
    pub fn restore(&mut self, seq: Seq, running: &Running) {
        self.free_subject(running);
        match running.before {
            _ if self.state != State::Enabled => self.reread(),
            Waiting::Fresh(subject) => self.insert_fresh(FreshRow { seq, subject }),
            Waiting::Retry { due, attempt } => self.insert_retry(RetryRow { seq, attempt, due }),
        }
    }

    pub fn pause_until(&mut self, until: Timestamp) {
        self.paused_until = until;
    }

    pub fn enable(&mut self) {
        self.state = State::Enabled;
        self.breaker = Breaker::default();
        self.paused_until = 0;
    }

    /// Drops waiting deliveries from memory. The database still holds them.
    pub fn disable(&mut self) {
        self.state = State::Disabled;
        self.reread();
        self.fresh_backlog.cancel();
        self.retry_backlog.cancel();
        self.fresh.clear();
        self.retries.clear();
        self.waiting = HashMap::new();
    }

    pub fn close(&mut self) {
        self.disable();
        self.state = State::Closed;
    }

    /// Opens a closed queue again. It takes over the attempts that are still running.
    pub fn reopen(&mut self, opening: Opening) {
        let mut queue = EndpointQueue::new(opening);
        queue.tenant = self.tenant;
        queue.running = std::mem::take(&mut self.running);
        queue.first_running = self.first_running;
        queue.fresh = std::mem::take(&mut self.fresh);
        queue.index_entry = std::mem::take(&mut self.index_entry);
        *self = queue;
    }
}
