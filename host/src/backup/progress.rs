//! Progress of a backup, a restore or a check of the database, and the cancellation of a backup.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use super::BackupError;
use crate::db::ContinueFn;

#[derive(Debug, Default)]
pub struct Progress {
    stage: Mutex<Stage>,
    cancelled: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Stage {
    step: &'static str,
    bytes: u64,
    /// The file that is being written. Its length is the number of bytes done.
    file: Option<PathBuf>,
}

/// Progress at one point in time. Byte counts are 0 if unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressSnapshot {
    pub step: &'static str,
    pub bytes_done: u64,
    pub bytes_total: u64,
}

impl Progress {
    pub fn snapshot(&self) -> ProgressSnapshot {
        let Stage { step, bytes, file } = self.stage.lock().clone();
        let length = file.and_then(|file| std::fs::metadata(file).ok()).map_or(0, |data| data.len());
        ProgressSnapshot { step, bytes_done: length.min(bytes), bytes_total: bytes }
    }

    /// Cancels a backup. It soon ends with `BackupError::Cancelled` and removes its files.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Begins a step. Returns an error if the work was cancelled.
    pub fn begin(&self, step: &'static str) -> Result<(), BackupError> {
        *self.stage.lock() = Stage { step, bytes: 0, file: None };
        self.check()
    }

    /// Begins a step that writes one file of about `bytes` bytes. Returns an error if the work was cancelled.
    pub(super) fn begin_file(&self, step: &'static str, file: &Path, bytes: u64) -> Result<(), BackupError> {
        *self.stage.lock() = Stage { step, bytes, file: Some(file.to_owned()) };
        self.check()
    }

    pub(super) fn check(&self) -> Result<(), BackupError> {
        if self.is_cancelled() { Err(BackupError::Cancelled) } else { Ok(()) }
    }

    /// Returns the check that the database calls while it reads. The check returns false after a cancellation.
    pub fn continuation_check(self: &Arc<Progress>) -> ContinueFn {
        let progress = self.clone();
        Arc::new(move || !progress.is_cancelled())
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}
