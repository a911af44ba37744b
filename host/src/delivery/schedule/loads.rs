//! Rows that come back from the database into memory: which are wanted, and what becomes of them.
//!
//! A lane has one load of fresh rows and one of retries under way at most. Rows may be stale: what is known, or ended since
//! the load began, is passed over. An answer that is not wanted any more (the lane was disabled or closed) changes nothing.

use super::{
    Scheduler,
    facts::{FreshRow, LaneId, Load, RetryRow, Rows},
    lane::Lane,
};
use crate::clock::Timestamp;

impl Scheduler {
    /// Rows to load now; call it until there is nothing more. Each `Load` is answered by `loaded_fresh`, `loaded_retries`
    /// or `load_failed`; several may be under way, and the world may go on meanwhile.
    pub fn wants(&mut self, now: Timestamp) -> Option<Load> {
        let room = self.caps.room(self.held);
        let ticket = self.next_ticket;
        let (id, rows, limit) = if let Some(id) = due(&self.retry_loads, now) {
            let lane = self.lanes.get_mut(&id)?;
            let due_from = lane.retry_backlog.from()?;
            lane.retry_backlog.begin(ticket);
            // What runs is in the rows as well: with room for it, every load brings something new.
            (id, Rows::Retries { due_from }, room + lane.in_flight())
        } else {
            let id = due(&self.fresh_loads, now)?;
            let lane = self.lanes.get_mut(&id)?;
            let from = lane.fresh_backlog.from()?;
            lane.fresh_backlog.begin(ticket);
            (id, Rows::Fresh { from }, room.saturating_sub(lane.fresh_held()).max(1))
        };
        self.next_ticket += 1;
        self.note(id, now);
        Some(Load { lane: id, rows, limit, ticket })
    }

    /// Answers `Rows::Fresh`.
    pub fn loaded_fresh(&mut self, load: &Load, rows: &[FreshRow], now: Timestamp) {
        let Some(lane) = self.lanes.get_mut(&load.lane) else { return };
        if !lane.fresh_backlog.is_loading(load.ticket) {
            return;
        }
        for row in rows {
            if !lane.fresh_backlog.is_settled(row.seq) {
                lane.hold_fresh(*row);
            }
        }
        let last = rows.last().filter(|_| rows.len() >= load.limit);
        lane.fresh_backlog.end(last.map(|row| row.seq.saturating_add(1)));
        self.note(load.lane, now);
    }

    /// Answers `Rows::Retries`.
    pub fn loaded_retries(&mut self, load: &Load, rows: &[RetryRow], now: Timestamp) {
        let room = self.caps.room(self.held);
        let horizon = now.saturating_add(self.caps.horizon_ms);
        let Some(lane) = self.lanes.get_mut(&load.lane) else { return };
        if !lane.retry_backlog.is_loading(load.ticket) {
            return;
        }
        let rest = take_in(lane, rows, horizon, room);
        let last = rows.last().filter(|_| rows.len() >= load.limit).map(|row| row.due);
        lane.retry_backlog.end(rest.or(last));
        self.note(load.lane, now);
    }

    /// The rows could not be read. They are wanted again after a pause.
    pub fn load_failed(&mut self, load: &Load, now: Timestamp) {
        let Some(lane) = self.lanes.get_mut(&load.lane) else { return };
        for backlog in [&mut lane.fresh_backlog, &mut lane.retry_backlog] {
            if backlog.is_loading(load.ticket) {
                backlog.fail(now);
            }
        }
        self.note(load.lane, now);
    }
}

/// Holds the rows up to the horizon, as far as there is room; gives the time of the first that stays outside.
fn take_in(lane: &mut Lane, rows: &[RetryRow], horizon: Timestamp, room: usize) -> Option<Timestamp> {
    for row in rows {
        if row.due > horizon || lane.retries_held() >= room {
            return Some(row.due);
        }
        if !lane.retry_backlog.is_settled(row.seq) {
            lane.hold_retry(*row);
        }
    }
    None
}

fn due(loads: &std::collections::BTreeSet<(Timestamp, LaneId)>, now: Timestamp) -> Option<LaneId> {
    loads.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
}
