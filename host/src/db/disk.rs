//! How much room is left on the disk of the database, and whose writes it is left to.
//!
//! Below the operator's watermark nobody writes. Below twice the watermark each tenant writes only a part of what is left, so
//! that one that fills the disk leaves room to the others.

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
use crate::limits::DISK_SHARES;

/// Whether the disk takes writes: it is above the operator's watermark, and the database on it is intact. Read before each write.
#[derive(Clone, Default)]
pub struct DiskGauge {
    room: Arc<Room>,
    /// `None` in tests without a database.
    health: Option<Health>,
}

#[derive(Default)]
struct Room {
    /// Less is free than the watermark.
    low: AtomicBool,
    /// Bytes that each tenant may write while room is scarce; 0: it is not.
    share: AtomicU64,
    /// Bytes that each tenant has written since room became scarce.
    written: Mutex<HashMap<Arc<str>, u64>>,
}

impl DiskGauge {
    pub fn of(database: &Database) -> DiskGauge {
        DiskGauge { room: Arc::default(), health: Some(database.health().clone()) }
    }

    pub fn is_low(&self) -> bool {
        self.room.low.load(Ordering::Relaxed)
    }

    /// `tenant`: empty for a caller without one.
    pub fn refuses_writes(&self, tenant: &str) -> bool {
        if self.is_low() || self.health.as_ref().is_some_and(Health::is_damaged) {
            return true;
        }
        let share = self.room.share.load(Ordering::Relaxed);
        share > 0 && self.room.written.lock().get(tenant).is_some_and(|written| *written >= share)
    }

    /// Counts what a tenant has written, while room is scarce.
    pub fn note_written(&self, tenant: &Arc<str>, bytes: usize) {
        let share = self.room.share.load(Ordering::Relaxed);
        if share == 0 {
            return;
        }
        let mut written = self.room.written.lock();
        let sum = written.entry(tenant.clone()).or_default();
        let before = *sum;
        *sum = before.saturating_add(bytes as u64);
        let is_used_up = before < share && *sum >= share;
        drop(written);
        if is_used_up {
            tracing::warn!(
                tenant = &**tenant,
                share_bytes = share,
                "the disk is filling up, and this tenant has written its share of what is left: its writing requests get 503 \
                 until twice free-disk-bytes-min is free"
            );
        }
    }

    /// Logs each change.
    pub fn set_free(&self, free_bytes: u64, free_bytes_min: u64) {
        self.set_scarce(free_bytes < free_bytes_min.saturating_mul(2), free_bytes_min);
        let low = free_bytes < free_bytes_min;
        if self.room.low.swap(low, Ordering::Relaxed) == low {
            return;
        }
        if low {
            tracing::error!(
                free_bytes,
                "the disk is nearly full (free-disk-bytes-min): writing requests get 503 until there is room"
            );
        } else {
            tracing::info!(free_bytes, "there is room on the disk again: writing requests are served");
        }
    }

    fn set_scarce(&self, scarce: bool, free_bytes_min: u64) {
        let share = if scarce { (free_bytes_min / DISK_SHARES).max(1) } else { 0 };
        let before = self.room.share.swap(share, Ordering::Relaxed);
        if before > 0 && share == 0 {
            let written = std::mem::take(&mut *self.room.written.lock());
            drop(written);
        }
    }
}

impl Database {
    /// Bytes that this process may still write there.
    pub fn free_disk_bytes(&self) -> Result<u64, DbError> {
        Ok(free_bytes(self.path())?)
    }
}

impl Database {
    /// Bytes of the file and of its log; 0 where one is not there.
    pub fn file_bytes(&self) -> (u64, u64) {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        (length(self.path()), length(&beside(self.path(), "-wal")))
    }
}

/// Bytes that this process may still write on the disk of a file or folder that exists.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let state = rustix::fs::statvfs(path)?;
    Ok(state.f_bavail.saturating_mul(state.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::DiskGauge;
    use crate::db::testing::TestFile;

    #[test]
    fn the_gauge_is_low_below_the_watermark_and_recovers() {
        let gauge = DiskGauge::default();
        gauge.set_free(99, 100);
        assert!(gauge.is_low());
        gauge.set_free(100, 100);
        assert!(!gauge.is_low());
    }

    #[test]
    fn tenant_that_fills_the_last_room_is_refused_and_others_are_not() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free(1_999, 1_000);
        gauge.note_written(&acme, 61);
        assert!(!gauge.refuses_writes("acme/test"));
        gauge.note_written(&acme, 1);
        assert!(gauge.refuses_writes("acme/test"), "a sixteenth of 1 000");
        assert!(!gauge.refuses_writes("rival/test"));
    }

    #[test]
    fn share_of_a_tenant_is_whole_again_after_the_shortage() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free(1_999, 1_000);
        gauge.note_written(&acme, 1_000);
        gauge.set_free(2_000, 1_000);
        assert!(!gauge.refuses_writes("acme/test"));
        gauge.set_free(1_999, 1_000);
        assert!(!gauge.refuses_writes("acme/test"));
    }

    #[test]
    fn nothing_is_counted_while_there_is_room() {
        let (gauge, acme) = (DiskGauge::default(), "acme/test".into());
        gauge.set_free(2_000, 1_000);
        gauge.note_written(&acme, usize::MAX);
        gauge.set_free(1_999, 1_000);
        assert!(!gauge.refuses_writes("acme/test"));
    }

    #[tokio::test]
    async fn a_disk_that_tests_run_on_has_some_room_left() {
        let file = TestFile::open().await;
        assert!(file.db.free_disk_bytes().unwrap() > 0);
    }
}
