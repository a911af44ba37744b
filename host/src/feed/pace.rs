//! Limits the processor time of one tenant's streams: they send one after the other, at a limited rate.
//!
//! A commit makes all streams of a tenant ready at the same time, and each chunk costs a task and a write. Streams that wait for
//! their turn collect events, so a busy tenant gets fewer and larger chunks.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::limits::{STREAM_BURST_US, STREAM_BYTES_PER_US, STREAM_CHUNK_US};

pub struct Pacer {
    /// Orders the streams that wait. Its holder waits for the time alone.
    queue: tokio::sync::Mutex<()>,
    /// When the chunks counted so far would have been sent at the limited rate.
    busy_until: Mutex<Instant>,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { queue: tokio::sync::Mutex::default(), busy_until: Mutex::new(Instant::now()) }
    }
}

impl Pacer {
    /// Waits until a chunk may be sent, and counts it. Streams proceed in the order of their calls. Dropping the future leaves
    /// the queue.
    pub async fn wait(&self) {
        let _first = self.queue.lock().await;
        let soon = Instant::now() + Duration::from_micros(STREAM_BURST_US);
        let pause = self.busy_until.lock().saturating_duration_since(soon);
        if !pause.is_zero() {
            sleep(pause).await;
        }
        self.count(STREAM_CHUNK_US);
    }

    /// Counts the bytes of a chunk, which are known once the stream has waited.
    pub fn count_bytes(&self, bytes: usize) {
        self.count(bytes as u64 / STREAM_BYTES_PER_US);
    }

    fn count(&self, us: u64) {
        let mut busy_until = self.busy_until.lock();
        *busy_until = (*busy_until).max(Instant::now()) + Duration::from_micros(us);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::join_all};

    use super::*;

    async fn elapsed(pacer: &Pacer, chunks: usize, bytes: usize) -> Duration {
        let began = Instant::now();
        for _ in 0..chunks {
            pacer.wait().await;
            pacer.count_bytes(bytes);
        }
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn rate_of_chunks_is_limited_after_a_burst() {
        let pacer = Pacer::default();
        assert_eq!(elapsed(&pacer, 20, 0).await, Duration::ZERO);
        let (seconds, chunks) = (2, 2 * 1_000_000 / STREAM_CHUNK_US);
        let took = elapsed(&pacer, usize::try_from(chunks).unwrap(), 0).await;
        let (least, most) = (Duration::from_millis(seconds * 1_000 - 10), Duration::from_millis(seconds * 1_000 + 10));
        assert!(least <= took && took <= most, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn large_chunks_count_their_bytes() {
        let pacer = Pacer::default();
        let took = elapsed(&pacer, 1_000, 100_000).await;
        assert!(Duration::from_secs(1) <= took && took <= Duration::from_millis(1_300), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn streams_that_leave_the_queue_delay_no_other() {
        let pacer = Pacer::default();
        while pacer.wait().now_or_never().is_some() {}
        let dropped = join_all((0..1_000).map(|_| pacer.wait())).now_or_never();
        assert!(dropped.is_none(), "they wait");
        let took = elapsed(&pacer, 1, 0).await;
        assert!(took <= Duration::from_millis(2), "{took:?}");
    }
}
