//! Estimates the memory of an operation's calls from recent calls. The next call is admitted with about that much.

use std::{
    array,
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    budget::Party,
    limits::{CALL_MEMORY_BYTES_MIN, MEMORY_ESTIMATES, MEMORY_STEP_BYTES},
};

/// Moving averages in bytes. Each call moves one average by an eighth of the difference. Parties are spread over the
/// averages by hash, so that large calls of one tenant raise the charges of few others.
#[derive(Debug)]
pub struct MemoryEstimate {
    averages: [AtomicU64; MEMORY_ESTIMATES],
    hasher: RandomState,
}

impl Default for MemoryEstimate {
    fn default() -> MemoryEstimate {
        let averages = array::from_fn(|_| AtomicU64::new(CALL_MEMORY_BYTES_MIN));
        MemoryEstimate { averages, hasher: RandomState::new() }
    }
}

impl MemoryEstimate {
    /// Returns the estimate, rounded up so that the average of equal calls covers each of them.
    pub fn bytes(&self, party: &Party) -> u64 {
        let average = self.find(party).map_or(0, |average| average.load(Ordering::Relaxed));
        average.next_multiple_of(MEMORY_STEP_BYTES).max(CALL_MEMORY_BYTES_MIN)
    }

    /// Adds the memory of a call. If two calls end at the same time, one update may be lost, which is harmless.
    pub fn record(&self, party: &Party, bytes: u64) {
        let Some(average) = self.find(party) else { return };
        let old = average.load(Ordering::Relaxed);
        let new = if bytes > old { old + (bytes - old).div_ceil(8) } else { old - (old - bytes) / 8 };
        if new != old {
            average.store(new, Ordering::Relaxed);
        }
    }

    fn find(&self, party: &Party) -> Option<&AtomicU64> {
        let at = self.hasher.hash_one(party) % MEMORY_ESTIMATES as u64;
        self.averages.get(usize::try_from(at).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_follows_what_calls_need() {
        let (estimate, acme) = (MemoryEstimate::default(), Party::from("acme/test"));
        (0..100).for_each(|_| estimate.record(&acme, 40 << 20));
        assert_eq!(estimate.bytes(&acme), 40 << 20);
        (0..100).for_each(|_| estimate.record(&acme, 2 << 20));
        let bytes = estimate.bytes(&acme);
        assert!((2 << 20..3 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn large_calls_of_one_tenant_do_not_change_the_estimates_of_others() {
        let (estimate, acme) = (MemoryEstimate::default(), Party::from("acme/test"));
        (0..100).for_each(|_| estimate.record(&acme, 64 << 20));
        let others = (0..1_000).map(|number| Party::from(format!("tenant-{number}/test")));
        let raised = others.filter(|other| estimate.bytes(other) > CALL_MEMORY_BYTES_MIN).count();
        assert!(raised <= 50, "{raised} of 1,000");
    }
}
