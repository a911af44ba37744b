//! Limits the processor time of work that needs no permit: the pieces of one party run in sequence, at a limited rate.
//!
//! This work is short: a chunk of a stream, a response without a call, a TLS handshake. But if many pieces of one party
//! are ready at the same time, everything else waits until the runtime has done all of them. A `Pacer` makes them wait
//! in a queue instead.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{Key, machine_cores};
use crate::limits::{PACE_BURST_US, PACED_PARTIES_MAX};

/// The rate limit of one party.
pub struct Pacer {
    /// Orders the waiting pieces. The holder of the lock waits only for `busy_until`.
    queue: tokio::sync::Mutex<()>,
    /// Time at which the pieces counted so far would be done at the limited rate.
    busy_until: Mutex<Instant>,
    /// Number of cores that perform the pieces.
    cores: u64,
    /// Number of pieces that wait in `wait_among`.
    waiting: AtomicUsize,
}

/// A piece that waits among a bounded number of others.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    /// Returns `None` if `waiting_max` pieces wait already.
    fn begin(waiting: &AtomicUsize, waiting_max: usize) -> Option<Waiting<'_>> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let piece = Waiting(waiting);
        (before < waiting_max).then_some(piece)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer::of_cores(1)
    }
}

impl Pacer {
    fn of_cores(cores: u64) -> Pacer {
        Pacer {
            queue: tokio::sync::Mutex::default(),
            busy_until: Mutex::new(Instant::now()),
            cores,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits until the next piece may run, and counts it. `us`: its microseconds of one core. Pieces proceed in the
    /// order of their calls. Dropping the future leaves the queue.
    pub async fn wait(&self, us: u64) {
        let _first = self.queue.lock().await;
        let soon = Instant::now() + Duration::from_micros(PACE_BURST_US);
        let pause = self.busy_until.lock().saturating_duration_since(soon);
        if !pause.is_zero() {
            sleep(pause).await;
        }
        self.count(us);
    }

    /// Waits like `wait`, unless `waiting_max` pieces wait in this way already. Then it returns `false` at once and
    /// counts nothing.
    pub async fn wait_among(&self, us: u64, waiting_max: usize) -> bool {
        let Some(_waiting) = Waiting::begin(&self.waiting, waiting_max) else { return false };
        self.wait(us).await;
        true
    }

    /// Counts cost that is known only after a piece has waited.
    pub fn count(&self, us: u64) {
        let mut busy_until = self.busy_until.lock();
        *busy_until = (*busy_until).max(Instant::now()) + Duration::from_nanos(us.saturating_mul(1_000) / self.cores);
    }

    /// Counts like `count`, but delays the next piece by at most `longest`.
    pub fn count_within(&self, us: u64, longest: Duration) {
        self.count(us);
        let latest = Instant::now() + longest;
        let mut busy_until = self.busy_until.lock();
        *busy_until = (*busy_until).min(latest);
    }

    /// Returns the time at which the pieces counted so far would be done at the limited rate.
    #[cfg(test)]
    pub fn busy_until(&self) -> Instant {
        *self.busy_until.lock()
    }

    fn is_idle(&self) -> bool {
        *self.busy_until.lock() <= Instant::now()
    }
}

/// Rate limits of many parties, in a bounded map.
pub struct Pacers<K> {
    parties: Mutex<HashMap<K, Arc<Pacer>>>,
    /// Number of cores that perform the pieces of each party.
    cores: u64,
}

impl<K: Key> Pacers<K> {
    pub fn of_machine() -> Pacers<K> {
        Pacers::of_cores(machine_cores() as u64)
    }

    pub fn of_cores(cores: u64) -> Pacers<K> {
        Pacers { parties: Mutex::default(), cores }
    }

    /// Calls [`Pacer::wait`] for a party.
    pub async fn wait(&self, party: &K, us: u64) {
        self.find(party).wait(us).await;
    }

    /// Calls [`Pacer::wait_among`] for a party.
    pub async fn wait_among(&self, party: &K, us: u64, waiting_max: usize) -> bool {
        self.find(party).wait_among(us, waiting_max).await
    }

    /// Returns the pacer of a party if it has unfinished pieces. Never adds a party.
    pub fn find_busy(&self, party: &K) -> Option<Arc<Pacer>> {
        self.parties.lock().get(party).filter(|pacer| !pacer.is_idle()).map(Arc::clone)
    }

    pub fn find(&self, party: &K) -> Arc<Pacer> {
        let mut parties = self.parties.lock();
        if let Some(pacer) = parties.get(party) {
            return Arc::clone(pacer);
        }
        if parties.len() >= PACED_PARTIES_MAX {
            parties.retain(|_, pacer| Arc::strong_count(pacer) > 1 || !pacer.is_idle());
        }
        if parties.len() >= PACED_PARTIES_MAX {
            // Bounds memory by resetting the limits of all parties.
            parties.clear();
        }
        let pacer = parties.entry(party.clone()).or_insert_with(|| Arc::new(Pacer::of_cores(self.cores)));
        Arc::clone(pacer)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::join_all};

    use super::*;

    const PIECE_US: u64 = 200;

    async fn elapsed(pacer: &Pacer, chunks: usize, bytes: usize) -> Duration {
        let began = Instant::now();
        for _ in 0..chunks {
            pacer.wait(PIECE_US).await;
            pacer.count(bytes as u64 / 100);
        }
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn rate_of_pieces_is_limited_after_a_burst() {
        let pacer = Pacer::default();
        assert_eq!(elapsed(&pacer, 20, 0).await, Duration::ZERO);
        let (seconds, chunks) = (2, 2 * 1_000_000 / PIECE_US);
        let took = elapsed(&pacer, usize::try_from(chunks).unwrap(), 0).await;
        let (least, most) = (Duration::from_millis(seconds * 1_000 - 10), Duration::from_millis(seconds * 1_000 + 10));
        assert!(least <= took && took <= most, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn cost_known_later_is_counted() {
        let pacer = Pacer::default();
        let took = elapsed(&pacer, 1_000, 100_000).await;
        assert!(Duration::from_secs(1) <= took && took <= Duration::from_millis(1_300), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_pieces_delay_no_other() {
        let pacer = Pacer::default();
        while pacer.wait(PIECE_US).now_or_never().is_some() {}
        let dropped = join_all((0..1_000).map(|_| pacer.wait(PIECE_US))).now_or_never();
        assert!(dropped.is_none(), "they wait");
        let took = elapsed(&pacer, 1, 0).await;
        assert!(took <= Duration::from_millis(2), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_pieces_that_wait_is_bounded() {
        let pacer = Pacer::default();
        while pacer.wait(PIECE_US).now_or_never().is_some() {}
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(pacer.wait_among(PIECE_US, 3))).collect();
        assert!(waiting.iter_mut().all(|piece| piece.now_or_never().is_none()));
        assert_eq!(pacer.wait_among(PIECE_US, 3).now_or_never(), Some(false));
        waiting.pop();
        assert_eq!(pacer.wait_among(PIECE_US, 3).now_or_never(), None, "a piece that left made room");
        for piece in waiting {
            assert!(piece.await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn party_that_waits_delays_no_other() {
        let pacers = Pacers::of_machine();
        while pacers.wait(&1, 1_000_000).now_or_never().is_some() {}
        assert!(pacers.wait(&2, 1_000_000).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn counted_cost_delays_the_next_piece_for_a_bounded_time() {
        let pacer = Pacer::default();
        (0..1_000).for_each(|_| pacer.count_within(1_000_000, Duration::from_secs(2)));
        let took = elapsed(&pacer, 1, 0).await;
        assert!(Duration::from_millis(1_990) <= took && took <= Duration::from_millis(2_010), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn party_is_busy_until_its_pieces_are_done() {
        let pacers = Pacers::of_machine();
        assert!(pacers.find_busy(&1).is_none());
        pacers.find(&1).count_within(1 << 40, Duration::from_secs(2));
        assert!(pacers.find_busy(&1).is_some() && pacers.find_busy(&2).is_none());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(pacers.find_busy(&1).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_parties_in_memory_is_bounded() {
        let pacers = Pacers::of_machine();
        for party in 0..2 * PACED_PARTIES_MAX {
            pacers.wait(&party, 1_000_000).await;
        }
        assert!(pacers.parties.lock().len() <= PACED_PARTIES_MAX);
    }
}
