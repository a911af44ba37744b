//! Processor time for guests that compute for longer than one tick of the engine.
//!
//! A call computes its first tick without a permit, so short calls never wait here. After that it holds a permit and
//! requests a new one at each tick, so that plugins and tenants alternate tick by tick. There are as many permits as
//! the runtime has threads. Calls of one plugin and tenant run in sequence, because interleaving equal calls only makes
//! all of them late. After `CORE_TICKS_PER_LEVEL` ticks, a call lets the calls of its party among the next
//! `CORE_CALLS_PER_LEVEL` calls pass. It falls behind, and no call starves it.
//!
//! A run that occupies its thread for long without a tick puts its party into debt (`slices`). Runs of a party in debt
//! share a second set of half as many permits, and compute only while they hold one, from the beginning. Their slices
//! run in blocking sections, in which another thread takes over the other tasks of the runtime thread. The operating
//! system then shares the processor between the slices and everything else.
//!
//! Invariant: a run waits for a permit before it begins, at a tick, and at the end of a host call, but never inside a
//! host call, where it may hold a database connection.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::future::join;
use parking_lot::Mutex;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{block_in_place, yield_now},
    time::{Instant, timeout_at},
};

use super::{
    Bounds, Fair, Permit, Queueing, Request,
    slices::{self, Debts},
};
use crate::limits::{CORE_CALLS_PER_LEVEL, CORE_TICKS_PER_LEVEL};

/// Plugin, and tenant or address.
pub type Party = (Arc<str>, Arc<str>);

pub struct Cores {
    permits: Arc<Fair<Party>>,
    /// Permits for runs of parties in debt.
    debt_permits: Arc<Fair<Party>>,
    debts: Debts,
    started: AtomicU64,
}

impl Cores {
    /// Creates one permit for each thread of the current runtime.
    pub fn of_runtime() -> Arc<Cores> {
        Cores::new(Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers()))
    }

    pub fn new(count: usize) -> Arc<Cores> {
        let fair = |count: usize| {
            let capacity = (count as u64).max(1);
            Fair::new(Bounds { capacity, share: capacity, waiting_max: usize::MAX, waiting_each_max: usize::MAX })
        };
        Arc::new(Cores {
            permits: fair(count),
            debt_permits: fair(count / 2),
            debts: Debts::default(),
            started: AtomicU64::new(0),
        })
    }

    /// Returns the number of calls that wait for a core.
    pub fn waiting(&self) -> usize {
        self.permits.waiting() + self.debt_permits.waiting()
    }
}

/// Use of the cores by one run. Clones refer to the same run.
#[derive(Clone)]
pub struct CoreUse(Arc<Usage>);

struct Usage {
    cores: Arc<Cores>,
    party: Party,
    /// Sequence number, assigned with the first request. It orders the runs of a party.
    number: OnceLock<u64>,
    ticks: AtomicU64,
    held: Mutex<Option<Permit<Party>>>,
    /// True if the party was in debt when the run was created, or was put into debt by this run. Never reset.
    is_in_debt: AtomicBool,
}

impl CoreUse {
    pub fn new(cores: Arc<Cores>, party: Party) -> CoreUse {
        let is_in_debt = AtomicBool::new(cores.debts.is_in_debt(&party));
        let (number, ticks, held) = (OnceLock::new(), AtomicU64::new(0), Mutex::new(None));
        CoreUse(Arc::new(Usage { cores, party, number, ticks, held, is_in_debt }))
    }

    /// Returns a future to await at each tick. It completes when the run may compute for another tick.
    pub fn next_tick(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.ticks.fetch_add(1, Ordering::Relaxed);
        let usage = self.0.clone();
        async move {
            usage.hold().await;
            // Yields to everything that is ready. A woken task would otherwise run before short calls.
            yield_now().await;
        }
    }

    /// Releases the permit while the run waits for something else.
    pub fn pause(&self) {
        if self.0.ticks.load(Ordering::Relaxed) > 0 || self.0.is_in_debt() {
            let held = self.0.held.lock().take();
            drop(held);
        }
    }

    /// Returns a future to await after the wait that `pause` was called for. Returns `None` if the run needs no permit
    /// to continue.
    pub fn resume(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        self.0.is_in_debt().then(|| self.next_permit())
    }

    /// Acquires a permit and completes in another poll, which `run` performs in a blocking section.
    fn next_permit(&self) -> impl Future<Output = ()> + Send + 'static {
        let usage = self.0.clone();
        async move {
            usage.hold().await;
            yield_now().await;
        }
    }

    /// Polls a run to its end. Returns `None` without polling it if its party is in debt and no core is free until
    /// `begin_by`.
    pub async fn run<T>(&self, mut run: Pin<&mut impl Future<Output = T>>, begin_by: Instant) -> Option<T> {
        let usage = &*self.0;
        if usage.is_in_debt() {
            // Boxed, because this case is rare and other runs should not carry its state.
            Box::pin(timeout_at(begin_by, usage.hold())).await.ok()?;
        }
        let done = poll_fn(|context| match usage.runs_blocking() {
            true => run_blocking(|| usage.poll_slice(run.as_mut(), context)),
            false => usage.poll_slice(run.as_mut(), context),
        });
        let done = done.await;
        self.pause();
        Some(done)
    }
}

