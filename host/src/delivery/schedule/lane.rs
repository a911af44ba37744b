//! One lane: the deliveries of one endpoint that are in memory, and what they wait for.
//!
//! Owns which of them goes next and when; knows nothing of other lanes and takes no slot by itself. Invariants: a delivery
//! is in memory once (`waiting` or `running`, never both), so that no two attempts of it are under way; what is not in
//! memory stands in a backlog; a lane that is not enabled holds nothing but what is running.
//!
//! - `start`: which delivery goes next, and when.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    backlog::Backlog,
    breaker::{Began, Breaker},
    facts::{FreshRow, LaneSettings, LaneView, Opening, RetryRow, Seq, Subject, TenantId},
    fresh::FreshQueue,
    index::Place,
};
use crate::clock::Timestamp;

mod start;

/// First attempts and all others have slots of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    First,
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Enabled,
    Disabled,
    /// The endpoint is gone; only attempts that are under way are waited for.
    Closed,
}

/// Which attempt a delivery waits for.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Fresh(Subject),
    Retry { due: Timestamp, attempt: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub began: Began,
    /// What the delivery goes back to if this attempt comes to nothing.
    before: Waiting,
}

#[derive(Debug)]
pub(super) struct Lane {
    pub tenant: TenantId,
    pub settings: Arc<LaneSettings>,
    pub state: State,
    pub breaker: Breaker,
    pub fresh_backlog: Backlog,
    pub retry_backlog: Backlog,
    pub place: Place,
    fresh: FreshQueue,
    retries: BTreeSet<(Timestamp, Seq)>,
    waiting: HashMap<Seq, Waiting>,
    running: HashMap<Seq, Running>,
    first_running: usize,
    rests_until: Timestamp,
}

/// When a lane may start something of either class, slots aside.
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

    /// Attempts made, this one with them.
    pub fn number(&self) -> u32 {
        match self.before {
            Waiting::Fresh(_) => 1,
            Waiting::Retry { attempt, .. } => attempt,
        }
    }
}

impl Lane {
    pub fn new(opening: Opening) -> Self {
        let backlog = || if opening.has_stored { Backlog::unread() } else { Backlog::default() };
        Lane {
            tenant: opening.tenant,
            state: if opening.enabled { State::Enabled } else { State::Disabled },
            breaker: Breaker::failing_since(opening.failing_since),
            fresh_backlog: backlog(),
            retry_backlog: backlog(),
            settings: opening.settings,
            place: Place::default(),
            fresh: FreshQueue::default(),
            retries: BTreeSet::new(),
            waiting: HashMap::new(),
            running: HashMap::new(),
            first_running: 0,
            rests_until: 0,
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

    pub fn view(&self) -> LaneView {
        LaneView { in_flight: self.running.len(), breaker_open: self.breaker.began() == Began::Open }
    }

    /// Takes in a delivery without an attempt, unless it is known already.
    pub fn hold_fresh(&mut self, row: FreshRow) {
        if self.running.contains_key(&row.seq) || self.waiting.contains_key(&row.seq) {
            return;
        }
        self.waiting.insert(row.seq, Waiting::Fresh(row.subject));
        self.fresh.push(row.seq, row.subject);
    }

    /// Takes in a delivery that waits for a retry. One that is known already goes by its row, which somebody else may have
    /// changed, unless it is under way.
    pub fn hold_retry(&mut self, row: RetryRow) {
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

    /// All rows are asked for, from the beginning: what is in memory may stand in another place than its row by now.
    pub fn read_again(&mut self) {
        self.fresh_backlog.leave(0);
        self.retry_backlog.leave(0);
    }

    /// Takes out an attempt that is over. A first one stays the one of its subject until `free_subject` or `put_back`.
    pub fn end(&mut self, seq: Seq) -> Option<Running> {
        let running = self.running.remove(&seq)?;
        self.first_running -= usize::from(running.class() == Class::First);
        Some(running)
    }

    /// The delivery goes on from here: neither backlog may bring in a row that shows it as it was.
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

    /// The attempt came to nothing: the delivery stands where it stood.
    pub fn put_back(&mut self, seq: Seq, running: &Running) {
        self.free_subject(running);
        match running.before {
            _ if self.state != State::Enabled => self.read_again(),
            Waiting::Fresh(subject) => self.hold_fresh(FreshRow { seq, subject }),
            Waiting::Retry { due, attempt } => self.hold_retry(RetryRow { seq, attempt, due }),
        }
    }

    pub fn rest_until(&mut self, until: Timestamp) {
        self.rests_until = until;
    }

    pub fn enable(&mut self) {
        self.state = State::Enabled;
        self.breaker = Breaker::default();
        self.rests_until = 0;
    }

    /// Leaves what waits to the database, so that a lane at rest costs no memory.
    pub fn disable(&mut self) {
        self.state = State::Disabled;
        self.read_again();
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

    /// A number that comes back while attempts of its past are under way: they are its own again.
    pub fn reopen(&mut self, opening: Opening) {
        let mut lane = Lane::new(opening);
        lane.tenant = self.tenant;
        lane.running = std::mem::take(&mut self.running);
        lane.first_running = self.first_running;
        lane.fresh = std::mem::take(&mut self.fresh);
        lane.place = std::mem::take(&mut self.place);
        *self = lane;
    }
}
