//! Estimate of the memory of one operation's calls, by recent calls: the next one is admitted with about that much.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{CALL_MEMORY_BYTES_MIN, MEMORY_STEP_BYTES};

/// A moving average in bytes; each call moves it by an eighth of the difference.
#[derive(Debug)]
pub struct MemoryEstimate(AtomicU64);

impl Default for MemoryEstimate {
    fn default() -> MemoryEstimate {
        MemoryEstimate(AtomicU64::new(CALL_MEMORY_BYTES_MIN))
    }
}

impl MemoryEstimate {
    /// Rounded up, so that the average of equal calls covers each of them.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed).next_multiple_of(MEMORY_STEP_BYTES).max(CALL_MEMORY_BYTES_MIN)
    }

    /// Two calls that end at the same time may lose one of their changes, which harms nothing.
    pub fn note(&self, bytes: u64) {
        let old = self.0.load(Ordering::Relaxed);
        let new = if bytes > old { old + (bytes - old).div_ceil(8) } else { old - (old - bytes) / 8 };
        if new != old {
            self.0.store(new, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_follows_what_calls_need() {
        let estimate = MemoryEstimate::default();
        (0..100).for_each(|_| estimate.note(40 << 20));
        assert_eq!(estimate.bytes(), 40 << 20);
        (0..100).for_each(|_| estimate.note(2 << 20));
        assert!((2 << 20..3 << 20).contains(&estimate.bytes()), "{}", estimate.bytes());
    }
}
