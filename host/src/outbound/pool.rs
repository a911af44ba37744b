//! Connections that wait for the next call to the same place.
//!
//! Owns how many there are and how long they wait. Those that waited longest go first; nothing that the other side has
//! closed, that is too old, or whose address is not allowed any more is given out.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{address::AddressRule, exchange::Connection};
use crate::limits::{OUTBOUND_IDLE_LOOK_MS, OUTBOUND_IDLE_MAX, OUTBOUND_IDLE_MS, OUTBOUND_IDLE_PER_PLACE_MAX};

pub(super) struct Pool(Mutex<Idle>);

struct Idle {
    places: HashMap<Arc<str>, Vec<Waiting>>,
    count: usize,
    looked_at: Instant,
}

struct Waiting {
    connection: Connection,
    since: Instant,
}

impl Pool {
    pub(super) fn new() -> Pool {
        Pool(Mutex::new(Idle { places: HashMap::new(), count: 0, looked_at: Instant::now() }))
    }

    /// A connection that can be used at once: the one that was used last.
    pub(super) fn take(&self, place: &str, rule: &AddressRule) -> Option<Connection> {
        loop {
            let mut waiting = self.0.lock().pop(place)?;
            if !waiting.is_old() && waiting.connection.is_ready() && rule.judge(waiting.connection.peer()).is_ok() {
                return Some(waiting.connection);
            }
        }
    }

    /// Keeps a connection that is ready; one too many is closed.
    pub(super) fn put(&self, place: &Arc<str>, connection: Connection) {
        let mut idle = self.0.lock();
        if idle.looked_at.elapsed() >= Duration::from_millis(OUTBOUND_IDLE_LOOK_MS) {
            idle.close_old();
        }
        idle.push(place, Waiting { connection, since: Instant::now() });
    }

    pub(super) fn close_old(&self) {
        self.0.lock().close_old();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().count
    }
}

impl Idle {
    fn pop(&mut self, place: &str) -> Option<Waiting> {
        let waiting = self.places.get_mut(place)?.pop()?;
        self.count -= 1;
        Some(waiting)
    }

    fn push(&mut self, place: &Arc<str>, waiting: Waiting) {
        if self.count >= OUTBOUND_IDLE_MAX {
            return;
        }
        let of_place = self.places.entry(Arc::clone(place)).or_default();
        if of_place.len() < OUTBOUND_IDLE_PER_PLACE_MAX {
            of_place.push(waiting);
            self.count += 1;
        }
    }

    fn close_old(&mut self) {
        self.places.retain(|_, of_place| {
            of_place.retain_mut(|waiting| !waiting.is_old() && waiting.connection.is_ready());
            !of_place.is_empty()
        });
        self.count = self.places.values().map(Vec::len).sum();
        self.looked_at = Instant::now();
    }
}

impl Waiting {
    fn is_old(&self) -> bool {
        self.since.elapsed() >= Duration::from_millis(OUTBOUND_IDLE_MS)
    }
}
