//! The slots of one class of attempts, shared between tenants, then between the queues of a tenant.
//!
//! Round robin on both levels: after a start the tenant and the queue go to the end. Invariants: a tenant has a
//! position exactly while one of its queues waits and its share has a free slot. Running attempts never exceed the
//! slots, neither in total nor of one tenant. Every step is O(log n), without a linear search.

use std::collections::{BTreeMap, HashMap};

use super::values::TenantId;
use crate::changes::endpoint::QueueId;

#[derive(Debug)]
pub(super) struct Slots {
    max: usize,
    tenant_max: usize,
    running: usize,
    /// Positions only grow, so the lowest position has waited longest.
    last_position: u64,
    waiting_tenants: BTreeMap<u64, TenantId>,
    shares: HashMap<TenantId, Share>,
}

/// The waiting queues and running attempts of one tenant. Removed when the tenant has neither.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    position: Option<u64>,
    queues: BTreeMap<u64, QueueId>,
}

impl Slots {
    pub fn new(max: usize, tenant_max: usize) -> Self {
        Slots {
            max,
            tenant_max,
            running: 0,
            last_position: 0,
            waiting_tenants: BTreeMap::new(),
            shares: HashMap::new(),
        }
    }

    pub fn running(&self) -> usize {
        self.running
    }

    /// Adds a queue that waits for a slot and returns its position, which `dequeue` requires. The caller must not add a
    /// queue twice.
    pub fn enqueue(&mut self, tenant: TenantId, queue: QueueId) -> u64 {
        let position = self.new_position();
        self.shares.entry(tenant).or_default().queues.insert(position, queue);
        self.update_tenant(tenant);
        position
    }

    pub fn dequeue(&mut self, tenant: TenantId, position: u64) {
        if let Some(share) = self.shares.get_mut(&tenant) {
            share.queues.remove(&position);
            self.update_tenant(tenant);
        }
    }

    /// Assigns a slot to the next queue, removes its position, and returns the queue. Returns `None` if no slot is free
    /// or no queue waits.
    pub fn begin(&mut self) -> Option<QueueId> {
        if self.running >= self.max {
            return None;
        }
        let (_, tenant) = self.waiting_tenants.pop_first()?;
        let share = self.shares.get_mut(&tenant)?;
        share.position = None;
        let (_, queue) = share.queues.pop_first()?;
        share.running += 1;
        self.running += 1;
        self.update_tenant(tenant);
        Some(queue)
    }

    pub fn end(&mut self, tenant: TenantId) {
        if let Some(share) = self.shares.get_mut(&tenant) {
            share.running = share.running.saturating_sub(1);
            self.running = self.running.saturating_sub(1);
            self.update_tenant(tenant);
        }
    }

    fn update_tenant(&mut self, tenant: TenantId) {
        let position = self.new_position();
        let Some(share) = self.shares.get_mut(&tenant) else { return };
        let waits = !share.queues.is_empty() && share.running < self.tenant_max;
        match share.position {
            None if waits => {
                self.waiting_tenants.insert(position, tenant);
                share.position = Some(position);
            }
            Some(old) if !waits => {
                self.waiting_tenants.remove(&old);
                share.position = None;
            }
            _ => {}
        }
        if share.queues.is_empty() && share.running == 0 {
            self.shares.remove(&tenant);
        }
    }

    fn new_position(&mut self) -> u64 {
        self.last_position += 1;
        self.last_position
    }
}
