//! Activity of one connection, observed from outside of hyper: requests that run, bytes that the peer takes, answers that
//! wait for it. hyper's own timeout begins only when it knows the version of HTTP, and does not see a peer that never reads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use super::{body_memory::BodyMemory, paced::PacedAnswer};
use crate::{
    config::HttpConfig,
    limits::{ANSWER_LOOKS_PER_STALL, CONNECTION_IDLE_MS, HTTP2_SMALL_REQUESTS, HTTP2_STREAM_BYTES, STALLS_BEFORE_END},
};

pub(super) struct Activity {
    accepted_at: Instant,
    running: AtomicUsize,
    begun: AtomicUsize,
    /// Milliseconds after `accepted_at` at which the last request ended.
    rested_at_ms: AtomicU64,
    /// Bytes that the peer's connection has taken.
    written: AtomicU64,
    /// True while the peer does not take bytes that are ready to be written.
    is_blocked: AtomicBool,
    is_http2: AtomicBool,
    /// The peer sends too many control frames.
    is_flooded: AtomicBool,
    /// Too many requests of the peer's address were refused.
    refused: Notify,
    answers: Mutex<Vec<PacedAnswer>>,
    /// Another connection needs the place of this one.
    unwanted: Notify,
    is_dismissed: AtomicBool,
}

/// Limits for slow peers, as readers and as senders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// An answer that moves less than `bytes_per_second` over this time is cut.
    pub stall: Duration,
    pub bytes_per_second: u64,
}

impl Patience {
    pub(super) fn of(settings: &HttpConfig) -> Patience {
        Patience { stall: Duration::from_millis(settings.answer_stall_ms), bytes_per_second: settings.answer_rate_min }
    }
}

/// Reason why a connection is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Idle,
    SlowReader,
    Flood,
    Refused,
}

impl Activity {
    pub(super) fn new() -> Arc<Activity> {
        Arc::new(Activity {
            accepted_at: Instant::now(),
            running: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            rested_at_ms: AtomicU64::new(0),
            written: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            is_flooded: AtomicBool::new(false),
            refused: Notify::new(),
            answers: Mutex::default(),
            unwanted: Notify::new(),
            is_dismissed: AtomicBool::new(false),
        })
    }

