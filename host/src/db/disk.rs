//! How much room is left on the disk of the database.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Database, DbError, Health, files::beside};

/// Whether the disk takes writes: it is above the operator's watermark, and the database on it is intact. Read before each write.
#[derive(Clone, Default)]
pub struct DiskGauge {
    low: Arc<AtomicBool>,
    /// `None` in tests without a database.
    health: Option<Health>,
}

impl DiskGauge {
    pub fn of(database: &Database) -> DiskGauge {
        DiskGauge { low: Arc::default(), health: Some(database.health().clone()) }
    }

    pub fn is_low(&self) -> bool {
        self.low.load(Ordering::Relaxed)
    }

    pub fn refuses_writes(&self) -> bool {
        self.is_low() || self.health.as_ref().is_some_and(Health::is_damaged)
    }

    /// Says so when it changes.
    pub fn set_free(&self, free_bytes: u64, free_bytes_min: u64) {
        let low = free_bytes < free_bytes_min;
        if self.low.swap(low, Ordering::Relaxed) == low {
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

    #[tokio::test]
    async fn a_disk_that_tests_run_on_has_some_room_left() {
        let file = TestFile::open().await;
        assert!(file.db.free_disk_bytes().unwrap() > 0);
    }
}
