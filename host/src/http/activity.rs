//! Activity of one connection, observed from outside hyper: active requests, bytes that the peer accepts, and responses
//! that wait for it. hyper's own timeout starts only once the HTTP version is known, and does not detect a peer that
//! never reads.

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

use super::{body_memory::BodyMemory, paced::PacedHandle};
use crate::{
    config::HttpConfig,
    limits::{
        CONNECTION_IDLE_MS, HTTP2_SMALL_REQUESTS, HTTP2_STREAM_BYTES, PROGRESS_CHECKS_PER_STALL, STALLS_BEFORE_CLOSE,
    },
};

pub(super) struct Activity {
    accepted_at: Instant,
    active: AtomicUsize,
    begun: AtomicUsize,
    /// Milliseconds after `accepted_at` at which the last request ended.
    idle_since_ms: AtomicU64,
    /// Bytes written to the peer.
    written: AtomicU64,
    /// True while the peer does not accept bytes that are ready to be written.
    is_blocked: AtomicBool,
    is_http2: AtomicBool,
    /// True if the peer sent too many control frames.
    is_flooded: AtomicBool,
    /// Notified when too many requests of the peer's address were refused.
    refusals: Notify,
    responses: Mutex<Vec<PacedHandle>>,
    /// Notified when another connection needs the slot of this one.
    eviction: Notify,
    is_evicted: AtomicBool,
}

/// Minimum progress of slow peers, as readers and as senders.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgressLimits {
    /// A transfer that moves less than `bytes_per_second` over this time is aborted.
    pub stall_timeout: Duration,
    pub bytes_per_second: u64,
}

impl ProgressLimits {
    pub(super) fn of(settings: &HttpConfig) -> ProgressLimits {
        ProgressLimits {
            stall_timeout: Duration::from_millis(settings.answer_stall_ms),
            bytes_per_second: settings.answer_rate_min,
        }
    }
}

/// Why the host closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    Idle,
    SlowReader,
    ControlFlood,
    RefusedRequests,
}

impl Activity {
    pub(super) fn new() -> Arc<Activity> {
        Arc::new(Activity {
            accepted_at: Instant::now(),
            active: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            idle_since_ms: AtomicU64::new(0),
            written: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            is_flooded: AtomicBool::new(false),
            refusals: Notify::new(),
            responses: Mutex::default(),
            eviction: Notify::new(),
            is_evicted: AtomicBool::new(false),
        })
    }

