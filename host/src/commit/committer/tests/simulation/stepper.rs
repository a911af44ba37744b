//! Polls futures one at a time, on one thread, and waits for SQLite if a future does.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::limits::OUTCOME_RETRY_MS;

/// Time by which the paused clock advances if a future waits only for time.
const PASSING: Duration = Duration::from_millis(OUTCOME_RETRY_MS);
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Reason why a future is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// SQLite, which makes progress by itself: the stepper waits for it.
    Database,
    /// Another future, which must be polled first.
    Elsewhere,
}

struct Flag {
    woken: AtomicBool,
    stepper: Thread,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, SeqCst);
        self.stepper.unpark();
    }
}

pub struct Driven<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    flag: Arc<Flag>,
    pub phase: Rc<Cell<Phase>>,
}

impl<T> Driven<T> {
    pub fn new(future: impl Future<Output = T> + 'static) -> Driven<T> {
        Driven::with_phase(future, Rc::new(Cell::new(Phase::Elsewhere)))
    }

    pub fn with_phase(future: impl Future<Output = T> + 'static, phase: Rc<Cell<Phase>>) -> Driven<T> {
        let flag = Arc::new(Flag { woken: AtomicBool::new(true), stepper: std::thread::current() });
        Driven { future: Box::pin(future), flag, phase }
    }

    pub fn is_woken(&self) -> bool {
        self.flag.woken.load(SeqCst)
    }

    /// Polls the future once.
    pub fn poll(&mut self) -> Option<T> {
        self.flag.woken.store(false, SeqCst);
        let waker = Waker::from(self.flag.clone());
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    /// Runs the future until it is done or waits for another future.
    pub async fn step(&mut self) -> Option<T> {
        loop {
            if !self.is_woken() {
                match self.phase.get() {
                    Phase::Database => self.wait(None).await,
                    Phase::Elsewhere => return None,
                }
            }
            if let Some(value) = self.poll() {
                return Some(value);
            }
            if self.phase.get() == Phase::Elsewhere {
                return None;
            }
        }
    }

    /// Waits until SQLite or a task of the runtime has woken the future. `passing` is the time by which the clock
    /// advances in each round.
    pub async fn wait(&self, passing: Option<Duration>) {
        let (begun, mut rounds) = (Instant::now(), 0_u32);
        while !self.is_woken() {
            rounds += 1;
            match passing {
                Some(time) => tokio::time::advance(time).await,
                None if has_tasks() => tokio::task::yield_now().await,
                // SQLite is never that slow, so the future waits for time to pass.
                None if rounds.is_multiple_of(100) => tokio::time::advance(PASSING).await,
                None => std::thread::park_timeout(Duration::from_millis(1)),
            }
            assert!(begun.elapsed() < STUCK_AFTER, "a future waits forever");
        }
    }
}

fn has_tasks() -> bool {
    tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0
}

/// Waits until no task of the runtime is left. The tasks are writes whose callers were dropped.
pub async fn settle_tasks() {
    let begun = Instant::now();
    while has_tasks() {
        tokio::task::yield_now().await;
        assert!(begun.elapsed() < STUCK_AFTER, "a task never ends");
    }
}

/// Yields once, so that the stepper decides when the caller continues.
pub async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// SplitMix64: the same numbers for the same seed on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}
