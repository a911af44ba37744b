//! An answer over HTTP/2, handed to the connection piece by piece.
//!
//! hyper polls the body for the next piece only when the reader has opened its window for the one before. So the connection
//! keeps a handle on the rest: if the reader has taken nothing for too long, the memory is released at once, and the stream is
//! reset when hyper polls for the next piece. Answers of the host itself have no charge; they are paced for the same reset.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{body::SlowReader, listener::Running};
use crate::{budget::Charge, limits::PACED_CHUNK_BYTES};

pub struct Paced {
    answer: Arc<Mutex<Answer>>,
    /// The request runs until the answer is sent.
    _running: Option<Running>,
}

/// State shared by the body, its pieces and the connection. The charge ends with the last of them.
struct Answer {
    rest: Bytes,
    /// Whether a piece was taken.
    is_begun: bool,
    charge: Option<Charge>,
    moved_at: Instant,
    is_cut: bool,
}

/// Handle of the connection on an answer that it sends.
pub(super) struct PacedAnswer(Weak<Mutex<Answer>>);

struct Chunk {
    bytes: Bytes,
    _answer: Arc<Mutex<Answer>>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Paced {
    pub fn new(bytes: Bytes, charge: Option<Charge>) -> Paced {
        let answer = Answer { rest: bytes, is_begun: false, charge, moved_at: Instant::now(), is_cut: false };
        Paced { answer: Arc::new(Mutex::new(answer)), _running: None }
    }

    pub(super) fn hold(&mut self, running: Running) {
        running.watch(PacedAnswer(Arc::downgrade(&self.answer)));
        self._running = Some(running);
    }

    /// Pieces of a charged answer are copies, unless the piece is the whole answer: a piece that the reader leaves lying must
    /// not keep the rest. Without a charge the answer is a page that the host keeps anyway, or small.
    pub(super) fn next_chunk(&mut self) -> Option<Result<Bytes, SlowReader>> {
        let mut answer = self.answer.lock();
        if answer.is_cut {
            return Some(Err(SlowReader));
        }
        if answer.rest.is_empty() {
            return None;
        }
        answer.moved_at = Instant::now();
        let length = answer.rest.len().min(PACED_CHUNK_BYTES);
        let piece = answer.rest.split_to(length);
        let is_whole = !answer.is_begun && answer.rest.is_empty();
        let bytes = match answer.charge.is_none() || is_whole {
            true => piece,
            false => Bytes::copy_from_slice(&piece),
        };
        answer.is_begun = true;
        drop(answer);
        Some(Ok(Bytes::from_owner(Chunk { bytes, _answer: self.answer.clone() })))
    }

    /// The charge without the bytes that were not taken.
    pub(super) fn into_charge(self) -> Option<Charge> {
        let mut answer = self.answer.lock();
        let left = answer.rest.len() as u64;
        answer.charge.take().map(|charge| charge.without(left))
    }

    pub(super) fn left(&self) -> u64 {
        self.answer.lock().rest.len() as u64
    }

    pub(super) fn is_sent(&self) -> bool {
        let answer = self.answer.lock();
        answer.rest.is_empty() && !answer.is_cut
    }
}

impl PacedAnswer {
    /// Time at which the reader last took a piece; `None` once all of it is sent or given up.
    pub(super) fn moved_at(&self) -> Option<Instant> {
        self.0.upgrade().map(|answer| answer.lock().moved_at)
    }

    /// Releases the memory of pieces that were not taken.
    pub(super) fn cut(&self) {
        if let Some(answer) = self.0.upgrade() {
            let mut answer = answer.lock();
            answer.is_cut = !answer.rest.is_empty();
            answer.rest = Bytes::new();
            // Bytes that hyper already holds.
            if let Some(charge) = &mut answer.charge {
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
        budget::{Budget, Payer},
        fair::Request,
    };

    async fn paced(bytes: usize) -> (Arc<Budget>, Paced) {
        let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 30, tenant_percent: 50 });
        let until = Instant::now() + std::time::Duration::from_secs(1);
        let charge = budget.charge_call(&Payer::from("acme"), Request::of(bytes as u64), until).await.unwrap();
        let charge = budget.keep_answer(charge, bytes as u64);
        (budget, Paced::new(Bytes::from(vec![7; bytes]), Some(charge)))
    }

    fn charged(budget: &Budget) -> u64 {
        budget.readings()[1].used
    }

    #[tokio::test]
    async fn answer_is_charged_until_its_last_piece_is_dropped() {
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
    async fn last_piece_does_not_keep_the_memory_of_the_answer() {
        let (_budget, mut paced) = paced(1).await;
        let whole = Arc::new(());
        struct Owner(Vec<u8>, #[expect(dead_code, reason = "counts the owners")] Arc<()>);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let bytes = Bytes::from_owner(Owner(vec![7; PACED_CHUNK_BYTES + 1], whole.clone()));
        paced.answer.lock().rest = bytes;
        let (_first, last) = (paced.next_chunk().unwrap(), paced.next_chunk().unwrap().unwrap());
        assert_eq!((last.len(), paced.is_sent()), (1, true));
        assert_eq!(Arc::strong_count(&whole), 1);
    }

    #[tokio::test]
    async fn cut_answer_releases_its_memory_and_ends_in_an_error() {
        let (budget, mut paced) = paced(1 << 20).await;
        let watched = PacedAnswer(Arc::downgrade(&paced.answer));
        let taken = paced.next_chunk().unwrap().unwrap();
        watched.cut();
        assert_eq!(charged(&budget), 2 * PACED_CHUNK_BYTES as u64);
        assert!(!paced.is_sent());
        assert!(paced.next_chunk().unwrap().is_err());
        drop((taken, paced));
        assert_eq!((charged(&budget), watched.moved_at()), (0, None));
    }
}
