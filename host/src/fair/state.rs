//! The order in which `Fair` grants: self-clocked fair queueing over parties. Never waits and wakes no waiter.
//!
//! A round lasts while a party waits for capacity. Within a round each party has a virtual time: `FAIR_GRANT_US` for
//! each unit that it was granted, plus one for each microsecond that it held the unit. The ready queue is ordered by
//! the virtual time that a party would have with its first request, then by arrival. A party that joins the ready queue
//! starts at `Round::now`, the time of the last grant, unless its own time is ahead of it. A party that leaves keeps
//! its time until the round passes it. When no party waits any more, the round ends and all times are discarded.
//!
//! Invariants: `used` is the sum of what the parties hold, and `waiting` the sum of their queues. Every party whose
//! first request fits into its share is in the ready queue.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use tokio::time::Instant;

use super::{AcquireError, Bounds, Queueing, Request};
use crate::limits::{FAIR_DEBT_US, FAIR_DEPARTED_MIN, FAIR_GRANT_US};

/// Units times microseconds.
type Cost = u128;

/// Position in the ready queue: virtual time, and the arrival number of the first request.
type ReadyPosition = (Cost, u64);

/// Position in the queue of a party: rank, and arrival number.
pub(super) type QueuePosition = (u64, u64);

/// `W` wakes a waiter.
pub(super) struct State<K, W> {
    pub used: u64,
    pub waiting: usize,
    /// Number of requests that were enqueued so far, which is also the arrival number of the newest one.
    arrivals: u64,
    /// Parties that hold or wait for something.
    parties: HashMap<K, Party<W>>,
    /// Parties that wait for capacity alone.
    ready: BTreeMap<ReadyPosition, K>,
    round: Round<K>,
}

struct Round<K> {
    number: u64,
    began: Instant,
    /// Virtual time of the last grant. A party that joins the ready queue starts here.
    now: Cost,
    /// Virtual times ahead of `now` of parties that left, in case they return.
    departed: HashMap<K, Cost>,
    /// Length of `departed` at which entries that `now` has passed are next removed.
    departed_max: usize,
}

struct Party<W> {
    used: u64,
    queue: BTreeMap<QueuePosition, Waiter<W>>,
    ready_position: Option<ReadyPosition>,
    /// The round that the following fields belong to.
    round: u64,
    time: Cost,
    /// Microseconds of the round for which `time` includes what the party held.
    counted_us: u128,
}

pub(super) struct Waiter<W> {
    pub amount: u64,
    pub granted: W,
}

impl<K: Clone + Eq + Hash, W> State<K, W> {
    pub fn new() -> State<K, W> {
        let round = Round {
            number: 0,
            began: Instant::now(),
            now: 0,
            departed: HashMap::new(),
            departed_max: FAIR_DEPARTED_MIN,
        };
        State { used: 0, waiting: 0, arrivals: 0, parties: HashMap::new(), ready: BTreeMap::new(), round }
    }

    /// Grants the amount if it fits, no party waits for capacity, and the party itself has no waiting request. Returns
    /// false without a change otherwise. Reads no clock.
    pub fn grant_at_once(&mut self, key: &K, amount: u64, bounds: &Bounds) -> bool {
        if !self.ready.is_empty() || self.used.saturating_add(amount) > bounds.capacity {
            return false;
        }
        match self.parties.get_mut(key) {
            None => {
                self.parties.insert(key.clone(), Party { used: amount, ..Party::new(0) });
            }
            Some(party) if party.queue.is_empty() && party.has_share(amount, bounds) => party.used += amount,
            Some(_) => return false,
        }
        self.used += amount;
        true
    }

    /// Adds a waiter. The caller must call `grant_next` afterwards, since the request may be the first in the queue and
    /// fit.
    pub fn enqueue(
        &mut self,
        key: &K,
        request: Request,
        granted: W,
        bounds: &Bounds,
    ) -> Result<QueuePosition, AcquireError> {
        let own = self.parties.get(key).map_or(0, |party| party.queue.len());
        let is_full = self.waiting >= bounds.waiting_max || own >= bounds.waiting_each_max;
        if is_full && request.queueing == Queueing::Bounded {
            return Err(AcquireError::QueueFull);
        }
        self.arrivals += 1;
        self.waiting += 1;
        let position = (request.rank, self.arrivals);
        self.find_or_add(key).queue.insert(position, Waiter { amount: request.amount, granted });
        self.update_ready(key, bounds);
        Ok(position)
    }

