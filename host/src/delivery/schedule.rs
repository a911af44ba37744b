//! The schedule of webhook deliveries: a pure state machine. Its input is events and the time. Its output is the
//! attempts to start.
//!
//! Owns the endpoint queues with the order, pauses and retries of all deliveries. It has no body, no socket, no clock
//! and no database. The database is the source of truth. The scheduler holds the part that is needed soon. Invariants:
//!
//! - No attempt is early, no delivery has two attempts at once, and a delivery gets exactly the attempts of its
//!   schedule, plus those that a redelivery or a recovery writes to its row.
//! - A delivery is delivered, exhausted, dropped with its queue, or still waiting in memory or in the database.
//! - First attempts of one subject in one queue start in their sequence, each after the previous one has ended.
//! - No limit is exceeded. Free slots rotate between tenants, then between the queues of a tenant.
//! - A step costs O(log n) and a few microseconds. A waiting delivery takes about 80 bytes and a queue about 1 kB. A
//!   delivery beyond the horizon or the room takes no memory.
//!
//! # Protocol for the engine
//!
//! 1. Open every queue. Set `has_stored` if rows may exist, so that the scheduler loads them.
//! 2. After a commit, `offer` each delivery that it created. If the scheduler has no room for a delivery, it loads the
//!    delivery later.
//! 3. After any change, and at `wake_at`: call `next` until it returns `None`, and `next_load` until it returns `None`.
//! 4. Complete each `Start` with `finish`. Write its decision, then (or in the same transaction) the attempt.
//! 5. Complete each `Load`. Read its rows after all earlier decisions are written.
//! 6. If rows were changed by a decision made elsewhere, call `reread`. If commits were missed, call `catch_up`. If
//!    deliveries were created after the batch of their event, call `mark_stored`.
//!
//! After a crash the rows have their last written state, so an attempt that was in flight is made again.
//!
//! - `values`: the values exchanged with the engine. `retry`: the retry schedule. `queue`, `fresh`, `backlog`,
//!   `breaker`: one endpoint queue.
//! - `slots`: round robin. `index`: queues by time. `finish`, `loads`: ends of attempts and of loads.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;

mod backlog;
mod breaker;
mod finish;
mod fresh;
mod index;
mod loads;
mod queue;
mod random;
mod retry;
mod slots;
#[cfg(test)]
mod tests;
mod values;

use queue::{Class, EndpointQueue, State};
use random::Random;
pub use retry::RetrySchedule;
use slots::Slots;
pub use values::{
    Attempt, Caps, Counts, Decision, Disabled, FinishedAttempt, FreshRow, Load, Opening, Outcome, QueueSettings,
    QueueView, RetryRow, Rows, Seq, Start, Subject, TenantId,
};

#[derive(Debug)]
pub struct Scheduler {
    caps: Caps,
    queues: HashMap<QueueId, EndpointQueue>,
    first: Slots,
    retries: Slots,
    /// The times at which queues become ready.
    wakes: BTreeSet<(Timestamp, QueueId)>,
    fresh_loads: BTreeSet<(Timestamp, QueueId)>,
    retry_loads: BTreeSet<(Timestamp, QueueId)>,
    held: usize,
    next_ticket: u64,
    random: Random,
}

impl Scheduler {
    /// Creates a scheduler. The seed is used for jitter only.
    pub fn new(caps: Caps, seed: u64) -> Self {
        Scheduler {
            first: Slots::new(caps.first_max, caps.tenant_first_max),
            retries: Slots::new(caps.retries_max, caps.tenant_retries_max),
            caps,
            queues: HashMap::new(),
            wakes: BTreeSet::new(),
            fresh_loads: BTreeSet::new(),
            retry_loads: BTreeSet::new(),
            held: 0,
            next_ticket: 0,
            random: Random::new(seed),
        }
    }

    /// Opens a queue. If it is open already, only its settings change. A closed queue with running attempts opens again
    /// and takes over these attempts.
    pub fn open_queue(&mut self, id: QueueId, opening: Opening, now: Timestamp) {
        match self.queues.get_mut(&id) {
            None => {
                self.queues.insert(id, EndpointQueue::new(opening));
            }
            Some(queue) if queue.state == State::Closed => queue.reopen(opening),
            Some(queue) => queue.settings = opening.settings,
        }
        self.reindex(id, now);
    }

