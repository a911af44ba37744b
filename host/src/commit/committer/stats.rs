//! Counters of the committer for /metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::metrics::BatchMetrics;

/// Totals since the start, except `queued` and the `overlay_` fields, which are current values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitterStats {
    pub queued: u64,
    pub overlay_bytes: u64,
    /// The part of `overlay_bytes` that cannot be evicted.
    pub overlay_pinned_bytes: u64,
    pub overlay_entries: u64,
    pub batches: u64,
    /// Change sets in those batches.
    pub changes: u64,
    /// Microseconds from the beginning of a batch to the end of its COMMIT.
    pub commit_micros: u64,
    /// Commits that ended in a conflict, most often because a value that the call read has changed.
    pub conflicts: u64,
    /// Accepted change sets that were not applied because an earlier one failed or the cache was emptied.
    pub discarded: u64,
    pub poisoned: u64,
    pub busy: u64,
    pub reservations: u64,
    pub resets: Resets,
}

/// Number of times the cache was emptied and calls that were not durable ran again, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resets {
    /// Another program wrote to the file.
    pub foreign_writes: u64,
    /// A batch failed, or the connection to the file was lost.
    pub storage_failures: u64,
    /// A swap changed the indexes or the accepted data versions that decisions depend on.
    pub swaps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetCause {
    ForeignWrite,
    StorageFailure,
    Swap,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) batches: AtomicU64,
    pub(super) changes: AtomicU64,
    pub(super) commit_micros: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) discarded: AtomicU64,
    pub(super) poisoned: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) reservations: AtomicU64,
    foreign_writes: AtomicU64,
    storage_failures: AtomicU64,
    swaps: AtomicU64,
    /// `None` outside of a running host.
    metrics: Option<BatchMetrics>,
}

impl Counts {
    pub(super) fn new(metrics: Option<BatchMetrics>) -> Counts {
        Counts { metrics, ..Counts::default() }
    }

    pub(super) fn batch(&self, changes: usize, took: Duration) {
        self.batches.fetch_add(1, Relaxed);
        self.changes.fetch_add(changes as u64, Relaxed);
        if let Some(metrics) = &self.metrics {
            metrics.observe(changes, took.as_secs_f64());
        }
        self.commit_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn reset(&self, cause: ResetCause) {
        count(match cause {
            ResetCause::ForeignWrite => &self.foreign_writes,
            ResetCause::StorageFailure => &self.storage_failures,
            ResetCause::Swap => &self.swaps,
        });
    }

    pub(super) fn snapshot(&self) -> CommitterStats {
        CommitterStats {
            batches: self.batches.load(Relaxed),
            changes: self.changes.load(Relaxed),
            commit_micros: self.commit_micros.load(Relaxed),
            conflicts: self.conflicts.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            poisoned: self.poisoned.load(Relaxed),
            busy: self.busy.load(Relaxed),
            reservations: self.reservations.load(Relaxed),
            resets: Resets {
                foreign_writes: self.foreign_writes.load(Relaxed),
                storage_failures: self.storage_failures.load(Relaxed),
                swaps: self.swaps.load(Relaxed),
            },
            ..CommitterStats::default()
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
