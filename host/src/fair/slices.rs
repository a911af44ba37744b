//! Long slices: how long a run occupies its thread, and the debt of its party for it.
//!
//! A slice is one poll of a run. A guest ends its slice at each epoch tick, but the epoch is not checked within one
//! instruction (`memory.fill`), during page faults, or while a guest is instantiated or dropped. The measure is
//! processor time of the thread, not wall-clock time, because a busy machine lengthens the wall-clock time of every
//! slice.
//!
//! Invariant: a party is in the map only while it has a debt, or until all debts are paid. The map is bounded.

use std::{
    cell::Cell,
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use super::cores::Party;
use crate::limits::{
    SLICE_DEBT_FACTOR, SLICE_DEBT_FREE, SLICE_DEBT_MAX, SLICE_DEBTORS_MAX, SLICE_MAX, SLICE_READING_AGE_MAX,
};

/// The wall clock and the processor time of a thread at one instant.
#[derive(Clone, Copy)]
struct ClockReading {
    at: std::time::Instant,
    computed: Duration,
}

thread_local! {
    static CLOCK_READING: Cell<Option<ClockReading>> = const { Cell::new(None) };
}

/// Performs a slice. Returns its result, and the processor time that it used beyond `SLICE_MAX`.
pub fn measure<T>(slice: impl FnOnce() -> T) -> (T, Duration) {
    let begun = std::time::Instant::now();
    let before = recent_reading(begun);
    let done = slice();
    let elapsed = begun.elapsed();
    if elapsed <= SLICE_MAX {
        return (done, Duration::ZERO);
    }
    let computed = thread_time().saturating_sub(before.computed).min(elapsed);
    (done, computed.saturating_sub(SLICE_MAX))
}

/// Returns a recent reading. The clock of a thread costs a system call, so one reading serves the short slices of a
/// millisecond.
fn recent_reading(now: std::time::Instant) -> ClockReading {
    match CLOCK_READING.get() {
        Some(last) if now.saturating_duration_since(last.at) <= SLICE_READING_AGE_MAX => last,
        _ => {
            let reading = ClockReading { at: now, computed: thread_time() };
            CLOCK_READING.set(Some(reading));
            reading
        }
    }
}

fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Computes on this thread for the given time.
#[cfg(test)]
pub fn compute(time: Duration) {
    let begun = thread_time();
    while thread_time() - begun < time {}
}

/// The debts of parties for their long slices.
#[derive(Default)]
pub struct Debts {
    /// False if the map is empty.
    has_debts: AtomicBool,
    table: Mutex<DebtTable>,
}

#[derive(Default)]
struct DebtTable {
    /// Time at which each debt is paid.
    ends: HashMap<Party, Instant>,
    last_end: Option<Instant>,
}

impl Debts {
    /// Returns true if the debt of a party has consequences. Takes no lock while there are no debts.
    pub fn is_in_debt(&self, party: &Party) -> bool {
        if !self.has_debts.load(Ordering::Relaxed) {
            return false;
        }
        let now = Instant::now();
        let mut table = self.table.lock();
        if table.last_end.is_none_or(|end| end <= now) {
            table.ends.clear();
            self.has_debts.store(false, Ordering::Relaxed);
            return false;
        }
        table.ends.get(party).is_some_and(|end| *end > now + SLICE_DEBT_FREE)
    }

    /// Adds the excess of a slice. Returns true if the debt has consequences from now on.
    pub fn add(&self, party: &Party, excess: Duration) -> bool {
        let now = Instant::now();
        let mut table = self.table.lock();
        let before = table.ends.get(party).map_or(now, |end| now.max(*end));
        let end = (before + excess.saturating_mul(SLICE_DEBT_FACTOR).min(SLICE_DEBT_MAX)).min(now + SLICE_DEBT_MAX);
        table.set(party, end, now);
        self.has_debts.store(true, Ordering::Relaxed);
        end > now + SLICE_DEBT_FREE
    }
}

impl DebtTable {
    fn set(&mut self, party: &Party, end: Instant, now: Instant) {
        if self.ends.len() >= SLICE_DEBTORS_MAX && !self.ends.contains_key(party) {
            self.ends.retain(|_, end| *end > now);
            if self.ends.len() >= SLICE_DEBTORS_MAX
                && let Some(first) = self.ends.iter().min_by_key(|(_, end)| **end).map(|(party, _)| party.clone())
            {
                self.ends.remove(&first);
            }
        }
        self.ends.insert(party.clone(), end);
        self.last_end = self.last_end.max(Some(end));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::advance;

    use super::*;

    fn party(tenant: &str) -> Party {
        ("notes".into(), tenant.into())
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn only_processor_time_above_the_limit_is_charged() {
        assert_eq!(measure(|| compute(SLICE_MAX / 4)).1, Duration::ZERO);
        let (_, excess) = measure(|| compute(SLICE_MAX + 20 * MS));
        assert!((20 * MS..=20 * MS + 2 * SLICE_READING_AGE_MAX).contains(&excess), "{excess:?}");
    }

    #[test]
    fn slice_that_only_waits_is_free() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let waited = measure(|| receiver.recv_timeout(SLICE_MAX + 20 * MS));
        assert_eq!(waited, (Err(std::sync::mpsc::RecvTimeoutError::Timeout), Duration::ZERO));
        drop(sender);
    }

    #[tokio::test(start_paused = true)]
    async fn first_long_tick_has_no_consequence_and_second_one_has() {
        let debts = Debts::default();
        assert!(!debts.add(&party("acme"), 6 * MS) && !debts.is_in_debt(&party("acme")));
        assert!(debts.add(&party("acme"), 6 * MS) && debts.is_in_debt(&party("acme")));
        assert!(!debts.is_in_debt(&party("other")));
    }

    #[tokio::test(start_paused = true)]
    async fn debt_expires_and_the_map_is_emptied() {
        let debts = Debts::default();
        debts.add(&party("acme"), 30 * MS);
        advance(30 * MS * SLICE_DEBT_FACTOR - SLICE_DEBT_FREE - MS).await;
        assert!(debts.is_in_debt(&party("acme")));
        advance(MS).await;
        assert!(!debts.is_in_debt(&party("acme")));
        advance(SLICE_DEBT_FREE).await;
        assert!(!debts.is_in_debt(&party("other")));
        assert!(!debts.has_debts.load(Ordering::Relaxed) && debts.table.lock().ends.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn largest_debts_are_kept_when_the_map_is_full() {
        let debts = Debts::default();
        debts.add(&party("crowd"), Duration::from_secs(1));
        for number in 0..2 * SLICE_DEBTORS_MAX {
            debts.add(&party(&number.to_string()), MS);
        }
        assert_eq!(debts.table.lock().ends.len(), SLICE_DEBTORS_MAX);
        assert!(debts.is_in_debt(&party("crowd")));
    }

    proptest! {
        /// No debt lasts longer than the largest one, for any sequence of excesses and pauses.
        #[test]
        fn debt_ends(steps in proptest::collection::vec((0_u64..100_000, 0_u64..5_000), 1..50)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let debts = Debts::default();
                for (excess_ms, pause_ms) in steps {
                    let debt = debts.add(&party("acme"), Duration::from_millis(excess_ms));
                    assert_eq!(debts.is_in_debt(&party("acme")), debt);
                    assert!(debt || excess_ms <= 10);
                    advance(Duration::from_millis(pause_ms)).await;
                }
                advance(SLICE_DEBT_MAX - SLICE_DEBT_FREE).await;
                assert!(!debts.is_in_debt(&party("acme")));
            });
        }
    }
}
