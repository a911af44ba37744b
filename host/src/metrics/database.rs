//! The database: its files, and the batches of the committer.

use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Buckets of the seconds of one transaction. A fast disk flushes in 0.1 ms, and a slow disk in tens of milliseconds.
const BATCH_SECONDS: [f64; 12] = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// Buckets of the change sets in one batch.
const BATCH_CHANGES: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// Metrics that the committer observes for each batch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BatchMetrics {
    seconds: Histogram,
    changes: Histogram,
}

impl BatchMetrics {
    /// Observes a batch. `seconds`: from the beginning of the transaction until it is on disk.
    pub fn observe(&self, changes: usize, seconds: f64) {
        self.seconds.observe(seconds);
        self.changes.observe(changes as f64);
    }
}

/// Counters of the committer since the process started, and the current sizes of its queue and its overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitterReading {
    pub batches: u64,
    /// Change sets in those batches.
    pub changes: u64,
    pub conflicts: u64,
    /// Calls that conflicted so often that they reserved the keys that they read.
    pub reservations: u64,
    pub resets: CommitterResets,
    /// Change sets that are accepted and not yet durable.
    pub queue: u64,
    /// Bytes of records in memory.
    pub overlay_bytes: u64,
    /// Bytes of records in memory that cannot be evicted.
    pub overlay_pinned_bytes: u64,
}

/// Number of times the cache was emptied and calls that were not durable ran again, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitterResets {
    /// Another program wrote into the database.
    pub foreign_writes: u64,
    /// A batch failed, or the connection to the database was lost.
    pub storage_failures: u64,
    pub swaps: u64,
}

/// Bytes of the database file and its log, and of the free disk space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseReading {
    pub file_bytes: u64,
    pub log_bytes: u64,
    pub free_disk_bytes: u64,
}

#[derive(Clone)]
pub(super) struct DatabaseMetrics {
    pub(super) batch: BatchMetrics,
    batches: IntCounter,
    changes: IntCounter,
    conflicts: IntCounter,
    reservations: IntCounter,
    resets: IntCounterVec,
    queue: IntGauge,
    overlay: IntGauge,
    pinned: IntGauge,
    file: IntGauge,
    log: IntGauge,
    free_disk: IntGauge,
}

impl DatabaseMetrics {
    pub(super) fn register(registry: &Registry) -> Result<DatabaseMetrics, prometheus::Error> {
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let histogram = Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets.to_vec()))?;
            registry.register(Box::new(histogram.clone()))?;
            Ok::<_, prometheus::Error>(histogram)
        };
        let resets = IntCounterVec::new(
            Opts::new(
                "tenon_committer_resets_total",
                "Times the cache was emptied and calls that were not durable ran again, by cause.",
            ),
            &["cause"],
        )?;
        registry.register(Box::new(resets.clone()))?;
        let seconds = "From the beginning of a transaction of the committer until it is on disk.";
        Ok(DatabaseMetrics {
            batch: BatchMetrics {
                seconds: histogram("tenon_committer_batch_seconds", seconds, &BATCH_SECONDS)?,
                changes: histogram("tenon_committer_batch_changes", "Change sets in one transaction.", &BATCH_CHANGES)?,
            },
            batches: counter("tenon_committer_batches_total", "Transactions of the committer.")?,
            changes: counter("tenon_committer_changes_total", "Change sets in those transactions.")?,
            conflicts: counter("tenon_committer_conflicts_total", "Change sets whose reads no longer held.")?,
            reservations: counter(
                "tenon_committer_reservations_total",
                "Calls that conflicted so often that they reserved the keys that they read.",
            )?,
            resets,
            queue: gauge("tenon_committer_queue", "Change sets accepted and not yet durable.")?,
            overlay: gauge("tenon_overlay_bytes", "Records kept in memory, pinned ones included.")?,
            pinned: gauge(
                "tenon_overlay_pinned_bytes",
                "Records in memory that are not durable yet, or that running calls need for deciding.",
            )?,
            file: gauge("tenon_database_file_bytes", "Size of the database file.")?,
            log: gauge("tenon_database_wal_bytes", "Size of its write-ahead log.")?,
            free_disk: gauge("tenon_database_disk_free_bytes", "Free space of the disk that both lie on.")?,
        })
    }

    /// Updates the metrics. The committer counts in atomics of its own, so that it does not depend on metrics. A scrape
    /// raises the counters to these values.
    pub(super) fn update(&self, committer: CommitterReading, database: DatabaseReading) {
        let raise = |counter: &IntCounter, to: u64| counter.inc_by(to.saturating_sub(counter.get()));
        raise(&self.batches, committer.batches);
        raise(&self.changes, committer.changes);
        raise(&self.conflicts, committer.conflicts);
        raise(&self.reservations, committer.reservations);
        let CommitterResets { foreign_writes, storage_failures, swaps } = committer.resets;
        for (cause, count) in
            [("foreign-write", foreign_writes), ("storage-failure", storage_failures), ("swap", swaps)]
        {
            raise(&self.resets.with_label_values(&[cause]), count);
        }
        let set = |gauge: &IntGauge, to: u64| gauge.set(i64::try_from(to).unwrap_or(i64::MAX));
        set(&self.queue, committer.queue);
        set(&self.overlay, committer.overlay_bytes);
        set(&self.pinned, committer.overlay_pinned_bytes);
        set(&self.file, database.file_bytes);
        set(&self.log, database.log_bytes);
        set(&self.free_disk, database.free_disk_bytes);
    }
}
