//! How much room is left on the disk of the database, and which tenants may still write.
//!
//! Below the operator's watermark nobody writes. Below twice the watermark each tenant writes at most a share, so that a tenant
//! that fills the disk leaves room to the others. What is written often replaces what was there, so the shares begin anew
//! after each period in which the disk has lost less than one.

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
use crate::limits::{DISK_SHARE_LOOKS, DISK_SHARES};

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
    /// Bytes that each tenant may write in a period while room is scarce; 0: it is not.
    share: AtomicU64,
    period: Mutex<Period>,
}

#[derive(Default)]
struct Period {
    /// Looks at the disk since it began.
    looks: u64,
    free_bytes: u64,
    /// Bytes that each tenant has written.
    written: HashMap<Arc<str>, u64>,
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
        share > 0 && self.room.period.lock().written.get(tenant).is_some_and(|written| *written >= share)
    }

    /// Counts what a tenant has written, while room is scarce.
    pub fn note_written(&self, tenant: &Arc<str>, bytes: usize) {
        let share = self.room.share.load(Ordering::Relaxed);
        if share == 0 {
            return;
        }
        let mut period = self.room.period.lock();
        let sum = period.written.entry(tenant.clone()).or_default();
        let before = *sum;
        *sum = before.saturating_add(bytes as u64);
        let is_used_up = before < share && *sum >= share;
        drop(period);
        if is_used_up {
            tracing::warn!(
                tenant = &**tenant,
                share_bytes = share,
                "the disk is filling up, and this tenant has written its share of what is left: its writing requests get 503 \
                 until the disk stops filling up, or twice free-disk-bytes-min is free"
            );
        }
    }

    /// To be called every `DISK_LOOK_MS`. Logs each change.
    pub fn set_free(&self, free_bytes: u64, free_bytes_min: u64) {
        let scarce = free_bytes < free_bytes_min.saturating_mul(2);
        self.share(free_bytes, if scarce { (free_bytes_min / DISK_SHARES).max(1) } else { 0 });
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

    /// Begins a period where room becomes scarce, and after each `DISK_SHARE_LOOKS`.
    fn share(&self, free_bytes: u64, share: u64) {
        let before = self.room.share.swap(share, Ordering::Relaxed);
        if share == 0 {
            return;
        }
        let mut period = self.room.period.lock();
        period.looks += 1;
        if before > 0 && period.looks < DISK_SHARE_LOOKS {
            return;
        }
        let is_filling_up = before > 0 && period.free_bytes.saturating_sub(free_bytes) >= share;
        let written = if is_filling_up { std::mem::take(&mut period.written) } else { HashMap::new() };
        *period = Period { looks: 0, free_bytes, written };
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
    use super::{DISK_SHARE_LOOKS, DiskGauge};
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

    /// A tenant writes its share. Returns whether it is refused after a period that ends with so much free.
    fn is_refused_after_a_period(free_bytes: u64) -> bool {
        let gauge = DiskGauge::default();
        gauge.set_free(1_900, 1_000);
        gauge.note_written(&"acme/test".into(), 62);
        for _ in 1..DISK_SHARE_LOOKS {
            gauge.set_free(free_bytes, 1_000);
            assert!(gauge.refuses_writes("acme/test"));
        }
        gauge.set_free(free_bytes, 1_000);
        gauge.refuses_writes("acme/test")
    }

    #[test]
    fn tenant_whose_writes_do_not_fill_the_disk_is_served_again_after_a_period() {
        assert!(!is_refused_after_a_period(1_839));
    }

    #[test]
    fn tenant_is_refused_while_the_disk_fills_up() {
        assert!(is_refused_after_a_period(1_838));
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
