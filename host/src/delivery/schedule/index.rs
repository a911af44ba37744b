//! Where the scheduler has noted each lane: its turn in either class, when it wakes, when it wants rows.
//!
//! Invariant: after every fact about a lane its notes are what its state asks for, so that nothing ever looks through all
//! lanes. Keeping them is O(log n).

use std::collections::BTreeSet;

use super::{
    Scheduler,
    backlog::Backlog,
    facts::{Caps, LaneId, TenantId},
    lane::{Class, Lane, State},
    slots::Slots,
};
use crate::clock::Timestamp;

/// The notes that there are of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    first_turn: Option<u64>,
    retry_turn: Option<u64>,
    wakes_at: Option<Timestamp>,
    loads_fresh_at: Option<Timestamp>,
    loads_retries_at: Option<Timestamp>,
    held: usize,
}

/// What a lane asks for now.
#[derive(Default)]
struct Agenda {
    first: bool,
    retry: bool,
    wakes_at: Option<Timestamp>,
    loads_fresh_at: Option<Timestamp>,
    loads_retries_at: Option<Timestamp>,
}

impl Place {
    /// The slots gave the lane its turn.
    pub fn lose_turn(&mut self, class: Class) {
        match class {
            Class::First => self.first_turn = None,
            Class::Retry => self.retry_turn = None,
        }
    }
}

impl Scheduler {
    /// Brings the notes of a lane up to date. Every change of a lane ends with this.
    pub(super) fn note(&mut self, id: LaneId, now: Timestamp) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let room = self.caps.room(self.held);
        let agenda = agenda(lane, &self.caps, room, now);
        let mut place = lane.place;
        place.first_turn = turn(&mut self.first, agenda.first, place.first_turn, lane.tenant, id);
        place.retry_turn = turn(&mut self.retries, agenda.retry, place.retry_turn, lane.tenant, id);
        place.wakes_at = alarm(&mut self.wakes, id, place.wakes_at, agenda.wakes_at);
        place.loads_fresh_at = alarm(&mut self.fresh_loads, id, place.loads_fresh_at, agenda.loads_fresh_at);
        place.loads_retries_at = alarm(&mut self.retry_loads, id, place.loads_retries_at, agenda.loads_retries_at);
        self.held = self.held + lane.held() - place.held;
        place.held = lane.held();
        lane.place = place;
    }
}

impl Caps {
    /// How many fresh deliveries, and how many that wait for a retry, one lane may have in memory now.
    pub(super) fn room(&self, held: usize) -> usize {
        if held < self.held_max { self.lane_held_max.max(1) } else { self.lane_held_min.max(1) }
    }
}

fn agenda(lane: &mut Lane, caps: &Caps, room: usize, now: Timestamp) -> Agenda {
    if lane.state != State::Enabled {
        return Agenda::default();
    }
    let readiness = lane.readiness(now);
    // Early enough that they are in memory when they are due.
    let retries_from = lane.retry_backlog.from().unwrap_or(0).saturating_sub(caps.horizon_ms / 2);
    let is_now = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    Agenda {
        first: is_now(readiness.first),
        retry: is_now(readiness.retry),
        wakes_at: readiness.first.into_iter().chain(readiness.retry).filter(|at| *at > now).min(),
        loads_fresh_at: loads_at(&lane.fresh_backlog, lane.fresh_held(), room),
        loads_retries_at: loads_at(&lane.retry_backlog, lane.retries_held(), room).map(|at| at.max(retries_from)),
    }
}

/// Rows are wanted when half of the room is free.
fn loads_at(backlog: &Backlog, held: usize, room: usize) -> Option<Timestamp> {
    backlog.loads_from().filter(|_| held <= room / 2)
}

fn turn(slots: &mut Slots, wants: bool, has: Option<u64>, tenant: TenantId, id: LaneId) -> Option<u64> {
    match has {
        None if wants => Some(slots.queue(tenant, id)),
        Some(turn) if !wants => {
            slots.unqueue(tenant, turn);
            None
        }
        same => same,
    }
}

fn alarm(
    alarms: &mut BTreeSet<(Timestamp, LaneId)>,
    id: LaneId,
    old: Option<Timestamp>,
    new: Option<Timestamp>,
) -> Option<Timestamp> {
    if old != new {
        if let Some(at) = old {
            alarms.remove(&(at, id));
        }
        if let Some(at) = new {
            alarms.insert((at, id));
        }
    }
    new
}
