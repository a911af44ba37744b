//! The turn: a call that lost several times gets what it read to itself. One at a time, first come first served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::OwnedMutexGuard;

use super::{Conflict, Shared};
use crate::changes::overlay::TurnId;

/// While it lives, nobody else writes what its call read. What further runs read is added, so it wins in the end.
pub struct Turn {
    shared: Arc<Shared>,
    id: TurnId,
    _place: OwnedMutexGuard<()>,
}

impl Turn {
    pub(super) async fn take(shared: Arc<Shared>, lost: &Conflict) -> Turn {
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let place = shared.turns.clone().lock_owned().await;
        let id = TurnId(TURNS.fetch_add(1, Relaxed));
        shared.state.lock().overlay.reserve(id, lost.keys());
        Turn { shared, id, _place: place }
    }

    pub(super) fn id(&self) -> TurnId {
        self.id
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let reserved = self.shared.state.lock().overlay.release(self.id);
        self.shared.released.notify_waiters();
        drop(reserved);
    }
}
