//! Index entries of the queues: round-robin positions, timers, and load times.
//!
//! Invariant: after every change of a queue its index entry matches its state, so the scheduler never scans all queues.
//! An update costs O(log n).

use std::collections::BTreeSet;

use super::{
    Scheduler,
    backlog::Backlog,
    queue::{Class, EndpointQueue, State},
    slots::Slots,
    values::{Caps, TenantId},
};
use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;

/// The indexed positions and times of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexEntry {
    first_position: Option<u64>,
    retry_position: Option<u64>,
    wakes_at: Option<Timestamp>,
    loads_fresh_at: Option<Timestamp>,
    loads_retries_at: Option<Timestamp>,
    held: usize,
}

/// The index entry that the state of a queue requires.
#[derive(Default)]
struct IndexTarget {
    first: bool,
    retry: bool,
    wakes_at: Option<Timestamp>,
    loads_fresh_at: Option<Timestamp>,
    loads_retries_at: Option<Timestamp>,
}

impl IndexEntry {
    /// Clears the round-robin position after `Slots::begin` has returned the queue.
    pub fn clear_position(&mut self, class: Class) {
        match class {
            Class::First => self.first_position = None,
            Class::Retry => self.retry_position = None,
        }
    }
}

impl Scheduler {
    /// Updates the index entry of a queue. Every change of a queue ends with this call.
    pub(super) fn reindex(&mut self, id: QueueId, now: Timestamp) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        let room = self.caps.room(self.held);
        let target = index_target(queue, &self.caps, room, now);
        let mut entry = queue.index_entry;
        entry.first_position = update_position(&mut self.first, target.first, entry.first_position, queue.tenant, id);
        entry.retry_position = update_position(&mut self.retries, target.retry, entry.retry_position, queue.tenant, id);
        entry.wakes_at = update_timer(&mut self.wakes, id, entry.wakes_at, target.wakes_at);
        entry.loads_fresh_at = update_timer(&mut self.fresh_loads, id, entry.loads_fresh_at, target.loads_fresh_at);
        entry.loads_retries_at =
            update_timer(&mut self.retry_loads, id, entry.loads_retries_at, target.loads_retries_at);
        self.held = self.held + queue.held() - entry.held;
        entry.held = queue.held();
        queue.index_entry = entry;
    }
}

impl Caps {
    /// Returns the number of fresh deliveries, and equally of retries, that one queue may hold in memory now.
    pub(super) fn room(&self, held: usize) -> usize {
        if held < self.held_max { self.queue_held_max.max(1) } else { self.queue_held_min.max(1) }
    }
}

fn index_target(queue: &mut EndpointQueue, caps: &Caps, room: usize, now: Timestamp) -> IndexTarget {
    if queue.state != State::Enabled {
        return IndexTarget::default();
    }
    let readiness = queue.readiness(now);
    // Early enough that the retries are in memory when they are due.
    let retries_from = queue.retry_backlog.from().unwrap_or(0).saturating_sub(caps.horizon_ms / 2);
    let is_now = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    IndexTarget {
        first: is_now(readiness.first),
        retry: is_now(readiness.retry),
        wakes_at: readiness.first.into_iter().chain(readiness.retry).filter(|at| *at > now).min(),
        loads_fresh_at: loads_at(&queue.fresh_backlog, queue.fresh_held(), room),
        loads_retries_at: loads_at(&queue.retry_backlog, queue.retries_held(), room).map(|at| at.max(retries_from)),
    }
}

/// Returns the time of the next load. A queue loads rows once half of its room is free.
fn loads_at(backlog: &Backlog, held: usize, room: usize) -> Option<Timestamp> {
    backlog.loads_from().filter(|_| held <= room / 2)
}

fn update_position(slots: &mut Slots, is_ready: bool, old: Option<u64>, tenant: TenantId, id: QueueId) -> Option<u64> {
    match old {
        None if is_ready => Some(slots.enqueue(tenant, id)),
        Some(position) if !is_ready => {
            slots.dequeue(tenant, position);
            None
        }
        unchanged => unchanged,
    }
}

fn update_timer(
    timers: &mut BTreeSet<(Timestamp, QueueId)>,
    id: QueueId,
    old: Option<Timestamp>,
    new: Option<Timestamp>,
) -> Option<Timestamp> {
    if old != new {
        if let Some(at) = old {
            timers.remove(&(at, id));
        }
        if let Some(at) = new {
            timers.insert((at, id));
        }
    }
    new
}