impl Usage {
    fn is_in_debt(&self) -> bool {
        self.is_in_debt.load(Ordering::Relaxed)
    }

    fn rank(&self) -> u64 {
        let number = self.number.get_or_init(|| self.cores.started.fetch_add(1, Ordering::Relaxed));
        let levels = self.ticks.load(Ordering::Relaxed) / CORE_TICKS_PER_LEVEL;
        number.saturating_add(levels.saturating_mul(CORE_CALLS_PER_LEVEL))
    }

    /// Returns true if slices run in a blocking section. A slice inside a host call holds no permit, because it is
    /// short.
    fn runs_blocking(&self) -> bool {
        self.is_in_debt() && self.held.lock().is_some()
    }

    /// Waits until the run holds a permit. The deadline of the call ends the wait.
    async fn hold(&self) {
        let mut last = self.held.lock().take();
        loop {
            let is_in_debt = self.is_in_debt();
            let permits = if is_in_debt { &self.cores.debt_permits } else { &self.cores.permits };
            let request = Request { amount: 1, rank: self.rank(), queueing: Queueing::Reserved };
            let next = permits.acquire(&self.party, request, None);
            // The run is queued before it releases its last permit, so that it continues if no other run is ahead of
            // it.
            let (next, ()) = join(next, async { drop(last) }).await;
            // The slice that ended here may have put its party into debt. Then the run needs a debt permit.
            if self.is_in_debt() == is_in_debt {
                *self.held.lock() = next.ok();
                return;
            }
            last = next.ok();
        }
    }

    fn poll_slice<F: Future>(&self, run: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (polled, excess) = slices::measure(|| run.poll(context));
        if !excess.is_zero() && self.cores.debts.add(&self.party, excess) {
            self.is_in_debt.store(true, Ordering::Relaxed);
        }
        polled
    }
}

