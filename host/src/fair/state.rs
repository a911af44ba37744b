//! The order in which `Fair` grants: self-clocked fair queueing over parties. Never waits, and wakes nobody.
//!
//! A round lasts while a party waits for capacity. Within a round each party has a virtual time: `FAIR_GRANT_US` for each unit
//! that it was granted, and one for each microsecond that it held the unit. The line is ordered by the time that a party would
//! have with its first request, then by arrival. A party that joins the line begins at `Round::now`, the time of the last grant,
//! unless its own time is ahead of it. A party that leaves keeps its time until the round passes it. When nobody waits any
//! more, the round ends, and all times with it.
//!
//! Invariants: `used` is the sum of what the parties hold, and `waiting` of their queues. Each party whose first request fits into
//! its share is in the line.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use tokio::time::Instant;

use super::{Bounds, NotGranted, Queueing, Request};
use crate::limits::{FAIR_DEBT_US, FAIR_GRANT_US, FAIR_PAST_MIN};

/// Units times microseconds.
type Cost = u128;

/// In the line: virtual time, and the arrival of the first request.
type Spot = (Cost, u64);

/// In the queue of a party: rank, and number of arrival.
pub(super) type Position = (u64, u64);

/// `W` is what wakes a waiter.
pub(super) struct State<K, W> {
    pub used: u64,
    pub waiting: usize,
    /// Numbers requests in the order of arrival.
    arrivals: u64,
    /// Parties that hold or wait for something.
    parties: HashMap<K, Party<W>>,
    /// Parties that wait for capacity alone.
    line: BTreeMap<Spot, K>,
    round: Round<K>,
}

struct Round<K> {
    number: u64,
    began: Instant,
    /// Virtual time of the last grant: a party that joins the line begins here.
    now: Cost,
    /// Virtual times, ahead of `now`, of parties that left the line, for their return.
    past: HashMap<K, Cost>,
    /// Length of `past` at which it is next searched for times that `now` has passed.
    past_max: usize,
}

struct Party<W> {
    used: u64,
    queue: BTreeMap<Position, Waiter<W>>,
    spot: Option<Spot>,
    /// The round that the rest belongs to.
    round: u64,
    time: Cost,
    /// Microseconds of the round of which `time` counts what the party held.
    counted_us: u128,
}

pub(super) struct Waiter<W> {
    pub amount: u64,
    pub granted: W,
}

impl<K: Clone + Eq + Hash, W> State<K, W> {
    pub fn new() -> State<K, W> {
        let round = Round { number: 0, began: Instant::now(), now: 0, past: HashMap::new(), past_max: FAIR_PAST_MIN };
        State { used: 0, waiting: 0, arrivals: 0, parties: HashMap::new(), line: BTreeMap::new(), round }
    }

