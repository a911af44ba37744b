//! Room for large change sets: which of them are accepted next, and how many bytes of them there are.
//!
//! The queue keeps the order of acceptance, so a small change set that is accepted behind ten large ones waits for all of
//! them. A large one is therefore accepted only while the large ones that are accepted and not durable have at most
//! `LargeBounds::writing_bytes` together. Plugins and tenants take turns (`Fair`), and a call that holds a turn of the
//! committer goes first among those of its tenant. A small change set never waits here.
//!
//! Invariants: a call that holds room waits for no other call. All that wait or hold room have at most
//! `LargeBounds::kept_bytes` together, and each plugin and tenant leaves as much free as it has.

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
    /// Sum of the large change sets that are accepted and not durable. One that is larger than that is accepted alone.
    pub writing_bytes: usize,
    /// Sum of those and of the large change sets that wait for room.
    pub kept_bytes: usize,
}

impl Default for LargeBounds {
    fn default() -> LargeBounds {
        LargeBounds {
            from_bytes: LARGE_CHANGES_BYTES_MIN,
            writing_bytes: BATCH_BYTES_MAX,
            kept_bytes: LARGE_CHANGES_BYTES_MAX,
        }
    }
}

pub(super) struct Room {
    from_bytes: usize,
    kept: Arc<Kept>,
    writing: Arc<Fair<Scope>>,
}

/// What a large change set holds until it is durable or given up.
pub(super) struct RoomPermit {
    _kept: KeptBytes,
    _writing: Permit<Scope>,
}

impl Room {
    pub fn new(bounds: LargeBounds) -> Room {
        let LargeBounds { from_bytes, writing_bytes, kept_bytes } = bounds;
        let (capacity, any) = (writing_bytes as u64, usize::MAX);
        Room {
            from_bytes,
            kept: Arc::new(Kept { bytes_max: kept_bytes, sums: Mutex::default() }),
            writing: Fair::new(Bounds { capacity, share: capacity, waiting_max: any, waiting_each_max: any }),
        }
    }

    pub fn is_large(&self, bytes: usize) -> bool {
        bytes >= self.from_bytes
    }

    /// `None` at once where there are too many bytes already, and at the deadline.
    pub async fn take(
        &self,
        scope: &Scope,
        bytes: usize,
        has_turn: bool,
        deadline: Option<Instant>,
    ) -> Option<RoomPermit> {
        let kept = self.kept.add(scope, bytes)?;
        let rank = u64::from(!has_turn);
        let request = Request { amount: bytes as u64, rank, queueing: Queueing::Reserved };
        let writing = self.writing.acquire(scope, request, deadline).await.ok()?;
        Some(RoomPermit { _kept: kept, _writing: writing })
    }
}

/// Bytes of all large change sets that are in memory, and of each plugin and tenant.
struct Kept {
    bytes_max: usize,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    all: usize,
    each: HashMap<Scope, usize>,
}

/// Taken off the sums when it is dropped.
struct KeptBytes {
    kept: Arc<Kept>,
    scope: Scope,
    bytes: usize,
}

impl Kept {
    /// The rule of the queue: a plugin and tenant may have as much as is still free.
    fn add(self: &Arc<Self>, scope: &Scope, bytes: usize) -> Option<KeptBytes> {
        let mut sums = self.sums.lock();
        let own = sums.each.get(scope).copied().unwrap_or_default();
        if own >= self.bytes_max.saturating_sub(sums.all) {
            return None;
        }
        sums.all += bytes;
        sums.each.insert(scope.clone(), own + bytes);
        Some(KeptBytes { kept: self.clone(), scope: scope.clone(), bytes })
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        let mut sums = self.kept.sums.lock();
        sums.all -= self.bytes;
        if let Some(own) = sums.each.get_mut(&self.scope) {
            *own -= self.bytes;
            if *own == 0 {
                sums.each.remove(&self.scope);
            }
        }
    }
}