    /// Begins a request; the connection is busy until the value is dropped.
    pub(super) fn begin(self: &Arc<Self>, is_http2: bool) -> Running {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        if is_http2 {
            self.is_http2.store(true, Ordering::Relaxed);
        }
        Running { activity: Arc::clone(self), memory: None }
    }

    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Returns how long the connection has been idle; `None` while a request runs, or its answer is being written.
    pub(super) fn resting(&self) -> Option<Duration> {
        if self.is_busy() || self.is_blocked.load(Ordering::Relaxed) {
            return None;
        }
        let rested_at = Duration::from_millis(self.rested_at_ms.load(Ordering::Relaxed));
        Some(self.accepted_at.elapsed().saturating_sub(rested_at))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// The peer took bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.is_blocked.load(Ordering::Relaxed) {
            self.is_blocked.store(false, Ordering::Relaxed);
        }
    }

    /// There is something to write, and it takes nothing.
    pub(super) fn note_blocked(&self) {
        self.is_blocked.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_flood(&self) {
        self.is_flooded.store(true, Ordering::Relaxed);
    }

    /// Returns the reason if the connection ended because of what its peer sent.
    pub(super) fn flooded(&self) -> Option<Reason> {
        self.is_flooded.load(Ordering::Relaxed).then_some(Reason::Flood)
    }

    pub(super) fn has_served(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > 0
    }

    /// Signals the connection to make room.
    pub(super) fn dismiss(&self) {
        self.is_dismissed.store(true, Ordering::Relaxed);
        self.unwanted.notify_one();
    }

    /// Returns true once the connection was dismissed. It may take a moment to end.
    pub(super) fn is_dismissed(&self) -> bool {
        self.is_dismissed.load(Ordering::Relaxed)
    }

    pub(super) async fn dismissed(&self) {
        self.unwanted.notified().await;
    }

    /// Ends when the connection should: no request has begun in time, none has run for `CONNECTION_IDLE_MS`, the peer does not
    /// take what is sent to it, or too many of its requests were refused.
    pub(super) async fn wait_for_end(&self, head_until: Instant, patience: Patience) -> Reason {
        tokio::select! {
            () = self.wait_for_idleness(head_until) => Reason::Idle,
            () = self.wait_for_slow_reader(patience) => Reason::SlowReader,
            () = self.refused.notified() => Reason::Refused,
        }
    }

    async fn wait_for_idleness(&self, head_until: Instant) {
        sleep_until(head_until).await;
        if !self.has_served() {
            return;
        }
        let idle = Duration::from_millis(CONNECTION_IDLE_MS);
        loop {
            sleep(idle).await;
            if self.resting().is_some_and(|resting| resting >= idle) {
                return;
            }
        }
    }

    async fn wait_for_slow_reader(&self, patience: Patience) {
        // Since when it is blocked, and how much was written by then.
        let mut blocked: Option<(Instant, u64)> = None;
        loop {
            sleep(patience.stall / ANSWER_LOOKS_PER_STALL).await;
            let (now, written) = (Instant::now(), self.written.load(Ordering::Relaxed));
            blocked = match (self.is_blocked.load(Ordering::Relaxed), blocked) {
                (false, _) => None,
                (true, None) => Some((now, written)),
                (true, Some((since, before))) if now - since >= patience.stall => {
                    if written - before <= patience.bytes_per_second.saturating_mul((now - since).as_secs()) {
                        return;
                    }
                    Some((now, written))
                }
                (true, known) => known,
            };
            if self.cut_answers(now, patience.stall) {
                return;
            }
        }
    }

    /// Cuts answers that have not moved; whether one of them is still there long after that.
    fn cut_answers(&self, now: Instant, stall: Duration) -> bool {
        let mut is_stuck = false;
        self.answers.lock().retain(|answer| {
            let Some(moved_at) = answer.moved_at() else { return false };
            if now - moved_at >= stall {
                answer.cut();
            }
            is_stuck |= now - moved_at >= stall * STALLS_BEFORE_END;
            true
        });
        is_stuck
    }
}

/// A request that runs; ends when it is dropped, also when the caller goes away.
pub struct Running {
    activity: Arc<Activity>,
    /// Charge of its stream, on a crowded connection.
    memory: Option<BodyMemory>,
}

impl Running {
    pub(super) fn is_http2(&self) -> bool {
        self.activity.is_http2()
    }

    /// Returns true if more requests run on the connection, this one included, than may run without a charge.
    pub(super) fn is_crowded(&self) -> bool {
        self.is_http2() && self.activity.running.load(Ordering::Relaxed) > HTTP2_SMALL_REQUESTS
    }

    pub(super) fn keep(&mut self, memory: Option<BodyMemory>) {
        self.memory = memory;
    }

    /// Ends the connection of a request that was refused beside too many others.
    pub(super) fn end_connection(&self) {
        self.activity.refused.notify_one();
    }

    /// The answer is made: only its stream is left.
    pub(super) fn shrink_memory(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.shrink_to(HTTP2_STREAM_BYTES);
        }
    }

    /// An answer that is sent piece by piece.
    pub(super) fn watch(&self, answer: PacedAnswer) {
        let mut answers = self.activity.answers.lock();
        if answers.len() == answers.capacity() {
            answers.retain(|answer| answer.moved_at().is_some());
        }
        answers.push(answer);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let rested_at = self.activity.accepted_at.elapsed().as_millis();
        self.activity.rested_at_ms.store(u64::try_from(rested_at).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.activity.running.fetch_sub(1, Ordering::Relaxed);
    }
}