    /// Removes a waiter. Does nothing if its request was granted. The caller must call `grant_next` afterwards.
    pub fn leave(&mut self, key: &K, position: QueuePosition, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        if party.queue.remove(&position).is_some() {
            self.waiting -= 1;
            self.update_ready(key, bounds);
        }
    }

    /// Adds to what a party holds, ahead of all waiters. `held`: the amount of the growing permit. Returns false
    /// without a change if the capacity or the share does not suffice. The caller must call `grant_next` afterwards,
    /// since the party may lose its position in the queue.
    pub fn grow(&mut self, key: &K, held: u64, more: u64, bounds: &Bounds) -> bool {
        let used = self.used.saturating_add(more);
        let of_party = self.parties.get(key).map_or(0, |party| party.used);
        if used > bounds.capacity || (of_party != held && of_party.saturating_add(more) > bounds.share) {
            return false;
        }
        self.settle(key, bounds);
        self.find_or_add(key).used += more;
        self.used = used;
        self.update_ready(key, bounds);
        true
    }

    /// Releases a part of what a party holds. The caller must call `grant_next` afterwards.
    pub fn release(&mut self, key: &K, amount: u64, bounds: &Bounds) {
        self.settle(key, bounds);
        self.used = self.used.saturating_sub(amount);
        if let Some(party) = self.parties.get_mut(key) {
            party.used = party.used.saturating_sub(amount);
            self.update_ready(key, bounds);
        }
    }

    /// Grants the first request in the queue, if it fits. The caller must repeat this until it returns `None`.
    pub fn grant_next(&mut self, bounds: &Bounds) -> Option<(K, Waiter<W>)> {
        if self.ready.is_empty() {
            return None;
        }
        let clock_us = self.round.clock_us();
        let (ready_position, key) = loop {
            let (&ready_position, key) = self.ready.first_key_value()?;
            let key = key.clone();
            // The time of a party advances while it holds something, so each party is moved once to its current
            // position.
            self.parties.get_mut(&key)?.settle(&self.round, clock_us, bounds);
            self.update_ready(&key, bounds);
            if self.ready.first_key_value().is_some_and(|(&first, _)| first == ready_position) {
                break (ready_position, key);
            }
        };
        let party = self.parties.get_mut(&key)?;
        let amount = party.queue.first_key_value()?.1.amount;
        if self.used.saturating_add(amount) > bounds.capacity {
            return None;
        }
        let (_, waiter) = party.queue.pop_first()?;
        party.used += amount;
        self.round.now = self.round.now.max(ready_position.0);
        party.time = self.round.now;
        self.used += amount;
        self.waiting -= 1;
        self.update_ready(&key, bounds);
        Some((key, waiter))
    }

    fn find_or_add(&mut self, key: &K) -> &mut Party<W> {
        let round = &mut self.round;
        self.parties.entry(key.clone()).or_insert_with(|| Party {
            time: round.departed.remove(key).unwrap_or_default(),
            ..Party::new(round.number)
        })
    }

    /// Updates the virtual time of a party. Time does not count while no party waits for capacity.
    fn settle(&mut self, key: &K, bounds: &Bounds) {
        if !self.ready.is_empty()
            && let Some(party) = self.parties.get_mut(key)
        {
            party.settle(&self.round, self.round.clock_us(), bounds);
        }
    }

    /// Adds a party to the ready queue or removes it, as its first request requires. Removes a party that neither holds
    /// nor waits.
    fn update_ready(&mut self, key: &K, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        let before = party.ready_position.take();
        if let Some((&(_, arrival), waiter)) = party.queue.first_key_value()
            && party.has_share(waiter.amount, bounds)
        {
            let amount = waiter.amount;
            if before.is_none() {
                if self.ready.is_empty() {
                    self.round.begin();
                }
                party.settle(&self.round, self.round.clock_us(), bounds);
                party.time = party.time.max(self.round.now);
            }
            let ready_position = (party.time.saturating_add(Cost::from(amount) * Cost::from(FAIR_GRANT_US)), arrival);
            self.ready.insert(ready_position, key.clone());
            party.ready_position = Some(ready_position);
        }
        if let Some(before) = before.filter(|before| party.ready_position != Some(*before)) {
            self.ready.remove(&before);
        }
        let is_over = self.ready.is_empty();
        if is_over {
            self.round.departed.clear();
        }
        if party.used == 0 && party.queue.is_empty() {
            let time = party.time;
            self.parties.remove(key);
            if !is_over {
                self.round.keep_time(key, time);
            }
        }
    }
}