    /// Registers an active request. The connection is busy until the value is dropped.
    pub(super) fn begin(self: &Arc<Self>, is_http2: bool) -> ActiveRequest {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
        if is_http2 {
            self.is_http2.store(true, Ordering::Relaxed);
        }
        ActiveRequest { activity: Arc::clone(self), memory: None }
    }

    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Returns how long the connection has been idle. Returns `None` while a request is active or the peer does not
    /// accept bytes that are ready to be written.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        if self.is_busy() || self.is_blocked.load(Ordering::Relaxed) {
            return None;
        }
        let idle_since = Duration::from_millis(self.idle_since_ms.load(Ordering::Relaxed));
        Some(self.accepted_at.elapsed().saturating_sub(idle_since))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    /// Records bytes that the peer accepted.
    pub(super) fn record_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.is_blocked.load(Ordering::Relaxed) {
            self.is_blocked.store(false, Ordering::Relaxed);
        }
    }

    /// Records that bytes are ready and the peer does not accept them.
    pub(super) fn record_blocked(&self) {
        self.is_blocked.store(true, Ordering::Relaxed);
    }

    pub(super) fn record_flood(&self) {
        self.is_flooded.store(true, Ordering::Relaxed);
    }

    /// Returns the reason if the connection ended because of a control frame flood.
    pub(super) fn flood_reason(&self) -> Option<CloseReason> {
        self.is_flooded.load(Ordering::Relaxed).then_some(CloseReason::ControlFlood)
    }

    pub(super) fn has_served(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > 0
    }

    /// Signals the connection to close and free its slot.
    pub(super) fn evict(&self) {
        self.is_evicted.store(true, Ordering::Relaxed);
        self.eviction.notify_one();
    }

    /// Returns true once the connection was evicted. It may still be closing.
    pub(super) fn is_evicted(&self) -> bool {
        self.is_evicted.load(Ordering::Relaxed)
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// Waits until the connection must close and returns the reason: no request began in time, none was active for
    /// `CONNECTION_IDLE_MS`, the peer does not accept what is sent to it, or too many of its requests were refused.
    pub(super) async fn wait_for_close_reason(&self, head_deadline: Instant, limits: ProgressLimits) -> CloseReason {
        tokio::select! {
            () = self.wait_for_idle(head_deadline) => CloseReason::Idle,
            () = self.wait_for_slow_reader(limits) => CloseReason::SlowReader,
            () = self.refusals.notified() => CloseReason::RefusedRequests,
        }
    }

    async fn wait_for_idle(&self, head_deadline: Instant) {
        sleep_until(head_deadline).await;
        if !self.has_served() {
            return;
        }
        let idle = Duration::from_millis(CONNECTION_IDLE_MS);
        loop {
            sleep(idle).await;
            if self.idle_for().is_some_and(|idle_for| idle_for >= idle) {
                return;
            }
        }
    }

    async fn wait_for_slow_reader(&self, limits: ProgressLimits) {
        // Start of the current stall, and the bytes written by then.
        let mut blocked: Option<(Instant, u64)> = None;
        loop {
            sleep(limits.stall_timeout / PROGRESS_CHECKS_PER_STALL).await;
            let (now, written) = (Instant::now(), self.written.load(Ordering::Relaxed));
            blocked = match (self.is_blocked.load(Ordering::Relaxed), blocked) {
                (false, _) => None,
                (true, None) => Some((now, written)),
                (true, Some((since, before))) if now - since >= limits.stall_timeout => {
                    if written - before <= limits.bytes_per_second.saturating_mul((now - since).as_secs()) {
                        return;
                    }
                    Some((now, written))
                }
                (true, known) => known,
            };
            if self.cut_responses(now, limits.stall_timeout) {
                return;
            }
        }
    }

    /// Cuts responses without progress. Returns true if a response is still open long after it was cut.
    fn cut_responses(&self, now: Instant, stall_timeout: Duration) -> bool {
        let mut is_stuck = false;
        self.responses.lock().retain(|response| {
            let Some(progress_at) = response.progress_at() else { return false };
            if now - progress_at >= stall_timeout {
                response.cut();
            }
            is_stuck |= now - progress_at >= stall_timeout * STALLS_BEFORE_CLOSE;
            true
        });
        is_stuck
    }
}

/// An active request. Dropping the value ends it, including when the caller disconnects.
pub struct ActiveRequest {
    activity: Arc<Activity>,
    /// Memory charge of its stream, if one is required.
    memory: Option<BodyMemory>,
}

impl ActiveRequest {
    pub(super) fn is_http2(&self) -> bool {
        self.activity.is_http2()
    }

    /// Returns true if more requests are active on the connection, this one included, than may run without a charge.
    pub(super) fn requires_charge(&self) -> bool {
        self.is_http2() && self.activity.active.load(Ordering::Relaxed) > HTTP2_SMALL_REQUESTS
    }

    pub(super) fn set_memory(&mut self, memory: Option<BodyMemory>) {
        self.memory = memory;
    }

    /// Closes the connection because too many refused requests of its peer's address are waiting.
    pub(super) fn close_connection(&self) {
        self.activity.refusals.notify_one();
    }

    /// Reduces the charge to that of the stream alone, once the response exists.
    pub(super) fn shrink_memory(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.shrink_to(HTTP2_STREAM_BYTES);
        }
    }

    /// Monitors a response that is sent chunk by chunk.
    pub(super) fn monitor(&self, response: PacedHandle) {
        let mut responses = self.activity.responses.lock();
        if responses.len() == responses.capacity() {
            responses.retain(|response| response.progress_at().is_some());
        }
        responses.push(response);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let idle_since = self.activity.accepted_at.elapsed().as_millis();
        self.activity.idle_since_ms.store(u64::try_from(idle_since).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.activity.active.fetch_sub(1, Ordering::Relaxed);
    }
}
