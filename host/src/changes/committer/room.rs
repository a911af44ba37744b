//! Room for large change sets: which of them are accepted next, and how many bytes of them there are.
//!
//! The queue keeps the order of acceptance, so a small change set that is accepted behind ten large ones waits for all of
//! them. A large one is therefore accepted only while large ones that are accepted and not durable have at most
//! `LargeBounds::writing_bytes` together, tenants in turn (`Fair`). A small one never waits here: at most one batch of large
//! ones is ahead of it.
//!
//! Invariants: nobody who holds room waits for another call. All that wait or hold room have at most `LargeBounds::kept_bytes`
//! together, and one plugin and tenant half of it.

use std::sync::Arc;

use tokio::time::Instant;

use super::CommitError;
use crate::changes::scope::Scope;
use crate::fair::{Bounds, Fair, Permit, Queueing, Request};
use crate::limits::{BATCH_BYTES_MAX, COMMIT_QUEUE_BYTES_MAX, LARGE_CHANGES_BYTES_MIN};

/// Sizes of change sets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct LargeBounds {
    /// A change set of so many is large.
    pub from_bytes: usize,
    /// Accepted and not durable. A change set that is larger is accepted alone.
    pub writing_bytes: usize,
    /// Waiting, or accepted and not durable.
    pub kept_bytes: usize,
}

impl Default for LargeBounds {
    fn default() -> LargeBounds {
        LargeBounds {
            from_bytes: LARGE_CHANGES_BYTES_MIN,
            writing_bytes: BATCH_BYTES_MAX,
            kept_bytes: COMMIT_QUEUE_BYTES_MAX,
        }
    }
}

pub(super) struct Room {
    from_bytes: usize,
    kept: Arc<Fair<Scope>>,
    writing: Arc<Fair<Scope>>,
}

/// What a large change set holds until it is durable or given up.
pub(super) struct RoomPermit {
    _kept: Permit<Scope>,
    _writing: Permit<Scope>,
}

impl Room {
    pub fn new(bounds: LargeBounds) -> Room {
        let (kept, writing) = (bounds.kept_bytes as u64, bounds.writing_bytes as u64);
        let fair = |capacity, share, waiting_max| {
            Fair::new(Bounds { capacity, share, waiting_max, waiting_each_max: waiting_max })
        };
        Room {
            from_bytes: bounds.from_bytes,
            kept: fair(kept, kept / 2, 0),
            writing: fair(writing, writing, usize::MAX),
        }
    }

    /// `None` for a small change set. `Busy` at once where there are too many bytes already; `Late` from the deadline on.
    pub async fn take(
        &self,
        scope: &Scope,
        bytes: usize,
        deadline: Option<Instant>,
    ) -> Result<Option<RoomPermit>, CommitError> {
        if bytes < self.from_bytes {
            return Ok(None);
        }
        let amount = Request::of(bytes as u64);
        let kept = self.kept.acquire(scope, amount, Instant::now()).await.map_err(|_full| CommitError::Busy)?;
        let request = Request { queueing: Queueing::Reserved, ..amount };
        let writing = self.writing.acquire(scope, request, deadline).await.map_err(|_late| CommitError::Late)?;
        Ok(Some(RoomPermit { _kept: kept, _writing: writing }))
    }
}