/// Runs `work` in a blocking section, in which another thread takes over the other tasks of this one, if the runtime
/// supports it.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;

    fn party(tenant: &str) -> Party {
        ("notes".into(), tenant.into())
    }

    async fn compute(cores: Arc<Cores>, tenant: &'static str, ticks: u64, order: Arc<Mutex<Vec<&'static str>>>) {
        let usage = CoreUse::new(cores, party(tenant));
        for _ in 0..ticks {
            usage.next_tick().await;
            // Holds the permit while other runs request one.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        order.lock().push(tenant);
    }

    #[tokio::test(start_paused = true)]
    async fn single_call_is_not_delayed_by_many_calls_of_another_tenant() {
        let (cores, order) = (Cores::new(1), Arc::new(Mutex::new(Vec::new())));
        let crowd = (0..20).map(|_| compute(cores.clone(), "crowd", 10, order.clone()));
        let single = compute(cores.clone(), "single", 10, order.clone());
        futures_util::future::join(futures_util::future::join_all(crowd), single).await;
        let at = order.lock().iter().position(|name| *name == "single");
        assert!(at.is_some_and(|at| at <= 2), "{at:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_one_tenant_run_in_sequence() {
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
    async fn long_call_falls_behind() {
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

    /// No call gets a second tick before the call of every other tenant has its first one, in any order of names.
    #[tokio::test(start_paused = true)]
    async fn tenants_with_one_long_call_each_finish_together() {
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
    async fn tenant_with_two_calls_gets_the_same_share_as_tenants_with_one() {
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
        let usage = CoreUse::new(cores.clone(), party("acme"));
        usage.next_tick().await;
        assert_eq!(cores.permits.used(), 1);
        usage.pause();
        assert_eq!(cores.permits.used(), 0);
    }

    /// Repeatedly computes for 20 ms, and records the largest number of concurrent computations.
    async fn compute_at_once(slices: usize, at_once: &[AtomicU64; 2]) {
        let [now, most] = at_once;
        for _ in 0..slices {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            slices::compute(std::time::Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
            yield_now().await;
        }
    }

    fn in_debt(cores: &Arc<Cores>) -> CoreUse {
        cores.debts.add(&party("acme"), std::time::Duration::from_secs(1));
        CoreUse::new(cores.clone(), party("acme"))
    }

    fn later(milliseconds: u64) -> Instant {
        Instant::now() + std::time::Duration::from_millis(milliseconds)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_slices_of_a_party_in_debt_run_in_sequence_on_two_threads() {
        let (cores, at_once) = (Cores::new(2), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let (usage, at_once) = (in_debt(&cores), at_once.clone());
            calls.spawn(async move {
                let run = std::pin::pin!(compute_at_once(3, &at_once));
                usage.run(run, later(60_000)).await.is_some()
            });
        }
        assert_eq!(calls.join_all().await, [true; 6]);
        assert_eq!(at_once[1].load(Ordering::SeqCst), 1);
        assert_eq!((cores.debt_permits.used(), cores.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn run_that_becomes_slow_needs_permits_from_its_next_slice() {
        let (cores, at_once) = (Cores::new(2), [AtomicU64::new(0), AtomicU64::new(0)]);
        let usage = CoreUse::new(cores.clone(), party("acme"));
        let seen = Mutex::new(Vec::new());
        let run = std::pin::pin!(async {
            for _ in 0..3 {
                seen.lock().push((cores.permits.used(), cores.debt_permits.used()));
                compute_at_once(1, &at_once).await;
                usage.next_tick().await;
            }
        });
        assert!(usage.run(run, later(60_000)).await.is_some());
        assert_eq!(*seen.lock(), [(0, 0), (0, 1), (0, 1)]);
        assert!(CoreUse::new(cores.clone(), party("acme")).0.is_in_debt());
        assert_eq!((cores.permits.used(), cores.debt_permits.used()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn party_in_debt_holds_nothing_while_its_run_waits() {
        let cores = Cores::new(2);
        let (waiting, other) = (in_debt(&cores), in_debt(&cores));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let waits = std::pin::pin!(async {
            assert_eq!(cores.debt_permits.used(), 1);
            waiting.pause();
            let received = receiver.await.unwrap();
            waiting.resume().unwrap().await;
            received
        });
        let passes = std::pin::pin!(async { sender.send(cores.debt_permits.used()).unwrap() });
        let (received, _) = join(waiting.run(waits, later(1_000)), other.run(passes, later(1_000))).await;
        assert_eq!(received, Some(1));
        assert_eq!(cores.debt_permits.used(), 0);
    }

    /// A host call may hold a database connection.
    #[tokio::test(start_paused = true)]
    async fn run_in_debt_finishes_its_host_call_without_a_permit() {
        let cores = Cores::new(2);
        let usage = in_debt(&cores);
        let (begun, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let call_ended = Arc::new(Notify::new());
        let run = tokio::spawn({
            let (usage, begun, answer, call_ended) = (usage.clone(), begun.clone(), answer.clone(), call_ended.clone());
            async move {
                let run = std::pin::pin!(async {
                    usage.pause();
                    begun.notify_one();
                    answer.notified().await;
                    call_ended.notify_one();
                    usage.resume().unwrap().await;
                    usage.0.cores.debt_permits.used()
                });
                usage.run(run, later(60_000)).await
            }
        });
        begun.notified().await;
        let request = Request { amount: 1, rank: 0, queueing: Queueing::Reserved };
        let taken = cores.debt_permits.acquire(&party("other"), request, None).await.unwrap();
        answer.notify_one();
        call_ended.notified().await;
        assert!(!run.is_finished());
        drop(taken);
        assert_eq!(run.await.unwrap(), Some(1));
        assert_eq!(cores.debt_permits.used(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn run_in_debt_without_a_core_in_time_does_not_begin() {
        let cores = Cores::new(2);
        let request = Request { amount: 1, rank: 0, queueing: Queueing::Reserved };
        let held = cores.debt_permits.acquire(&party("other"), request, later(0)).await.unwrap();
        let run = std::pin::pin!(async { unreachable!("it has no permit") });
        assert_eq!(in_debt(&cores).run(run, later(50)).await, None::<()>);
        assert_eq!(cores.waiting(), 0);
        drop(held);
        assert_eq!(cores.debt_permits.used(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_of_a_party_in_debt_run_in_sequence_and_parties_alternate() {
        let (cores, order) = (Cores::new(1), Mutex::new(Vec::new()));
        let call = async |tenant: &'static str, number: usize| {
            cores.debts.add(&party(tenant), std::time::Duration::from_secs(1));
            let usage = CoreUse::new(cores.clone(), party(tenant));
            let run = std::pin::pin!(async {
                for _ in 0..5 {
                    tokio::time::advance(std::time::Duration::from_millis(10)).await;
                    usage.next_tick().await;
                }
                order.lock().push((tenant, number));
            });
            usage.run(run, later(60_000)).await.unwrap();
        };
        let crowd = futures_util::future::join_all((0..6).map(|number| call("crowd", number)));
        join(crowd, call("single", 0)).await;
        let order = order.into_inner();
        let at = order.iter().position(|(tenant, _)| *tenant == "single");
        assert!(at.is_some_and(|at| at <= 2), "{order:?}");
        assert!(order.iter().filter(|(tenant, _)| *tenant == "crowd").is_sorted(), "{order:?}");
    }
}