impl<K: Clone + Eq + Hash> Round<K> {
    fn begin(&mut self) {
        self.number += 1;
        self.began = Instant::now();
        self.now = 0;
    }

    fn clock_us(&self) -> u128 {
        self.began.elapsed().as_micros()
    }

    /// Keeps the virtual time of a party that leaves, in case it returns.
    fn keep_time(&mut self, key: &K, time: Cost) {
        if time <= self.now {
            return;
        }
        if self.departed.len() >= self.departed_max {
            let now = self.now;
            self.departed.retain(|_, time| *time > now);
            self.departed_max = self.departed.len().saturating_mul(2).max(FAIR_DEPARTED_MIN);
        }
        self.departed.insert(key.clone(), time);
    }
}

impl<W> Party<W> {
    fn new(round: u64) -> Party<W> {
        Party { used: 0, queue: BTreeMap::new(), ready_position: None, round, time: 0, counted_us: 0 }
    }

    fn has_share(&self, amount: u64, bounds: &Bounds) -> bool {
        self.used == 0 || self.used.saturating_add(amount) <= bounds.share
    }

    /// Adds what the party has held in this round since the last update. It advances the virtual time to at most
    /// `FAIR_DEBT_US` of the whole limit ahead of `Round::now`.
    fn settle<K>(&mut self, round: &Round<K>, clock_us: u128, bounds: &Bounds) {
        if self.round != round.number {
            (self.round, self.time, self.counted_us) = (round.number, 0, 0);
        }
        let held_us = clock_us.saturating_sub(self.counted_us);
        let debt_max = Cost::from(bounds.capacity).saturating_mul(Cost::from(FAIR_DEBT_US));
        let time = self.time.saturating_add(Cost::from(self.used).saturating_mul(held_us));
        self.time = time.min(round.now.saturating_add(debt_max)).max(self.time);
        self.counted_us = self.counted_us.max(clock_us);
    }
}

#[cfg(test)]
impl<K: Clone + Eq + Hash, W> State<K, W> {
    /// Returns true if nothing is held, awaited, or kept.
    pub fn is_empty(&self) -> bool {
        (self.used, self.waiting, self.parties.len(), self.ready.len(), self.round.departed.len()) == (0, 0, 0, 0, 0)
    }

    /// Panics if an invariant is violated after everything that fits was granted.
    pub fn check(&self, bounds: &Bounds) {
        assert!(self.used <= bounds.capacity, "{} of {}", self.used, bounds.capacity);
        assert_eq!(self.used, self.parties.values().map(|party| party.used).sum::<u64>());
        assert_eq!(self.waiting, self.parties.values().map(|party| party.queue.len()).sum::<usize>());
        let mut in_ready = 0;
        for (key, party) in &self.parties {
            assert!(party.used > 0 || !party.queue.is_empty(), "an idle party is still present");
            let first = party.queue.first_key_value().map(|(_, waiter)| waiter.amount);
            assert_eq!(party.ready_position.is_some(), first.is_some_and(|amount| party.has_share(amount, bounds)));
            if let Some(ready_position) = party.ready_position {
                assert!(self.ready.get(&ready_position).is_some_and(|found| found == key));
                let debt = u128::from(bounds.capacity) * u128::from(FAIR_DEBT_US + FAIR_GRANT_US);
                assert!(ready_position.0 <= self.round.now + debt, "an unbounded debt");
                in_ready += 1;
            }
        }
        assert_eq!(self.ready.len(), in_ready);
        if let Some((_, key)) = self.ready.first_key_value() {
            let first = self.parties[key].queue.first_key_value().unwrap().1.amount;
            assert!(self.used + first > bounds.capacity, "a request that fits waits");
        }
    }
}
