//! Idle connections, kept for the next call to the same origin.
//!
//! Owns their number and age limits. The connection that was used last is reused first. A connection is not reused if
//! the server has closed it, if it was idle for too long, or if its address is no longer allowed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{address::AddressRule, exchange::Connection};
use crate::limits::{OUTBOUND_IDLE_CHECK_MS, OUTBOUND_IDLE_MAX, OUTBOUND_IDLE_MS, OUTBOUND_IDLE_PER_ORIGIN_MAX};

pub(super) struct Pool(Mutex<Idle>);

struct Idle {
    origins: HashMap<Arc<str>, Vec<IdleConnection>>,
    count: usize,
    checked_at: Instant,
}

struct IdleConnection {
    connection: Connection,
    since: Instant,
}

impl Pool {
    pub(super) fn new() -> Pool {
        Pool(Mutex::new(Idle { origins: HashMap::new(), count: 0, checked_at: Instant::now() }))
    }

    /// Takes the connection that was used last, if it can be reused.
    pub(super) fn take(&self, origin: &str, rule: &AddressRule) -> Option<Connection> {
        loop {
            let mut idle = self.0.lock().pop(origin)?;
            if !idle.is_old() && idle.connection.is_ready() && rule.check(idle.connection.peer()).is_ok() {
                return Some(idle.connection);
            }
        }
    }

    /// Keeps a connection that is ready, or closes it if there are too many.
    pub(super) fn put(&self, origin: &Arc<str>, connection: Connection) {
        let mut idle = self.0.lock();
        if idle.checked_at.elapsed() >= Duration::from_millis(OUTBOUND_IDLE_CHECK_MS) {
            idle.close_old();
        }
        idle.push(origin, IdleConnection { connection, since: Instant::now() });
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
    fn pop(&mut self, origin: &str) -> Option<IdleConnection> {
        let connection = self.origins.get_mut(origin)?.pop()?;
        self.count -= 1;
        Some(connection)
    }

    fn push(&mut self, origin: &Arc<str>, connection: IdleConnection) {
        if self.count >= OUTBOUND_IDLE_MAX {
            return;
        }
        let connections = self.origins.entry(Arc::clone(origin)).or_default();
        if connections.len() < OUTBOUND_IDLE_PER_ORIGIN_MAX {
            connections.push(connection);
            self.count += 1;
        }
    }

    fn close_old(&mut self) {
        self.origins.retain(|_, connections| {
            connections.retain_mut(|idle| !idle.is_old() && idle.connection.is_ready());
            !connections.is_empty()
        });
        self.count = self.origins.values().map(Vec::len).sum();
        self.checked_at = Instant::now();
    }
}

impl IdleConnection {
    fn is_old(&self) -> bool {
        self.since.elapsed() >= Duration::from_millis(OUTBOUND_IDLE_MS)
    }
}
