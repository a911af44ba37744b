//! Reservations: a call with repeated conflicts reserves the keys that it read. Each plugin and tenant has at most one
//! reservation at a time, in the order of requests, so that no call waits for the slow calls of another tenant.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::OwnedMutexGuard;

use super::{Conflict, Shared};
use crate::changes::scope::Scope;
use crate::commit::overlay::ReservationId;

/// For each scope, the queue of the calls that hold or wait for its reservation. Empty queues are removed.
#[derive(Default)]
pub(super) struct ReservationQueues(parking_lot::Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<()>>>>);

/// Reserves the keys that a call read. No other call can write them until a run of the call is accepted, or until this
/// is dropped. Keys that later runs read are added, so that the call commits in the end.
pub struct Reservation {
    /// `None` after the release.
    slot: Option<QueueSlot>,
    id: ReservationId,
}

/// A position in the queue of one scope.
struct QueueSlot {
    shared: Arc<Shared>,
    scope: Scope,
    held: Option<OwnedMutexGuard<()>>,
}

impl Reservation {
    pub(super) async fn acquire(shared: Arc<Shared>, conflict: &Conflict) -> Reservation {
        static RESERVATIONS: AtomicU64 = AtomicU64::new(0);
        let slot = QueueSlot::acquire(shared, conflict.seen.scope.clone()).await;
        let id = ReservationId(RESERVATIONS.fetch_add(1, Relaxed));
        slot.shared.state.lock().overlay.reserve(id, conflict.seen.keys.iter().cloned());
        Reservation { slot: Some(slot), id }
    }

    pub(super) fn id(&self) -> ReservationId {
        self.id
    }

    pub(super) fn is_held(&self) -> bool {
        self.slot.is_some()
    }

    /// Releases the keys, so that the next call in the queue can reserve its own.
    pub(super) fn release(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let reserved = slot.shared.state.lock().overlay.release(self.id);
        slot.shared.released.notify_waiters();
        drop((reserved, slot));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

impl QueueSlot {
    async fn acquire(shared: Arc<Shared>, scope: Scope) -> QueueSlot {
        let queue = shared.reservation_queues.0.lock().entry(scope.clone()).or_default().clone();
        // Created before the wait, so that a call that is dropped while it waits removes an empty queue as well.
        let mut slot = QueueSlot { shared, scope, held: None };
        slot.held = Some(queue.lock_owned().await);
        slot
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.held = None;
        let mut queues = self.shared.reservation_queues.0.lock();
        // A single owner, which is the map: no call holds the reservation or waits for it.
        if queues.get(&self.scope).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            queues.remove(&self.scope);
        }
    }
}
