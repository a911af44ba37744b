//! One lane: the deliveries of one endpoint that are in memory, and what they wait for.
//!
//! Owns which of them goes next and when; knows nothing of other lanes and takes no slot by itself. Invariants: a delivery
//! is in memory once (`waiting` or `running`, never both), so that no two attempts of it are under way; what is not in
//! memory stands in a backlog; a lane that is not enabled holds nothing but what is running or was asked for by hand.
//!
//! - `start`: which delivery goes next, and when.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use super::{
    backlog::Backlog,
    breaker::{Began, Breaker},
    facts::{Attempt, FreshRow, LaneSettings, LaneView, Opening, Redelivery, RetryRow, Seq, Subject, TenantId},
    fresh::FreshQueue,
    index::Place,
};
use crate::{changes::change_set::Timestamp, limits};

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

#[derive(Clone, Copy, Debug)]
enum Waiting {
    Fresh,
    Retry {
        due: Timestamp,
        attempt: u32,
    },
    /// For nothing but what was asked for by hand.
    Manual,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub attempt: Attempt,
    pub began: Began,
    /// What the delivery goes back to if this attempt comes to nothing.
    before: Before,
}

#[derive(Clone, Copy, Debug)]
enum Before {
    Fresh(Subject),
    Retry { due: Timestamp, attempt: u32 },
    Nothing,
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
    manual: VecDeque<Seq>,
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
            manual: VecDeque::new(),
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
        LaneView {
            enabled: self.state == State::Enabled,
            fresh: self.fresh.len(),
            retries: self.retries.len(),
            in_flight: self.running.len(),
            breaker_open: self.breaker.began() == Began::Open,
            failing_since: self.breaker.is_failing_since(),
        }
    }

    /// Takes in a delivery without an attempt, unless it is known already.
    pub fn hold_fresh(&mut self, row: FreshRow) {
        if let Some(running) = self.running.get_mut(&row.seq) {
            if matches!(running.before, Before::Nothing) {
                running.before = Before::Fresh(row.subject);
            }
            return;
        }
        match self.waiting.get(&row.seq) {
            Some(Waiting::Fresh | Waiting::Retry { .. }) => return,
            Some(Waiting::Manual) => self.manual.retain(|seq| *seq != row.seq),
            None => {}
        }
        self.waiting.insert(row.seq, Waiting::Fresh);
        self.fresh.push(row.seq, row.subject);
    }

    /// Takes in a delivery that waits for a retry, unless it is known already.
    pub fn hold_retry(&mut self, row: RetryRow) {
        let RetryRow { seq, attempt, due } = row;
        if let Some(running) = self.running.get_mut(&seq) {
            if matches!(running.before, Before::Nothing) {
                running.before = Before::Retry { due, attempt };
            }
            return;
        }
        if matches!(self.waiting.get(&seq), Some(Waiting::Fresh | Waiting::Retry { .. })) {
            return;
        }
        self.waiting.insert(seq, Waiting::Retry { due, attempt });
        self.retries.insert((due, seq));
    }

    pub fn redeliver(&mut self, seq: Seq) -> Redelivery {
        if self.running.contains_key(&seq) {
            return Redelivery::Running;
        }
        let is_fresh = matches!(self.waiting.get(&seq), Some(Waiting::Fresh));
        if is_fresh || self.manual.contains(&seq) {
            return Redelivery::Waiting;
        }
        if self.manual.len() >= limits::LANE_REDELIVERIES_MAX {
            return Redelivery::Full;
        }
        self.manual.push_back(seq);
        self.waiting.entry(seq).or_insert(Waiting::Manual);
        Redelivery::Queued
    }

    /// Takes out an attempt that is over. A first one stays the one of its subject until `free_subject` or `put_back`.
    pub fn end(&mut self, seq: Seq) -> Option<Running> {
        let running = self.running.remove(&seq)?;
        self.first_running -= usize::from(running.attempt == Attempt::First);
        Some(running)
    }

    /// The delivery goes on from here: neither backlog may bring in a row that shows it as it was.
    pub fn settle(&mut self, seq: Seq, running: &Running) {
        self.fresh_backlog.settle(seq);
        self.retry_backlog.settle(seq);
        self.free_subject(running);
    }

    fn free_subject(&mut self, running: &Running) {
        if let (Attempt::First, Before::Fresh(subject)) = (running.attempt, running.before) {
            self.fresh.end(subject);
        }
    }

    /// The attempt came to nothing: the delivery stands where it stood. One that was asked for by hand is not made again.
    pub fn put_back(&mut self, seq: Seq, running: &Running) {
        self.free_subject(running);
        match running.before {
            Before::Fresh(_) if self.state != State::Enabled => self.fresh_backlog.leave(seq),
            Before::Retry { due, .. } if self.state != State::Enabled => self.retry_backlog.leave(due),
            Before::Fresh(subject) => self.hold_fresh(FreshRow { seq, subject }),
            Before::Retry { due, attempt } => self.hold_retry(RetryRow { seq, attempt, due }),
            Before::Nothing => {}
        }
    }

    /// An attempt by hand that was not made is the next one by hand.
    pub fn ask_again(&mut self, seq: Seq) {
        let waiting = self.waiting.entry(seq).or_insert(Waiting::Manual);
        if !matches!(waiting, Waiting::Fresh) {
            self.manual.push_front(seq);
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

    /// Leaves what waits to the database, so that a lane at rest costs no memory. Only the wishes of people stay.
    pub fn disable(&mut self) {
        self.state = State::Disabled;
        if let Some(seq) = self.fresh.clear() {
            self.fresh_backlog.leave(seq);
        }
        if let Some((due, _)) = self.retries.first() {
            self.retry_backlog.leave(*due);
        }
        self.fresh_backlog.cancel();
        self.retry_backlog.cancel();
        self.retries.clear();
        self.waiting = self.manual.iter().map(|seq| (*seq, Waiting::Manual)).collect();
    }

    pub fn close(&mut self) {
        self.disable();
        self.manual.clear();
        self.waiting = HashMap::new();
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
