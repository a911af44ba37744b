//! A counting limit that its users share fairly: calls, cores, bytes of memory.
//!
//! Like a semaphore, but each permit belongs to a party (a tenant, or an address of anonymous callers). A party may hold at
//! most `share` of the limit, and may fill only part of the queue. Freed capacity goes to the waiting party that has used
//! the least of it since parties began to wait, within one party to the lowest rank, then to the oldest.
//!
//! `state` is the order of grants. `cores` applies it to processor time, which `slices` measures.
//!
//! Invariants: `used` never exceeds `capacity`. A party that holds nothing is only limited by `capacity`, so no share is too
//! small for one request. Every grant moves the virtual time forward, so each waiter is overtaken a bounded number of times,
//! and then keeps the front of the line until it fits: neither large requests nor parties in debt starve.

use std::{hash::Hash, num::NonZero, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use state::{Position, State};

pub mod cores;
pub mod pace;
mod slices;
mod state;
#[cfg(test)]
mod tests;

/// Cores that the process may use; 1 if the system does not say.
pub fn machine_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// What identifies a party.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Key for K {}

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The sum of all permits.
    pub capacity: u64,
    /// The sum of the permits of one party.
    pub share: u64,
    /// Requests that wait, of all parties and of one.
    pub waiting_max: usize,
    pub waiting_each_max: usize,
}

/// Why a permit was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    #[error("too many requests wait already")]
    Full,
    #[error("the time to wait is over")]
    Late,
}

/// What is requested.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub amount: u64,
    /// Within a party, lower ranks go first.
    pub rank: u64,
    pub queueing: Queueing,
}

/// Whether a request counts against the bounds of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    Bounded,
    /// It was admitted before and has to be finished.
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

/// Part of the limit; released when it is dropped.
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

    /// The sum of all permits that are held.
    pub fn used(&self) -> u64 {
        self.state.lock().used
    }

    pub fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// Waits in the fair queue until the deadline, without one for as long as it takes. Dropping the future leaves the queue.
    /// More than the capacity is never granted: such a request gets all of it. A request for nothing is granted at once.
    pub async fn acquire(
        self: &Arc<Self>,
        key: &K,
        request: Request,
        until: impl Into<Option<Instant>>,
    ) -> Result<Permit<K>, NotGranted> {
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
        // It may be the first in line, and fit.
        self.serve_line(|_| ());
        let granted = match until.into() {
            Some(until) => timeout_at(until, granted).await.ok(),
            None => Some(granted.await),
        };
        drop(waiting);
        match granted {
            Some(Ok(permit)) => Ok(permit),
            _ => Err(NotGranted::Late),
        }
    }

    fn permit(self: &Arc<Self>, key: K, amount: u64) -> Permit<K> {
        Permit { fair: Arc::clone(self), key, amount }
    }

    fn release(self: &Arc<Self>, key: &K, amount: u64) {
        self.serve_line(|state| state.release(key, amount, &self.bounds));
    }

    /// Changes the state and grants what fits then, in the order of the line. Waiters are woken without the lock: a permit
    /// that nobody receives any more is given back at once.
    fn serve_line(self: &Arc<Self>, change: impl FnOnce(&mut State<K, oneshot::Sender<Permit<K>>>)) {
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

/// A place in the queue; left when dropped, also when the caller goes away.
struct Waiting<'a, K: Key> {
    fair: &'a Arc<Fair<K>>,
    key: &'a K,
    position: Position,
}

impl<K: Key> Drop for Waiting<'_, K> {
    fn drop(&mut self) {
        self.fair.serve_line(|state| state.leave(self.key, self.position, &self.fair.bounds));
    }
}

impl<K: Key> Permit<K> {
    pub fn amount(&self) -> u64 {
        self.amount
    }

    pub fn key(&self) -> &K {
        &self.key
    }

    /// Takes more without waiting: what runs goes before what waits. `false`: there is no room, and nothing changes.
    pub fn grow_to(&mut self, amount: u64) -> bool {
        let Some(more) = amount.checked_sub(self.amount).filter(|more| *more > 0) else { return true };
        let mut grows = false;
        self.fair.serve_line(|state| grows = state.grow(&self.key, self.amount, more, &self.fair.bounds));
        if grows {
            self.amount = amount;
        }
        grows
    }

    /// Moves so much of it, or all of it, to a permit of its own.
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
