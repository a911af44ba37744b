//! The turn: a call that lost several times gets what it read to itself. One at a time for each plugin and tenant, first
//! come first served: nobody waits for the slow calls of another tenant.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::OwnedMutexGuard;

use super::{Conflict, Shared};
use crate::changes::scope::Scope;
use crate::commit::overlay::TurnId;

/// Who is in line, by scope. A line that nobody stands in is forgotten.
#[derive(Default)]
pub(super) struct Lines(parking_lot::Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<()>>>>);

/// Until one of the runs of its call is accepted, or it is dropped, no other call writes what its call read. What further runs
/// read is added, so it wins in the end.
pub struct Turn {
    /// `None` once it has ended.
    place: Option<Place>,
    id: TurnId,
}

/// A place in the line of one scope.
struct Place {
    shared: Arc<Shared>,
    scope: Scope,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turn {
    pub(super) async fn take(shared: Arc<Shared>, lost: &Conflict) -> Turn {
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let place = Place::take(shared, lost.seen.scope.clone()).await;
        let id = TurnId(TURNS.fetch_add(1, Relaxed));
        place.shared.state.lock().overlay.reserve(id, lost.seen.keys.iter().cloned());
        Turn { place: Some(place), id }
    }

    pub(super) fn id(&self) -> TurnId {
        self.id
    }

    pub(super) fn is_held(&self) -> bool {
        self.place.is_some()
    }

    /// Releases the reservation and lets the next in line have its turn.
    pub(super) fn end(&mut self) {
        let Some(place) = self.place.take() else { return };
        let reserved = place.shared.state.lock().overlay.release(self.id);
        place.shared.released.notify_waiters();
        drop((reserved, place));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
    }
}

impl Place {
    async fn take(shared: Arc<Shared>, scope: Scope) -> Place {
        let line = shared.lines.0.lock().entry(scope.clone()).or_default().clone();
        // Made before the wait: whoever goes away while waiting cleans up as well.
        let mut place = Place { shared, scope, held: None };
        place.held = Some(line.lock_owned().await);
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.held = None;
        let mut lines = self.shared.lines.0.lock();
        // Only the map holds it: nobody has the turn and nobody waits.
        if lines.get(&self.scope).is_some_and(|line| Arc::strong_count(line) == 1) {
            lines.remove(&self.scope);
        }
    }
}
