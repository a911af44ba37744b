//! Who may start next: the slots of one class of attempts, shared between tenants, then between the lanes of a tenant.
//!
//! Round robin on both levels: who had a turn goes to the end. Invariants: a tenant has a turn exactly while one of its
//! lanes waits and a slot of its share is free; never more attempts than slots, of all and of each tenant. Every step is
//! O(log n); nothing is searched.

use std::collections::{BTreeMap, HashMap};

use super::facts::{LaneId, TenantId};

#[derive(Debug)]
pub(super) struct Slots {
    max: usize,
    tenant_max: usize,
    running: usize,
    /// Turns are numbers that only grow, so that the lowest has waited longest.
    next_turn: u64,
    turns: BTreeMap<u64, TenantId>,
    shares: HashMap<TenantId, Share>,
}

/// What one tenant has of the slots. There only while it has something.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    turn: Option<u64>,
    lanes: BTreeMap<u64, LaneId>,
}

impl Slots {
    pub fn new(max: usize, tenant_max: usize) -> Self {
        Slots { max, tenant_max, running: 0, next_turn: 0, turns: BTreeMap::new(), shares: HashMap::new() }
    }

    pub fn running(&self) -> usize {
        self.running
    }

    /// The lane waits for a slot; what comes back is needed to take it out again. The caller queues a lane once only.
    pub fn queue(&mut self, tenant: TenantId, lane: LaneId) -> u64 {
        let turn = self.draw_turn();
        self.shares.entry(tenant).or_default().lanes.insert(turn, lane);
        self.seat(tenant);
        turn
    }

    pub fn unqueue(&mut self, tenant: TenantId, turn: u64) {
        if let Some(share) = self.shares.get_mut(&tenant) {
            share.lanes.remove(&turn);
            self.seat(tenant);
        }
    }

    /// Gives a slot to the next lane, which is queued no longer.
    pub fn begin(&mut self) -> Option<LaneId> {
        if self.running >= self.max {
            return None;
        }
        let (_, tenant) = self.turns.pop_first()?;
        let share = self.shares.get_mut(&tenant)?;
        share.turn = None;
        let (_, lane) = share.lanes.pop_first()?;
        share.running += 1;
        self.running += 1;
        self.seat(tenant);
        Some(lane)
    }

    pub fn end(&mut self, tenant: TenantId) {
        if let Some(share) = self.shares.get_mut(&tenant) {
            share.running = share.running.saturating_sub(1);
            self.running = self.running.saturating_sub(1);
            self.seat(tenant);
        }
    }

    fn seat(&mut self, tenant: TenantId) {
        let turn = self.draw_turn();
        let Some(share) = self.shares.get_mut(&tenant) else { return };
        let waits = !share.lanes.is_empty() && share.running < self.tenant_max;
        match share.turn {
            None if waits => {
                self.turns.insert(turn, tenant);
                share.turn = Some(turn);
            }
            Some(old) if !waits => {
                self.turns.remove(&old);
                share.turn = None;
            }
            _ => {}
        }
        if share.lanes.is_empty() && share.running == 0 {
            self.shares.remove(&tenant);
        }
    }

    fn draw_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }
}
