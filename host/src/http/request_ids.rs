//! The id of a request: the caller's own if it is valid, otherwise a new one that sorts by time.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::HeaderMap;

use crate::clock::Timestamp;
use crate::limits::REQUEST_ID_CHARACTERS_MAX;

pub(super) const X_REQUEST_ID: &str = "x-request-id";

/// Generates ids that are unique, not secret. A random prefix for each process and a counter avoid a system call for
/// each request.
pub(super) struct RequestIds {
    process: [u8; 5],
    counter: AtomicU64,
}

impl RequestIds {
    pub(super) fn new() -> RequestIds {
        let mut process = [0; 5];
        // Without randomness, ids of two processes may collide, which only affects log searches.
        let _ = getrandom::fill(&mut process);
        RequestIds { process, counter: AtomicU64::new(0) }
    }

    /// Returns the id that the caller requests, if it is valid, or a new one.
    pub(super) fn choose(&self, headers: &HeaderMap, now: Timestamp) -> Arc<str> {
        let requested = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        match requested {
            Some(requested) if is_valid(requested) => Arc::from(requested),
            _ => self.generate(now),
        }
    }

    /// Returns "req_" and a UUID of version 7: milliseconds, process, counter.
    fn generate(&self, now: Timestamp) -> Arc<str> {
        let [_, _, _, counter @ ..] = self.counter.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let mut random = [0; 10];
        for (slot, byte) in random.iter_mut().zip(self.process.into_iter().chain(counter)) {
            *slot = byte;
        }
        let uuid = uuid::Builder::from_unix_timestamp_millis(now, &random).into_uuid();
        Arc::from(format!("req_{}", uuid.simple()))
    }
}

fn is_valid(id: &str) -> bool {
    (1..=REQUEST_ID_CHARACTERS_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(ids: &RequestIds, requested: &str) -> String {
        let headers = [(X_REQUEST_ID.parse().unwrap(), requested.parse().unwrap())].into_iter().collect();
        ids.choose(&headers, 1_800_000_000_000).to_string()
    }

    #[test]
    fn valid_id_is_kept_and_invalid_one_is_replaced() {
        let ids = RequestIds::new();
        assert_eq!(choose(&ids, "a.b_C-1"), "a.b_C-1");
        for other in ["", "a b", "a\"b", &"x".repeat(65)] {
            assert!(choose(&ids, other).starts_with("req_"), "{other}");
        }
    }

    #[test]
    fn generated_ids_are_unique_and_sort_by_time() {
        let ids = RequestIds::new();
        let generated: Vec<_> = (0..100).map(|i| ids.generate(1_800_000_000_000 + i / 10)).collect();
        let distinct: std::collections::BTreeSet<_> = generated.iter().collect();
        assert_eq!(distinct.len(), 100);
        assert!(generated[0] < generated[99]);
        assert_eq!(generated[0].len(), 36);
    }
}
