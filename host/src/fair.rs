//! A counting limit that parties share fairly: calls, cores, bytes of memory.
//!
//! Like a semaphore, but each permit belongs to a party (a tenant, or an address of anonymous callers). A party may
//! hold at most `share` of the limit and fill only part of the queue. Freed capacity goes to the waiting party that has
//! used the least of it since parties began to wait. Within one party the lowest rank comes first, then the oldest
//! request.
//!
//! `state` implements the order of grants. `cores` applies it to processor time, which `slices` measures.
//!
//! Invariants: `used` never exceeds `capacity`. A party that holds nothing is limited only by `capacity`, so no share
//! is too small for one request. Every grant advances the virtual time, so each waiter is overtaken a bounded number of
//! times and then stays at the front of the queue until it fits. Neither large requests nor parties in debt starve.

use std::{hash::Hash, num::NonZero, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use state::{QueuePosition, State};

pub mod cores;
pub mod pace;
mod slices;
mod state;
#[cfg(test)]
mod tests;

/// Returns the number of cores that the process may use, or 1 if the system does not report it.
pub fn machine_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Identifies a party.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Key for K {}

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum sum of all permits.
    pub capacity: u64,
    /// Maximum sum of the permits of one party. The only permit of a party may exceed it.
    pub share: u64,
    /// Maximum number of waiting requests of all parties.
    pub waiting_max: usize,
    /// Maximum number of waiting requests of one party.
    pub waiting_each_max: usize,
}

/// Why no permit was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    #[error("the queue is full")]
    QueueFull,
    #[error("timed out waiting for a permit")]
    TimedOut,
}

/// A request for a permit.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub amount: u64,
    /// Within a party, lower ranks go first.
    pub rank: u64,
    pub queueing: Queueing,
}

/// Determines whether a request counts against the bounds of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    Bounded,
    /// Never rejected for a full queue, because the work was admitted before and must finish.
    Reserved,
}

impl Request {
    pub fn of(amount: u64) -> Request {
        Request { amount, rank: 0, queueing: Queueing::Bounded }
    }
}

pub struct Fair<K: Key> {
    bounds: Bounds,
    state: Mutex<State<K, oneshot::Sender<Permit<K>>>>,
}

/// A part of the limit, released on drop.
pub struct Permit<K: Key> {
    fair: Arc<Fair<K>>,
    key: K,
    amount: u64,
}

impl<K: Key> Fair<K> {
    pub fn new(bounds: Bounds) -> Arc<Fair<K>> {
        Arc::new(Fair { bounds, state: Mutex::new(State::new()) })
    }

    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Returns the sum of all held permits.
    pub fn used(&self) -> u64 {
        self.state.lock().used
    }

    pub fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// Acquires a permit. Waits in the fair queue until the deadline, or without a limit if there is none.
    ///
    /// Dropping the future leaves the queue. A request for more than the capacity gets all of it. A request for nothing
    /// is granted at once.
    pub async fn acquire(
        self: &Arc<Self>,
        key: &K,
        request: Request,
        until: impl Into<Option<Instant>>,
    ) -> Result<Permit<K>, AcquireError> {
        let request = Request { amount: request.amount.min(self.bounds.capacity), ..request };
        let (waiting, granted) = {
            let mut state = self.state.lock();
            if request.amount == 0 || state.grant_at_once(key, request.amount, &self.bounds) {
                drop(state);
                return Ok(self.permit(key.clone(), request.amount));
            }
            let (granted, receiver) = oneshot::channel();
            let position = state.enqueue(key, request, granted, &self.bounds)?;
            (Waiting { fair: self, key, position }, receiver)
        };
        // The request may be the first in the queue and fit.
        self.serve_queue(|_| ());
        let granted = match until.into() {
            Some(until) => timeout_at(until, granted).await.ok(),
            None => Some(granted.await),
        };
        drop(waiting);
        match granted {
            Some(Ok(permit)) => Ok(permit),
            _ => Err(AcquireError::TimedOut),
        }
    }

    fn permit(self: &Arc<Self>, key: K, amount: u64) -> Permit<K> {
        Permit { fair: Arc::clone(self), key, amount }
    }

    fn release(self: &Arc<Self>, key: &K, amount: u64) {
        self.serve_queue(|state| state.release(key, amount, &self.bounds));
    }

    /// Changes the state and grants what fits afterwards, in the order of the queue. Wakes waiters without holding the
    /// lock, because a permit whose waiter is gone is released at once, which takes the lock.
    fn serve_queue(self: &Arc<Self>, change: impl FnOnce(&mut State<K, oneshot::Sender<Permit<K>>>)) {
        let mut next = {
            let mut state = self.state.lock();
            change(&mut state);
            state.grant_next(&self.bounds)
        };
        while let Some((key, waiter)) = next {
            let permit = self.permit(key, waiter.amount);
            let _unless_gone = waiter.granted.send(permit);
            next = self.state.lock().grant_next(&self.bounds);
        }
    }
}

/// A position in the queue. Dropping it leaves the queue, including when the caller is cancelled.
struct Waiting<'a, K: Key> {
    fair: &'a Arc<Fair<K>>,
    key: &'a K,
    position: QueuePosition,
}

impl<K: Key> Drop for Waiting<'_, K> {
    fn drop(&mut self) {
        self.fair.serve_queue(|state| state.leave(self.key, self.position, &self.fair.bounds));
    }
}

impl<K: Key> Permit<K> {
    pub fn amount(&self) -> u64 {
        self.amount
    }

    pub fn key(&self) -> &K {
        &self.key
    }

    /// Grows the permit without waiting, ahead of waiting requests. Returns `false` without a change if the capacity or
    /// the share of the party does not suffice. The share does not limit the only permit of a party.
    pub fn grow_to(&mut self, amount: u64) -> bool {
        let Some(more) = amount.checked_sub(self.amount).filter(|more| *more > 0) else { return true };
        let mut grows = false;
        self.fair.serve_queue(|state| grows = state.grow(&self.key, self.amount, more, &self.fair.bounds));
        if grows {
            self.amount = amount;
        }
        grows
    }

    /// Moves `amount` to a new permit, or the whole permit if it is smaller.
    pub fn split(&mut self, amount: u64) -> Permit<K> {
        let amount = amount.min(self.amount);
        self.amount -= amount;
        self.fair.permit(self.key.clone(), amount)
    }

    /// Releases all but `amount`.
    pub fn shrink_to(&mut self, amount: u64) {
        if let Some(less) = self.amount.checked_sub(amount).filter(|less| *less > 0) {
            self.amount = amount;
            self.fair.release(&self.key, less);
        }
    }
}

impl<K: Key> Drop for Permit<K> {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.fair.release(&self.key, self.amount);
        }
    }
}
