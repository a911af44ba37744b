//! Free space on the disk of the database, and which tenants may still write.
//!
//! Below the operator's watermark no tenant may write. Below twice the watermark each tenant may write at most a share,
//! so that a tenant that fills the disk leaves room for the others. Written data often replaces existing data, so the
//! shares are reset after each period in which the free space has shrunk by less than one share.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use super::{Database, DbError, Health, files::beside};
use crate::limits::{DISK_SHARE_CHECKS, DISK_SHARES};

/// Determines whether writes are accepted: the free space is not below the operator's watermark, the tenant has not
/// used up its share while space is scarce, and the database is intact.
///
/// It is read before each write.
#[derive(Clone, Default)]
pub struct DiskGauge {
    space: Arc<FreeSpace>,
    /// `None` in tests without a database.
    health: Option<Health>,
}

#[derive(Default)]
struct FreeSpace {
    /// True if the free space is below the watermark.
    low: AtomicBool,
    /// Bytes that each tenant may write in a period while space is scarce. 0 if it is not scarce.
    share: AtomicU64,
    period: Mutex<Period>,
}

#[derive(Default)]
struct Period {
    /// Number of disk checks since the period began.
    checks: u64,
    /// Free space when the period began.
    free_bytes: u64,
    /// Bytes written by each tenant.
    written: HashMap<Arc<str>, u64>,
}

impl DiskGauge {
    pub fn of(database: &Database) -> DiskGauge {
        DiskGauge { space: Arc::default(), health: Some(database.health().clone()) }
    }

    pub fn is_low(&self) -> bool {
        self.space.low.load(Ordering::Relaxed)
    }

    /// Returns true if writes of this tenant are rejected. `tenant` is empty for a caller without one.
    pub fn rejects_writes(&self, tenant: &str) -> bool {
        if self.is_low() || self.health.as_ref().is_some_and(Health::is_damaged) {
            return true;
        }
        let share = self.space.share.load(Ordering::Relaxed);
        share > 0 && self.space.period.lock().written.get(tenant).is_some_and(|written| *written >= share)
    }

    /// Adds bytes that a tenant has written, while space is scarce.
    pub fn record_written(&self, tenant: &Arc<str>, bytes: usize) {
        let share = self.space.share.load(Ordering::Relaxed);
        if share == 0 {
            return;
        }
        let mut period = self.space.period.lock();
        let sum = period.written.entry(tenant.clone()).or_default();
        let before = *sum;
        *sum = before.saturating_add(bytes as u64);
        let is_used_up = before < share && *sum >= share;
        drop(period);
        if is_used_up {
            tracing::warn!(
                tenant = &**tenant,
                share_bytes = share,
                "the disk is filling up, and this tenant has used its share of the remaining space: its write requests get 503 \
                 until the disk stops filling up, or twice free-disk-bytes-min is free"
            );
        }
    }

    /// Updates the free space. Called every `DISK_CHECK_MS`. Logs each change of state.
    pub fn set_free_bytes(&self, free_bytes: u64, free_bytes_min: u64) {
        let scarce = free_bytes < free_bytes_min.saturating_mul(2);
        self.set_share(free_bytes, if scarce { (free_bytes_min / DISK_SHARES).max(1) } else { 0 });
        let low = free_bytes < free_bytes_min;
        if self.space.low.swap(low, Ordering::Relaxed) == low {
            return;
        }
        if low {
            tracing::error!(
                free_bytes,
                "the disk is nearly full (free-disk-bytes-min): write requests get 503 until space is freed"
            );
        } else {
            tracing::info!(free_bytes, "the disk has enough free space again: write requests are served");
        }
    }

    /// Sets the share. Begins a period when space becomes scarce, and after every `DISK_SHARE_CHECKS` checks.
    fn set_share(&self, free_bytes: u64, share: u64) {
        let before = self.space.share.swap(share, Ordering::Relaxed);
        if share == 0 {
            return;
        }
        let mut period = self.space.period.lock();
        period.checks += 1;
        if before > 0 && period.checks < DISK_SHARE_CHECKS {
            return;
        }
        let is_filling_up = before > 0 && period.free_bytes.saturating_sub(free_bytes) >= share;
        let written = if is_filling_up { std::mem::take(&mut period.written) } else { HashMap::new() };
        *period = Period { checks: 0, free_bytes, written };
    }
}

impl Database {
    /// Returns the bytes that this process may still write to the disk of the database.
    pub fn free_disk_bytes(&self) -> Result<u64, DbError> {
        Ok(free_bytes(self.path())?)
    }
}

impl Database {
    /// Returns the sizes of the file and of its log in bytes. The size of an absent file is 0.
    pub fn file_bytes(&self) -> (u64, u64) {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        (length(self.path()), length(&beside(self.path(), "-wal")))
    }
}

/// Returns the bytes that this process may still write to the disk of an existing file or folder.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let state = rustix::fs::statvfs(path)?;
    Ok(state.f_bavail.saturating_mul(state.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::{DISK_SHARE_CHECKS, DiskGauge};
    use crate::db::testing::TestFile;

    #[test]
    fn gauge_is_low_below_the_watermark_and_recovers() {
        let gauge = DiskGauge::default();
        gauge.set_free_bytes(99, 100);
        assert!(gauge.is_low());
        gauge.set_free_bytes(100, 100);
        assert!(!gauge.is_low());
    }

    #[test]
    fn only_the_tenant_that_fills_the_disk_is_rejected() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free_bytes(1_999, 1_000);
        gauge.record_written(&acme, 61);
        assert!(!gauge.rejects_writes("acme/test"));
        gauge.record_written(&acme, 1);
        assert!(gauge.rejects_writes("acme/test"), "a sixteenth of 1 000");
        assert!(!gauge.rejects_writes("rival/test"));
    }

    #[test]
    fn share_of_a_tenant_is_reset_after_the_shortage() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free_bytes(1_999, 1_000);
        gauge.record_written(&acme, 1_000);
        gauge.set_free_bytes(2_000, 1_000);
        assert!(!gauge.rejects_writes("acme/test"));
        gauge.set_free_bytes(1_999, 1_000);
        assert!(!gauge.rejects_writes("acme/test"));
    }

    /// Lets a tenant write its share. Returns true if it is rejected after a period that ends with this much free
    /// space.
    fn is_rejected_after_a_period(free_bytes: u64) -> bool {
        let gauge = DiskGauge::default();
        gauge.set_free_bytes(1_900, 1_000);
        gauge.record_written(&"acme/test".into(), 62);
        for _ in 1..DISK_SHARE_CHECKS {
            gauge.set_free_bytes(free_bytes, 1_000);
            assert!(gauge.rejects_writes("acme/test"));
        }
        gauge.set_free_bytes(free_bytes, 1_000);
        gauge.rejects_writes("acme/test")
    }

    #[test]
    fn tenant_whose_writes_do_not_fill_the_disk_is_served_again_after_a_period() {
        assert!(!is_rejected_after_a_period(1_839));
    }

    #[test]
    fn tenant_is_rejected_while_the_disk_fills_up() {
        assert!(is_rejected_after_a_period(1_838));
    }

    #[test]
    fn writes_are_not_counted_while_space_is_not_scarce() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free_bytes(2_000, 1_000);
        gauge.record_written(&acme, usize::MAX);
        gauge.set_free_bytes(1_999, 1_000);
        assert!(!gauge.rejects_writes("acme/test"));
    }

    #[tokio::test]
    async fn free_bytes_of_the_test_disk_are_positive() {
        let file = TestFile::open().await;
        assert!(file.db.free_disk_bytes().unwrap() > 0);
    }
}