    /// Grants without waiting, unless a party waits for capacity. Reads no clock and allocates nothing.
    pub fn grant_at_once(&mut self, key: &K, amount: u64, bounds: &Bounds) -> bool {
        if !self.line.is_empty() || self.used.saturating_add(amount) > bounds.capacity {
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

    /// `grant_next` has to follow: the request may be the first in line, and fit.
    pub fn enqueue(&mut self, key: &K, request: Request, granted: W, bounds: &Bounds) -> Result<Position, NotGranted> {
        let own = self.parties.get(key).map_or(0, |party| party.queue.len());
        let is_full = self.waiting >= bounds.waiting_max || own >= bounds.waiting_each_max;
        if is_full && request.queueing == Queueing::Bounded {
            return Err(NotGranted::Full);
        }
        self.arrivals += 1;
        self.waiting += 1;
        let position = (request.rank, self.arrivals);
        self.find_or_add(key).queue.insert(position, Waiter { amount: request.amount, granted });
        self.place(key, bounds);
        Ok(position)
    }

    /// Removes a waiter. Does nothing if its request was granted. `grant_next` has to follow.
    pub fn leave(&mut self, key: &K, position: Position, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        if party.queue.remove(&position).is_some() {
            self.waiting -= 1;
            self.place(key, bounds);
        }
    }

    /// Adds to what a party holds, before all that wait. `held`: what the permit that grows has of it. `grant_next` has to
    /// follow: the party may lose its place in the line.
    pub fn grow(&mut self, key: &K, held: u64, more: u64, bounds: &Bounds) -> bool {
        let used = self.used.saturating_add(more);
        let of_party = self.parties.get(key).map_or(0, |party| party.used);
        if used > bounds.capacity || (of_party != held && of_party.saturating_add(more) > bounds.share) {
            return false;
        }
        self.settle(key, bounds);
        self.find_or_add(key).used += more;
        self.used = used;
        self.place(key, bounds);
        true
    }

    /// `grant_next` has to follow.
    pub fn release(&mut self, key: &K, amount: u64, bounds: &Bounds) {
        self.settle(key, bounds);
        self.used = self.used.saturating_sub(amount);
        if let Some(party) = self.parties.get_mut(key) {
            party.used = party.used.saturating_sub(amount);
            self.place(key, bounds);
        }
    }

    /// Takes the first request in line, if it fits. To be repeated until it returns `None`.
    pub fn grant_next(&mut self, bounds: &Bounds) -> Option<(K, Waiter<W>)> {
        if self.line.is_empty() {
            return None;
        }
        let clock_us = self.round.clock_us();
        let (spot, key) = loop {
            let (&spot, key) = self.line.first_key_value()?;
            let key = key.clone();
            // Its time goes on while it holds something: each party moves once, to where it belongs now.
            self.parties.get_mut(&key)?.settle(&self.round, clock_us, bounds);
            self.place(&key, bounds);
            if self.line.first_key_value().is_some_and(|(&first, _)| first == spot) {
                break (spot, key);
            }
        };
        let party = self.parties.get_mut(&key)?;
        let amount = party.queue.first_key_value()?.1.amount;
        if self.used.saturating_add(amount) > bounds.capacity {
            return None;
        }
        let (_, waiter) = party.queue.pop_first()?;
        party.used += amount;
        self.round.now = self.round.now.max(spot.0);
        party.time = self.round.now;
        self.used += amount;
        self.waiting -= 1;
        self.place(&key, bounds);
        Some((key, waiter))
    }

    fn find_or_add(&mut self, key: &K) -> &mut Party<W> {
        let round = &mut self.round;
        self.parties
            .entry(key.clone())
            .or_insert_with(|| Party { time: round.past.remove(key).unwrap_or_default(), ..Party::new(round.number) })
    }

    /// Nothing counts while nobody waits.
    fn settle(&mut self, key: &K, bounds: &Bounds) {
        if !self.line.is_empty()
            && let Some(party) = self.parties.get_mut(key)
        {
            party.settle(&self.round, self.round.clock_us(), bounds);
        }
    }

    /// Puts a party into the line or takes it out, as its first request requires. Forgets a party that neither holds nor
    /// waits.
    fn place(&mut self, key: &K, bounds: &Bounds) {
        let Some(party) = self.parties.get_mut(key) else { return };
        let before = party.spot.take();
        if let Some((&(_, arrival), waiter)) = party.queue.first_key_value()
            && party.has_share(waiter.amount, bounds)
        {
            let amount = waiter.amount;
            if before.is_none() {
                if self.line.is_empty() {
                    self.round.begin();
                }
                party.settle(&self.round, self.round.clock_us(), bounds);
                party.time = party.time.max(self.round.now);
            }
            let spot = (party.time.saturating_add(Cost::from(amount) * Cost::from(FAIR_GRANT_US)), arrival);
            self.line.insert(spot, key.clone());
            party.spot = Some(spot);
        }
        if let Some(before) = before.filter(|before| party.spot != Some(*before)) {
            self.line.remove(&before);
        }
        let is_over = self.line.is_empty();
        if is_over {
            self.round.past.clear();
        }
        if party.used == 0 && party.queue.is_empty() {
            let time = party.time;
            self.parties.remove(key);
            if !is_over {
                self.round.remember(key, time);
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

    /// Keeps the virtual time of a party that leaves, for its return.
    fn remember(&mut self, key: &K, time: Cost) {
        if time <= self.now {
            return;
        }
        if self.past.len() >= self.past_max {
            let now = self.now;
            self.past.retain(|_, time| *time > now);
            self.past_max = self.past.len().saturating_mul(2).max(FAIR_PAST_MIN);
        }
        self.past.insert(key.clone(), time);
    }
}

impl<W> Party<W> {
    fn new(round: u64) -> Party<W> {
        Party { used: 0, queue: BTreeMap::new(), spot: None, round, time: 0, counted_us: 0 }
    }

    fn has_share(&self, amount: u64, bounds: &Bounds) -> bool {
        self.used == 0 || self.used.saturating_add(amount) <= bounds.share
    }

    /// Adds what it has held in this round since the last time. A time is never further ahead of the others than
    /// `FAIR_DEBT_US` of the whole limit.
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
    /// Whether nothing is held, awaited, or remembered.
    pub fn is_bare(&self) -> bool {
        (self.used, self.waiting, self.parties.len(), self.line.len(), self.round.past.len()) == (0, 0, 0, 0, 0)
    }

    /// Panics where an invariant does not hold after all that fits was granted.
    pub fn check(&self, bounds: &Bounds) {
        assert!(self.used <= bounds.capacity, "{} of {}", self.used, bounds.capacity);
        assert_eq!(self.used, self.parties.values().map(|party| party.used).sum::<u64>());
        assert_eq!(self.waiting, self.parties.values().map(|party| party.queue.len()).sum::<usize>());
        let mut in_line = 0;
        for (key, party) in &self.parties {
            assert!(party.used > 0 || !party.queue.is_empty(), "a party without anything is kept");
            let first = party.queue.first_key_value().map(|(_, waiter)| waiter.amount);
            assert_eq!(party.spot.is_some(), first.is_some_and(|amount| party.has_share(amount, bounds)));
            if let Some(spot) = party.spot {
                assert!(self.line.get(&spot).is_some_and(|found| found == key));
                let debt = u128::from(bounds.capacity) * u128::from(FAIR_DEBT_US + FAIR_GRANT_US);
                assert!(spot.0 <= self.round.now + debt, "a debt without a bound");
                in_line += 1;
            }
        }
        assert_eq!(self.line.len(), in_line);
        if let Some((_, key)) = self.line.first_key_value() {
            let first = self.parties[key].queue.first_key_value().unwrap().1.amount;
            assert!(self.used + first > bounds.capacity, "a request that fits waits");
        }
    }
}
