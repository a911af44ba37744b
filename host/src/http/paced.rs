//! A response over HTTP/2, passed to the connection chunk by chunk.
//!
//! hyper polls the body for the next chunk only after the reader has opened its window for the previous one. The
//! connection keeps a handle on the rest. If the reader accepts nothing for too long, the handle releases the memory at
//! once, and the stream is reset when hyper polls for the next chunk. Responses of the host itself have no charge. They
//! are paced so that their streams are reset in the same way.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{activity::ActiveRequest, body::SlowReader};
use crate::{budget::Charge, limits::PACED_CHUNK_BYTES};

pub struct PacedBody {
    state: Arc<Mutex<ResponseState>>,
    /// Keeps the request active until the response is sent.
    _active: Option<ActiveRequest>,
}

/// State shared by the body and its chunks. The charge ends when the last reference is dropped. The connection holds a
/// weak reference.
struct ResponseState {
    rest: Bytes,
    /// True once a chunk was taken.
    has_begun: bool,
    charge: Option<Charge>,
    progress_at: Instant,
    is_cut: bool,
}

/// The connection's handle on a response that it sends.
pub(super) struct PacedHandle(Weak<Mutex<ResponseState>>);

struct Chunk {
    bytes: Bytes,
    _state: Arc<Mutex<ResponseState>>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PacedBody {
    pub fn new(bytes: Bytes, charge: Option<Charge>) -> PacedBody {
        let state = ResponseState { rest: bytes, has_begun: false, charge, progress_at: Instant::now(), is_cut: false };
        PacedBody { state: Arc::new(Mutex::new(state)), _active: None }
    }

    pub(super) fn hold(&mut self, active: ActiveRequest) {
        active.monitor(PacedHandle(Arc::downgrade(&self.state)));
        self._active = Some(active);
    }

    /// Returns the next chunk. Chunks of a charged response are copies unless the chunk is the whole response, because
    /// a chunk that the reader has not accepted must not keep the rest in memory. A response without a charge is small,
    /// or a page that the host keeps in memory anyway.
    pub(super) fn next_chunk(&mut self) -> Option<Result<Bytes, SlowReader>> {
        let mut state = self.state.lock();
        if state.is_cut {
            return Some(Err(SlowReader));
        }
        if state.rest.is_empty() {
            return None;
        }
        state.progress_at = Instant::now();
        let length = state.rest.len().min(PACED_CHUNK_BYTES);
        let chunk = state.rest.split_to(length);
        let is_whole = !state.has_begun && state.rest.is_empty();
        let bytes = match state.charge.is_none() || is_whole {
            true => chunk,
            false => Bytes::copy_from_slice(&chunk),
        };
        state.has_begun = true;
        drop(state);
        Some(Ok(Bytes::from_owner(Chunk { bytes, _state: self.state.clone() })))
    }

    /// Returns the charge, reduced by the bytes that were not taken.
    pub(super) fn into_charge(self) -> Option<Charge> {
        let mut state = self.state.lock();
        let left = state.rest.len() as u64;
        state.charge.take().map(|charge| charge.without(left))
    }

    pub(super) fn left(&self) -> u64 {
        self.state.lock().rest.len() as u64
    }

    pub(super) fn is_sent(&self) -> bool {
        let state = self.state.lock();
        state.rest.is_empty() && !state.is_cut
    }
}

impl PacedHandle {
    /// Returns the time at which the reader last took a chunk, or the response was created. Returns `None` once the
    /// response is completely sent or dropped.
    pub(super) fn progress_at(&self) -> Option<Instant> {
        self.0.upgrade().map(|state| state.lock().progress_at)
    }

    /// Cuts the response: releases the memory of the chunks that were not taken, and ends the body with an error if
    /// there were any.
    pub(super) fn cut(&self) {
        if let Some(state) = self.0.upgrade() {
            let mut state = state.lock();
            // The rest is empty if the response was cut before. It remains cut.
            state.is_cut |= !state.rest.is_empty();
            state.rest = Bytes::new();
            // hyper may still hold this many bytes.
            if let Some(charge) = &mut state.charge {
                charge.shrink_to(2 * PACED_CHUNK_BYTES as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::MemoryConfig;
    use crate::{
        budget::{Budget, Party},
        fair::Request,
    };

    async fn paced(bytes: usize) -> (Arc<Budget>, PacedBody) {
        let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 30, tenant_percent: 50 });
        let until = Instant::now() + std::time::Duration::from_secs(1);
        let charge = budget.charge_call(&Party::from("acme"), Request::of(bytes as u64), until).await.unwrap();
        let charge = budget.keep_answer(charge, bytes as u64);
        (budget, PacedBody::new(Bytes::from(vec![7; bytes]), Some(charge)))
    }

    fn charged(budget: &Budget) -> u64 {
        budget.readings()[1].used
    }

    #[tokio::test]
    async fn response_is_charged_until_its_last_chunk_is_dropped() {
        let (budget, mut paced) = paced(2 * PACED_CHUNK_BYTES + 1).await;
        let mut chunks = Vec::new();
        while let Some(chunk) = paced.next_chunk() {
            chunks.push(chunk.unwrap());
        }
        assert!(paced.is_sent());
        assert_eq!(chunks.iter().map(Bytes::len).sum::<usize>(), 2 * PACED_CHUNK_BYTES + 1);
        drop(paced);
        assert_eq!(charged(&budget), 2 * PACED_CHUNK_BYTES as u64 + 1);
        chunks.clear();
        assert_eq!(charged(&budget), 0);
    }

    #[tokio::test]
    async fn last_chunk_does_not_keep_the_memory_of_the_response() {
        let (_budget, mut paced) = paced(1).await;
        let whole = Arc::new(());
        struct Owner(Vec<u8>, #[expect(dead_code, reason = "counts the owners")] Arc<()>);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let bytes = Bytes::from_owner(Owner(vec![7; PACED_CHUNK_BYTES + 1], whole.clone()));
        paced.state.lock().rest = bytes;
        let (_first, last) = (paced.next_chunk().unwrap(), paced.next_chunk().unwrap().unwrap());
        assert_eq!((last.len(), paced.is_sent()), (1, true));
        assert_eq!(Arc::strong_count(&whole), 1);
    }

    #[tokio::test]
    async fn cut_response_releases_its_memory_and_ends_with_an_error() {
        let (budget, mut paced) = paced(1 << 20).await;
        let handle = PacedHandle(Arc::downgrade(&paced.state));
        let taken = paced.next_chunk().unwrap().unwrap();
        handle.cut();
        assert_eq!(charged(&budget), 2 * PACED_CHUNK_BYTES as u64);
        assert!(!paced.is_sent());
        assert!(paced.next_chunk().unwrap().is_err());
        drop((taken, paced));
        assert_eq!((charged(&budget), handle.progress_at()), (0, None));
    }

    #[tokio::test]
    async fn response_that_is_cut_twice_ends_with_an_error() {
        let (_budget, mut paced) = paced(1 << 20).await;
        let handle = PacedHandle(Arc::downgrade(&paced.state));
        let _taken = paced.next_chunk().unwrap().unwrap();
        handle.cut();
        handle.cut();
        assert!(!paced.is_sent());
        assert!(paced.next_chunk().unwrap().is_err());
    }
}
