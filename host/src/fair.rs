//! A counting limit that its users share fairly: calls, cores, bytes of memory.
//!
//! Like a semaphore, but each permit belongs to a party (a tenant, or an address of anonymous callers). A party may hold at
//! most `share` of the limit, and may fill only part of the queue. Freed capacity goes to the waiting party that has used
//! the least lately (virtual time: amount times microseconds held), within one party to the lowest rank, then to the oldest.
//!
//! `cores` applies it to processor time.
//!
//! Invariants: `used` never exceeds `capacity`; a party that holds nothing is only limited by `capacity`, so no share is too
//! small for one request; a waiter at the front of the line is never overtaken, so large requests do not starve.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    hash::Hash,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

pub mod cores;
#[cfg(test)]
mod tests;

/// Identity of a party.
pub trait Key: Clone + Eq + Ord + Hash + Send + Sync + 'static {}

impl<K: Clone + Eq + Ord + Hash + Send + Sync + 'static> Key for K {}

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

/// Reason why a permit was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    #[error("too many requests wait already")]
    Full,
    #[error("the time to wait is over")]
    Late,
}

/// A request for a permit.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub amount: u64,
    /// Within a party, lower ranks go first.
    pub rank: u64,
    pub queueing: Queueing,
}

/// How a request counts against the bounds of the queue.
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
    state: Mutex<State<K>>,
}

struct State<K: Key> {
    used: u64,
    waiting: usize,
    /// Numbers requests, for the order of arrival.
    arrivals: u64,
    /// Virtual time of the last grant out of the line: where new parties begin.
    now: u128,
    /// Parties that hold or wait for permits.
    parties: HashMap<K, Party<K>>,
    /// Parties whose first request fits into their share: they wait for capacity alone.
    line: BTreeSet<(u128, K)>,
}

struct Party<K: Key> {
    used: u64,
    time: u128,
    is_in_line: bool,
    queue: BTreeMap<Position, Waiter<K>>,
}

/// Rank, and number of arrival.
type Position = (u64, u64);

struct Waiter<K: Key> {
    amount: u64,
    granted: oneshot::Sender<Permit<K>>,
}

/// Part of the limit; released when it is dropped.
pub struct Permit<K: Key> {
    fair: Arc<Fair<K>>,
    key: K,
    amount: u64,
    since: Instant,
}

