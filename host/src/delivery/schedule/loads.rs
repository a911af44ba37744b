//! Loads of rows from the database into memory.
//!
//! A queue has at most one load of fresh rows and one of retries in progress. Rows may be stale: rows of running
//! attempts and of deliveries that ended since the load began are skipped. For a delivery that waits in memory, a row
//! of a retry replaces its state, and a fresh row is skipped. The result of a load of a queue that was disabled or
//! closed meanwhile is ignored.

use super::{
    Scheduler,
    queue::EndpointQueue,
    values::{FreshRow, Load, RetryRow, Rows},
};
use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;

impl Scheduler {
    /// Returns the next load. The caller repeats the call until it returns `None`. Each load is completed by
    /// `loaded_fresh`, `loaded_retries` or `load_failed`. Several loads may be in progress, and the state may change
    /// meanwhile.
    pub fn next_load(&mut self, now: Timestamp) -> Option<Load> {
        let room = self.caps.room(self.held);
        let ticket = self.next_ticket;
        let (id, rows, limit) = if let Some(id) = first_due(&self.retry_loads, now) {
            let queue = self.queues.get_mut(&id)?;
            let due_from = queue.retry_backlog.from()?;
            queue.retry_backlog.begin(ticket);
            // The rows include running attempts. With room for them, every load returns something new.
            (id, Rows::Retries { due_from }, room + queue.in_flight())
        } else {
            let id = first_due(&self.fresh_loads, now)?;
            let queue = self.queues.get_mut(&id)?;
            let from = queue.fresh_backlog.from()?;
            queue.fresh_backlog.begin(ticket);
            (id, Rows::Fresh { from }, room.saturating_sub(queue.fresh_held()).max(1))
        };
        self.next_ticket += 1;
        self.reindex(id, now);
        Some(Load { queue: id, rows, limit, ticket })
    }

    /// Completes a load of `Rows::Fresh`.
    pub fn loaded_fresh(&mut self, load: &Load, rows: &[FreshRow], now: Timestamp) {
        let Some(queue) = self.queues.get_mut(&load.queue) else { return };
        if !queue.fresh_backlog.is_loading(load.ticket) {
            return;
        }
        for row in rows {
            if !queue.fresh_backlog.is_settled(row.seq) {
                queue.insert_fresh(*row);
            }
        }
        let last = rows.last().filter(|_| rows.len() >= load.limit);
        queue.fresh_backlog.end(last.map(|row| row.seq.saturating_add(1)));
        self.reindex(load.queue, now);
    }

    /// Completes a load of `Rows::Retries`.
    pub fn loaded_retries(&mut self, load: &Load, rows: &[RetryRow], now: Timestamp) {
        let room = self.caps.room(self.held);
        let horizon = now.saturating_add(self.caps.horizon_ms);
        let Some(queue) = self.queues.get_mut(&load.queue) else { return };
        if !queue.retry_backlog.is_loading(load.ticket) {
            return;
        }
        let rest = insert_retries(queue, rows, horizon, room);
        let last = rows.last().filter(|_| rows.len() >= load.limit).map(|row| row.due);
        queue.retry_backlog.end(rest.or(last));
        self.reindex(load.queue, now);
    }

    /// Ends a load whose rows could not be read. The scheduler loads them again after a pause.
    pub fn load_failed(&mut self, load: &Load, now: Timestamp) {
        let Some(queue) = self.queues.get_mut(&load.queue) else { return };
        for backlog in [&mut queue.fresh_backlog, &mut queue.retry_backlog] {
            if backlog.is_loading(load.ticket) {
                backlog.fail(now);
            }
        }
        self.reindex(load.queue, now);
    }
}

/// Adds the rows up to the horizon while there is room. Returns the due time of the first row that was not added.
fn insert_retries(queue: &mut EndpointQueue, rows: &[RetryRow], horizon: Timestamp, room: usize) -> Option<Timestamp> {
    for row in rows {
        if row.due > horizon || queue.retries_held() >= room {
            return Some(row.due);
        }
        if !queue.retry_backlog.is_settled(row.seq) {
            queue.insert_retry(*row);
        }
    }
    None
}

fn first_due(loads: &std::collections::BTreeSet<(Timestamp, QueueId)>, now: Timestamp) -> Option<QueueId> {
    loads.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
}
