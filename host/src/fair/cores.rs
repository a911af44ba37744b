//! Processor time for guests that compute for longer than one tick of the engine.
//!
//! A call computes its first tick at once, so short calls never come here. From then on it holds one of as many permits as
//! the runtime has threads, and requests a new one at each tick: plugins and tenants alternate tick by tick. Calls of one
//! plugin and tenant go one after the other, because interleaving equals only makes all of them late; one that has used
//! `CORE_TICKS_PER_LEVEL` ticks lets the next `CORE_CALLS_PER_LEVEL` calls pass: it falls behind, and none starves it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::join;
use parking_lot::Mutex;
use tokio::{runtime::Handle, time::Instant};

use super::{Bounds, Fair, Permit, Queueing, Request};
use crate::limits::{CORE_CALLS_PER_LEVEL, CORE_TICKS_PER_LEVEL, CORE_WAIT};

/// Plugin, and tenant or address.
pub type Party = (Arc<str>, Arc<str>);

pub struct Cores {
    permits: Arc<Fair<Party>>,
    started: AtomicU64,
}

impl Cores {
    /// One permit for each thread of the runtime that this is called on.
    pub fn of_runtime() -> Arc<Cores> {
        Cores::new(Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers()))
    }

    pub fn new(count: usize) -> Arc<Cores> {
        let capacity = (count as u64).max(1);
        let bounds = Bounds { capacity, share: capacity, waiting_max: usize::MAX, waiting_each_max: usize::MAX };
        Arc::new(Cores { permits: Fair::new(bounds), started: AtomicU64::new(0) })
    }

    /// Calls that wait for a core.
    pub fn waiting(&self) -> usize {
        self.permits.waiting()
    }
}

/// What one run has of the cores.
pub struct CoreUse {
    cores: Arc<Cores>,
    party: Party,
    turns: Option<Turns>,
}

/// Of a run that has computed for a tick.
struct Turns {
    number: u64,
    ticks: u64,
    held: Arc<Mutex<Option<Permit<Party>>>>,
}

impl CoreUse {
    pub fn new(cores: Arc<Cores>, party: Party) -> CoreUse {
        CoreUse { cores, party, turns: None }
    }

    /// To be awaited at each tick: ends when the run may compute for another one.
    pub fn next_tick(&mut self) -> impl Future<Output = ()> + Send + 'static {
        let cores = self.cores.clone();
        let turns = self.turns.get_or_insert_with(|| Turns {
            number: cores.started.fetch_add(1, Ordering::Relaxed),
            ticks: 0,
            held: Arc::default(),
        });
        turns.ticks += 1;
        let behind = (turns.ticks / CORE_TICKS_PER_LEVEL).saturating_mul(CORE_CALLS_PER_LEVEL);
        let rank = turns.number.saturating_add(behind);
        let (held, party) = (turns.held.clone(), self.party.clone());
        async move {
            let last = held.lock().take();
            let request = Request { amount: 1, rank, queueing: Queueing::Reserved };
            // The deadline of the call ends the wait.
            let next = cores.permits.acquire(&party, request, Instant::now() + CORE_WAIT);
            // It is in line before it gives its core back, so that it goes on where nobody is ahead of it.
            if let (Ok(permit), ()) = join(next, async { drop(last) }).await {
                *held.lock() = Some(permit);
            }
            // Behind everything that is ready: a woken task would otherwise go before short calls.
            tokio::task::yield_now().await;
        }
    }

    /// The run waits for something else: others may compute meanwhile.
    pub fn pause(&mut self) {
        if let Some(turns) = &self.turns {
            let held = turns.held.lock().take();
            drop(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(tenant: &str) -> Party {
        ("notes".into(), tenant.into())
    }

    async fn compute(cores: Arc<Cores>, tenant: &'static str, ticks: u64, order: Arc<Mutex<Vec<&'static str>>>) {
        let mut usage = CoreUse::new(cores, party(tenant));
        for _ in 0..ticks {
            usage.next_tick().await;
            // The permit is held while others look for one.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        order.lock().push(tenant);
    }

    #[tokio::test(start_paused = true)]
    async fn tenant_with_one_call_is_not_delayed_by_a_crowd_of_another() {
        let (cores, order) = (Cores::new(1), Arc::new(Mutex::new(Vec::new())));
        let crowd = (0..20).map(|_| compute(cores.clone(), "crowd", 10, order.clone()));
        let single = compute(cores.clone(), "single", 10, order.clone());
        futures_util::future::join(futures_util::future::join_all(crowd), single).await;
        let at = order.lock().iter().position(|name| *name == "single");
        assert!(at.is_some_and(|at| at <= 2), "{at:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_one_tenant_end_one_after_the_other() {
        let (cores, order) = (Cores::new(1), Arc::new(Mutex::new(Vec::new())));
        let begun = Instant::now();
        let first = compute(cores.clone(), "acme", 10, order.clone());
        let rest = (0..9).map(|_| compute(cores.clone(), "acme", 10, order.clone()));
        let rest = futures_util::future::join_all(rest);
        let first = async {
            first.await;
            begun.elapsed()
        };
        let (first, _) = futures_util::future::join(first, rest).await;
        assert!(first.as_millis() < 60, "{first:?} of 200 ms");
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_computes_for_long_falls_behind() {
        let (cores, order) = (Cores::new(1), Arc::new(Mutex::new(Vec::new())));
        let endless = compute(cores.clone(), "acme", 20 * CORE_TICKS_PER_LEVEL, order.clone());
        let brief = async {
            tokio::time::sleep(std::time::Duration::from_millis(4 * CORE_TICKS_PER_LEVEL)).await;
            let begun = Instant::now();
            compute(cores.clone(), "acme", 5, order.clone()).await;
            begun.elapsed()
        };
        let (_, took) = futures_util::future::join(endless, brief).await;
        assert!(took.as_millis() < 50, "{took:?}");
    }

    /// No call gets a second tick before the call of each other tenant has its first, in any order of names.
    #[tokio::test(start_paused = true)]
    async fn tenants_with_one_long_call_each_end_together() {
        for names in [["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"], ["c", "a", "e", "b", "d"]] {
            let cores = Cores::new(2);
            let begun = Instant::now();
            let calls = names.map(|name| {
                let cores = cores.clone();
                async move {
                    compute(cores, name, 50, Arc::default()).await;
                    begun.elapsed().as_millis()
                }
            });
            let ends = futures_util::future::join_all(calls).await;
            // 250 ticks of 2 ms on two cores.
            assert!(ends.iter().all(|end| (242..=252).contains(end)), "{ends:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tenant_with_two_calls_gets_as_much_as_those_with_one() {
        let cores = Cores::new(2);
        let begun = Instant::now();
        let ended = async |name, ticks| {
            compute(cores.clone(), name, ticks, Arc::default()).await;
            begun.elapsed().as_millis()
        };
        let singles = futures_util::future::join3(ended("a", 100), ended("b", 100), ended("c", 100));
        let double = futures_util::future::join(ended("z", 50), ended("z", 50));
        let (singles, double) = futures_util::future::join(singles, double).await;
        let ends = [singles.0, singles.1, singles.2, double.0.max(double.1)];
        assert!(ends.iter().all(|end| (380..=410).contains(end)), "{ends:?} of 400 ms");
    }

    #[tokio::test]
    async fn paused_run_holds_no_core() {
        let cores = Cores::new(1);
        let mut usage = CoreUse::new(cores.clone(), party("acme"));
        usage.next_tick().await;
        assert_eq!(cores.permits.used(), 1);
        usage.pause();
        assert_eq!(cores.permits.used(), 0);
    }
}