impl<K: Key> Fair<K> {
    pub fn new(bounds: Bounds) -> Arc<Fair<K>> {
        let state = State { used: 0, waiting: 0, arrivals: 0, now: 0, parties: HashMap::new(), line: BTreeSet::new() };
        Arc::new(Fair { bounds, state: Mutex::new(state) })
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

    /// Waits in the fair queue until the deadline. Dropping the future leaves the queue. More than the capacity is never
    /// granted: such a request gets all of it.
    pub async fn acquire(self: &Arc<Self>, key: &K, request: Request, until: Instant) -> Result<Permit<K>, NotGranted> {
        let request = Request { amount: request.amount.min(self.bounds.capacity), ..request };
        let (waiting, granted) = {
            let mut state = self.state.lock();
            if state.grant_at_once(key, request.amount, &self.bounds) {
                drop(state);
                return Ok(self.permit(key.clone(), request.amount));
            }
            let (granted, receiver) = oneshot::channel();
            let position = state.enqueue(key, request, granted, &self.bounds)?;
            (Waiting { fair: self, key, position }, receiver)
        };
        let granted = timeout_at(until, granted).await;
        drop(waiting);
        match granted {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(NotGranted::Late),
        }
    }

    /// Takes a permit without waiting. `None`: others wait, or there is no room.
    pub fn try_acquire(self: &Arc<Self>, key: &K, amount: u64) -> Option<Permit<K>> {
        let granted = self.state.lock().grant_at_once(key, amount, &self.bounds);
        granted.then(|| self.permit(key.clone(), amount))
    }

    fn permit(self: &Arc<Self>, key: K, amount: u64) -> Permit<K> {
        Permit { fair: Arc::clone(self), key, amount, since: Instant::now() }
    }

    fn release(self: &Arc<Self>, key: &K, amount: u64, since: Instant) {
        let cost = u128::from(amount).saturating_mul(since.elapsed().as_micros().max(1));
        self.state.lock().release(key, amount, cost, &self.bounds);
        self.serve_line();
    }

    /// Grants requests that fit, in the order of the line. Waiters are woken without the lock: a permit whose receiver is gone
    /// is released at once.
    fn serve_line(self: &Arc<Self>) {
        loop {
            let Some((key, waiter)) = self.state.lock().grant_next(&self.bounds) else { return };
            let permit = self.permit(key, waiter.amount);
            let _unless_gone = waiter.granted.send(permit);
        }
    }
}

impl<K: Key> State<K> {
    fn grant_at_once(&mut self, key: &K, amount: u64, bounds: &Bounds) -> bool {
        if !self.line.is_empty() || self.used.saturating_add(amount) > bounds.capacity {
            return false;
        }
        match self.parties.entry(key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Party { used: amount, ..Party::new(self.now) });
            }
            Entry::Occupied(mut occupied) => {
                let party = occupied.get_mut();
                if !party.queue.is_empty() || !party.has_share(amount, bounds) {
                    return false;
                }
                party.used += amount;
            }
        }
        self.used += amount;
        true
    }

    fn enqueue(
        &mut self,
        key: &K,
        request: Request,
        granted: oneshot::Sender<Permit<K>>,
        bounds: &Bounds,
    ) -> Result<Position, NotGranted> {
        let now = self.now;
        let own = self.parties.get(key).map_or(0, |party| party.queue.len());
        let is_full = self.waiting >= bounds.waiting_max || own >= bounds.waiting_each_max;
        if is_full && request.queueing == Queueing::Bounded {
            return Err(NotGranted::Full);
        }
        let party = self.parties.entry(key.clone()).or_insert_with(|| Party::new(now));
        self.arrivals += 1;
        self.waiting += 1;
        let position = (request.rank, self.arrivals);
        party.queue.insert(position, Waiter { amount: request.amount, granted });
        self.update_line(key, bounds);
        Ok(position)
    }

    /// A waiter that has gone away; nothing where it was granted.
    fn leave(&mut self, key: &K, position: Position, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        if party.queue.remove(&position).is_some() {
            self.waiting -= 1;
            self.update_line(key, bounds);
        }
    }

    fn release(&mut self, key: &K, amount: u64, cost: u128, bounds: &Bounds) {
        self.used = self.used.saturating_sub(amount);
        let Some(party) = self.parties.get_mut(key) else { return };
        party.used = party.used.saturating_sub(amount);
        if party.is_in_line {
            self.line.remove(&(party.time, key.clone()));
            party.is_in_line = false;
        }
        party.time = party.time.saturating_add(cost);
        self.update_line(key, bounds);
    }

    fn grant_next(&mut self, bounds: &Bounds) -> Option<(K, Waiter<K>)> {
        let (_, key) = self.line.first()?;
        let key = key.clone();
        let party = self.parties.get_mut(&key)?;
        let amount = party.queue.first_key_value()?.1.amount;
        if self.used.saturating_add(amount) > bounds.capacity {
            return None;
        }
        let (_, waiter) = party.queue.pop_first()?;
        self.line.remove(&(party.time, key.clone()));
        party.is_in_line = false;
        self.now = self.now.max(party.time);
        // Equals take turns even before they have given anything back.
        party.time = party.time.max(self.now).saturating_add(u128::from(amount));
        party.used += amount;
        self.used += amount;
        self.waiting -= 1;
        self.update_line(&key, bounds);
        Some((key, waiter))
    }

    /// Puts the party in line if its first request has a share, else takes it out. Drops a party without permits and requests.
    fn update_line(&mut self, key: &K, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        let is_ready = match party.queue.first_key_value() {
            Some((_, waiter)) => party.has_share(waiter.amount, bounds),
            None => false,
        };
        match (is_ready, party.is_in_line) {
            (true, false) => {
                party.time = party.time.max(self.now);
                self.line.insert((party.time, key.clone()));
            }
            (false, true) => {
                self.line.remove(&(party.time, key.clone()));
            }
            _ => {}
        }
        party.is_in_line = is_ready;
        if party.used == 0 && party.queue.is_empty() {
            self.parties.remove(key);
        }
    }
}

impl<K: Key> Party<K> {
    fn new(time: u128) -> Party<K> {
        Party { used: 0, time, is_in_line: false, queue: BTreeMap::new() }
    }

    fn has_share(&self, amount: u64, bounds: &Bounds) -> bool {
        self.used == 0 || self.used.saturating_add(amount) <= bounds.share
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
        self.fair.state.lock().leave(self.key, self.position, &self.fair.bounds);
        self.fair.serve_line();
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
        let bounds = &self.fair.bounds;
        let mut state = self.fair.state.lock();
        let used = state.used.saturating_add(more);
        let Some(party) = state.parties.get_mut(&self.key) else { return false };
        let is_alone = party.used == self.amount;
        let fits = used <= bounds.capacity && (is_alone || party.used.saturating_add(more) <= bounds.share);
        if fits {
            party.used += more;
            state.used = used;
            self.amount = amount;
        }
        fits
    }

    /// Releases all but `amount`.
    pub fn shrink_to(&mut self, amount: u64) {
        if let Some(less) = self.amount.checked_sub(amount).filter(|less| *less > 0) {
            self.amount = amount;
            self.fair.release(&self.key, less, self.since);
        }
    }

    /// Moves part of it into a permit of its own.
    pub fn split(&mut self, amount: u64) -> Permit<K> {
        let amount = amount.min(self.amount);
        self.amount -= amount;
        Permit { fair: Arc::clone(&self.fair), key: self.key.clone(), amount, since: self.since }
    }
}

impl<K: Key> Drop for Permit<K> {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.fair.release(&self.key, self.amount, self.since);
        }
    }
}