    /// Changes the settings of a queue, effective from the next decision.
    pub fn change_queue(&mut self, id: QueueId, settings: Arc<QueueSettings>, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.settings = settings;
        }
        self.reindex(id, now);
    }

    /// Enables a queue, clears its history of failures, and loads its stored deliveries.
    pub fn enable_queue(&mut self, id: QueueId, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id).filter(|queue| queue.state == State::Disabled) {
            queue.enable();
        }
        self.reindex(id, now);
    }

    /// Stops starting attempts of a queue. Waiting deliveries stay in the database, and running attempts end as usual.
    pub fn disable_queue(&mut self, id: QueueId, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id).filter(|queue| queue.state == State::Enabled) {
            queue.disable();
        }
        self.reindex(id, now);
    }

    /// Drops all deliveries of a removed endpoint. The caller still completes its running attempts.
    pub fn close_queue(&mut self, id: QueueId, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.close();
        }
        self.reindex(id, now);
        self.remove_if_done(id);
    }

    /// Adds a committed delivery without an attempt. A delivery that is in memory already is ignored. Deliveries of one
    /// queue must be offered in their sequence, and before a load that may return them completes. Otherwise they may
    /// start out of sequence, or twice.
    pub fn offer(&mut self, id: QueueId, row: FreshRow, now: Timestamp) {
        let room = self.caps.room(self.held);
        let Some(queue) = self.queues.get_mut(&id) else { return };
        let stays = queue.state != State::Enabled || queue.fresh_held() >= room;
        if stays || queue.fresh_backlog.from().is_some() {
            queue.fresh_backlog.mark_stored(row.seq);
        } else {
            queue.insert_fresh(row);
        }
        self.reindex(id, now);
    }

    /// Loads all rows of a queue again, because a decision made elsewhere changed them. Rows replace waiting
    /// deliveries. Rows of running attempts are ignored, because the outcome of the attempt decides.
    pub fn reread(&mut self, id: QueueId, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.reread();
        }
        self.reindex(id, now);
    }

    /// Makes a queue load deliveries from this number on, because they may have been committed without being offered.
    pub fn mark_stored(&mut self, id: QueueId, from: Seq, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.fresh_backlog.mark_stored(from);
        }
        self.reindex(id, now);
    }

    /// Like [`Scheduler::mark_stored`]. Also loads all retries, because their rows may have changed elsewhere.
    pub fn catch_up(&mut self, id: QueueId, from: Seq, now: Timestamp) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.fresh_backlog.mark_stored(from);
            queue.retry_backlog.mark_stored(0);
        }
        self.reindex(id, now);
    }

    /// Returns the next attempt to start now. First attempts precede retries and use their own slots.
    pub fn next(&mut self, now: Timestamp) -> Option<Start> {
        while let Some(&(at, id)) = self.wakes.first().filter(|(at, _)| *at <= now) {
            self.reindex(id, now);
            // `reindex` sets a later time or none. Removing the entry prevents an endless loop if it did not.
            self.wakes.remove(&(at, id));
        }
        self.start(Class::First, now).or_else(|| self.start(Class::Retry, now))
    }

    /// Returns the time of the next call of `next` and `next_load` if nothing else happens before. A past time means
    /// now.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let timers = [&self.wakes, &self.fresh_loads, &self.retry_loads];
        timers.iter().filter_map(|timers| timers.first()).map(|(at, _)| *at).min()
    }

    pub fn view(&self, id: QueueId) -> Option<QueueView> {
        self.queues.get(&id).filter(|queue| queue.state != State::Closed).map(EndpointQueue::view)
    }

    pub fn counts(&self) -> Counts {
        Counts { held: self.held, first_in_flight: self.first.running(), retries_in_flight: self.retries.running() }
    }

    fn start(&mut self, class: Class, now: Timestamp) -> Option<Start> {
        loop {
            let slots = if class == Class::First { &mut self.first } else { &mut self.retries };
            let id = slots.begin()?;
            let queue = self.queues.get_mut(&id)?;
            queue.index_entry.clear_position(class);
            let started = queue.start(class, now);
            if started.is_none() {
                // The clock was set back, so the queue is not ready any more.
                slots.end(queue.tenant);
            }
            self.reindex(id, now);
            if let Some((seq, attempt)) = started {
                return Some(Start { queue: id, seq, attempt });
            }
        }
    }

    /// Removes a closed queue after its last attempt has ended.
    fn remove_if_done(&mut self, id: QueueId) {
        if self.queues.get(&id).is_some_and(|queue| queue.state == State::Closed && queue.in_flight() == 0) {
            self.queues.remove(&id);
        }
    }
}
