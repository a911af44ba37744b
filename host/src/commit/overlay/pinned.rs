//! Counts the bytes of pinned entries: those that were accepted after a version that only grows.
//!
//! Stores one sum for each accepted version, in order, so that a version is removed in O(1) when it is no longer
//! pinned. Invariants: the sums are those of versions `first`, `first + 1`, and so on. `bytes` is their total.

use std::collections::VecDeque;

use crate::changes::change_set::Version;

pub(super) struct Pinned {
    first: Version,
    sums: VecDeque<usize>,
    bytes: usize,
}

impl Pinned {
    /// Returns an empty count. The next version is one more than `latest`.
    pub(super) fn after(latest: Version) -> Pinned {
        Pinned { first: latest.saturating_add(1), sums: VecDeque::new(), bytes: 0 }
    }

    /// Returns the bytes of the entries.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of the entries and of the sums. A hot record pins only one entry, but many versions.
    pub(super) fn total(&self) -> usize {
        self.bytes + self.sums.len() * size_of::<usize>()
    }

    /// Adds the next accepted version.
    pub(super) fn begin_version(&mut self) {
        self.sums.push_back(0);
    }

    pub(super) fn add(&mut self, accepted: Version, bytes: usize) {
        if let Some(sum) = self.sum_mut(accepted) {
            *sum += bytes;
            self.bytes += bytes;
        }
    }

    /// Subtracts an entry that was replaced.
    pub(super) fn remove(&mut self, accepted: Version, bytes: usize) {
        if let Some(sum) = self.sum_mut(accepted) {
            *sum -= bytes;
            self.bytes -= bytes;
        }
    }

    fn sum_mut(&mut self, accepted: Version) -> Option<&mut usize> {
        let position = usize::try_from(accepted.checked_sub(self.first)?).ok()?;
        self.sums.get_mut(position)
    }

    /// Unpins the entries up to `keep_after`.
    pub(super) fn advance(&mut self, keep_after: Version) {
        while self.first <= keep_after
            && let Some(sum) = self.sums.pop_front()
        {
            self.first += 1;
            self.bytes -= sum;
        }
    }

    /// Returns the lowest version after which at most `bytes_max` bytes are pinned, but at most `highest`.
    pub(super) fn floor_for(&self, bytes_max: usize, highest: Version) -> Version {
        let (mut left, mut floor) = (self.total(), self.first.saturating_sub(1));
        for sum in &self.sums {
            if left <= bytes_max || floor >= highest {
                break;
            }
            left = left.saturating_sub(sum + size_of::<usize>());
            floor += 1;
        }
        floor
    }
}
