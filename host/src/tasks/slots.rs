//! How many outgoing calls of effects are under way at once: on the whole host, and of one plugin and tenant; and how many
//! tasks of one plugin and tenant run.
//!
//! The first call of a line has slots of its own: destinations that hang leave that of another its turn.

use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use crate::limits::{TENANT_FIRST_EFFECTS_RUNNING_MAX, TENANT_FURTHER_EFFECTS_RUNNING_MAX, TENANT_TASKS_RUNNING_MAX};

/// Which slots a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Nothing else of its line was under way.
    First,
    Further,
}

pub(super) struct Slots {
    first: Semaphore,
    further: Semaphore,
}

/// Of one plugin and tenant.
pub(super) struct TenantSlots {
    pub effects: Slots,
    /// Runs of tasks.
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

    /// Returns a slot if one is free and no other call waits for it.
    pub fn try_acquire(&self, rank: Rank) -> Option<SemaphorePermit<'_>> {
        match rank {
            Rank::First => self.first.try_acquire().ok(),
            Rank::Further => self.further.try_acquire().ok(),
        }
    }

    /// Until there is one; its turn comes in the order of asking.
    pub async fn acquire(&self, rank: Rank) -> Result<SemaphorePermit<'_>, AcquireError> {
        match rank {
            Rank::First => self.first.acquire().await,
            Rank::Further => self.further.acquire().await,
        }
    }
}
