//! Capacity for large change sets: limits their bytes, and decides which of them is accepted next.
//!
//! The queue keeps the order of acceptance, so a small change set that is accepted after ten large ones waits for all
//! of them. A large change set is therefore accepted only while the large change sets that are accepted and not durable
//! have at most `LargeBounds::writing_bytes` in total. `Fair` divides the capacity among plugins and tenants. A call
//! that holds a reservation of the committer precedes the other calls of its tenant. A small change set never waits
//! here.
//!
//! Invariants: a call that holds capacity waits for no other call. All change sets that wait for or hold capacity
//! exceed `LargeBounds::held_bytes` by at most one change set, and each plugin and tenant adds one only while it holds
//! less than is free.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::changes::scope::Scope;
use crate::fair::{Bounds, Fair, Permit, Queueing, Request};
use crate::limits::{BATCH_BYTES_MAX, LARGE_CHANGES_BYTES_MAX, LARGE_CHANGES_BYTES_MIN};

/// Sizes of change sets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct LargeBounds {
    /// Size from which a change set is large.
    pub from_bytes: usize,
    /// Limit of the large change sets that are accepted and not durable. A larger change set is accepted alone.
    pub writing_bytes: usize,
    /// Limit of the large change sets that wait for capacity, or are accepted and not durable. One change set may
    /// exceed it.
    pub held_bytes: usize,
}

impl Default for LargeBounds {
    fn default() -> LargeBounds {
        LargeBounds {
            from_bytes: LARGE_CHANGES_BYTES_MIN,
            writing_bytes: BATCH_BYTES_MAX,
            held_bytes: LARGE_CHANGES_BYTES_MAX,
        }
    }
}

pub(super) struct LargeCapacity {
    from_bytes: usize,
    held: Arc<HeldSum>,
    writing: Arc<Fair<Scope>>,
}

/// Permit of a large change set, held until it is durable or discarded.
pub(super) struct CapacityPermit {
    _held: HeldBytes,
    _writing: Permit<Scope>,
}

impl LargeCapacity {
    pub fn new(bounds: LargeBounds) -> LargeCapacity {
        let LargeBounds { from_bytes, writing_bytes, held_bytes } = bounds;
        let (capacity, any) = (writing_bytes as u64, usize::MAX);
        LargeCapacity {
            from_bytes,
            held: Arc::new(HeldSum { bytes_max: held_bytes, sums: Mutex::default() }),
            writing: Fair::new(Bounds { capacity, share: capacity, waiting_max: any, waiting_each_max: any }),
        }
    }

    pub fn is_large(&self, bytes: usize) -> bool {
        bytes >= self.from_bytes
    }

    /// Waits for capacity. Returns `None` at once if too many bytes are held already, and at the deadline.
    pub async fn acquire(
        &self,
        scope: &Scope,
        bytes: usize,
        has_reservation: bool,
        deadline: Option<Instant>,
    ) -> Option<CapacityPermit> {
        let held = self.held.add(scope, bytes)?;
        let rank = u64::from(!has_reservation);
        let request = Request { amount: bytes as u64, rank, queueing: Queueing::Reserved };
        let writing = self.writing.acquire(scope, request, deadline).await.ok()?;
        Some(CapacityPermit { _held: held, _writing: writing })
    }
}

/// Bytes of the large change sets in memory, in total and for each plugin and tenant.
struct HeldSum {
    bytes_max: usize,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    all: usize,
    each: HashMap<Scope, usize>,
}

/// Bytes of one change set. Subtracted from the sums on drop.
struct HeldBytes {
    held: Arc<HeldSum>,
    scope: Scope,
    bytes: usize,
}

impl HeldSum {
    /// Adds bytes if the plugin and tenant holds less than is still free. The queue has the same rule.
    fn add(self: &Arc<Self>, scope: &Scope, bytes: usize) -> Option<HeldBytes> {
        let mut sums = self.sums.lock();
        let own = sums.each.get(scope).copied().unwrap_or_default();
        if own >= self.bytes_max.saturating_sub(sums.all) {
            return None;
        }
        sums.all += bytes;
        sums.each.insert(scope.clone(), own + bytes);
        Some(HeldBytes { held: self.clone(), scope: scope.clone(), bytes })
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let mut sums = self.held.sums.lock();
        sums.all -= self.bytes;
        if let Some(own) = sums.each.get_mut(&self.scope) {
            *own -= self.bytes;
            if *own == 0 {
                sums.each.remove(&self.scope);
            }
        }
    }
}
