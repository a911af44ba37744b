//! Limits on concurrent outgoing calls of effects, for the whole host and for each plugin and tenant. Limits on
//! concurrent task runs of each plugin and tenant.
//!
//! The first call of a queue has slots of its own, so that a destination that hangs does not block the first call to
//! another destination.

use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use crate::limits::{TENANT_FIRST_EFFECTS_RUNNING_MAX, TENANT_FURTHER_EFFECTS_RUNNING_MAX, TENANT_TASKS_RUNNING_MAX};

/// Selects the slots that a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// No other call of its queue is under way.
    First,
    Further,
}

pub(super) struct Slots {
    first: Semaphore,
    further: Semaphore,
}

/// Slots of one plugin and tenant.
pub(super) struct TenantSlots {
    pub effects: Slots,
    /// Task runs.
    pub tasks: Semaphore,
}

impl Default for TenantSlots {
    fn default() -> TenantSlots {
        TenantSlots {
            effects: Slots::new(TENANT_FIRST_EFFECTS_RUNNING_MAX, TENANT_FURTHER_EFFECTS_RUNNING_MAX),
            tasks: Semaphore::new(TENANT_TASKS_RUNNING_MAX),
        }
    }
}

impl Slots {
    pub fn new(first: usize, further: usize) -> Slots {
        Slots { first: Semaphore::new(first), further: Semaphore::new(further) }
    }

    /// Returns a slot if one is free and no other call is waiting for it.
    pub fn try_acquire(&self, rank: Rank) -> Option<SemaphorePermit<'_>> {
        match rank {
            Rank::First => self.first.try_acquire().ok(),
            Rank::Further => self.further.try_acquire().ok(),
        }
    }

    /// Waits for a slot. Waiting calls get slots in the order in which they began to wait.
    pub async fn acquire(&self, rank: Rank) -> Result<SemaphorePermit<'_>, AcquireError> {
        match rank {
            Rank::First => self.first.acquire().await,
            Rank::Further => self.further.acquire().await,
        }
    }
}
