//! How far a backup or a restore has come, seen from outside, and the word that it shall end.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use super::BackupError;
use crate::db::GoOn;

#[derive(Debug, Default)]
pub struct Progress {
    stage: Mutex<Stage>,
    broken_off: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Stage {
    step: &'static str,
    bytes: u64,
    /// What is being written: its length says how far.
    file: Option<PathBuf>,
}

/// Bytes are 0 where nobody can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub step: &'static str,
    pub bytes_done: u64,
    pub bytes_total: u64,
}

impl Progress {
    pub fn look(&self) -> Seen {
        let Stage { step, bytes, file } = self.stage.lock().clone();
        let length = file.and_then(|file| std::fs::metadata(file).ok()).map_or(0, |data| data.len());
        Seen { step, bytes_done: length.min(bytes), bytes_total: bytes }
    }

    /// It ends soon, with `BackupError::BrokenOff`, and leaves nothing behind.
    pub fn break_off(&self) {
        self.broken_off.store(true, Relaxed);
    }

    pub fn begin(&self, step: &'static str) -> Result<(), BackupError> {
        *self.stage.lock() = Stage { step, bytes: 0, file: None };
        self.go_on()
    }

    /// The same for the writing of one file of about so many bytes.
    pub(super) fn begin_file(&self, step: &'static str, file: &Path, bytes: u64) -> Result<(), BackupError> {
        *self.stage.lock() = Stage { step, bytes, file: Some(file.to_owned()) };
        self.go_on()
    }

    pub(super) fn go_on(&self) -> Result<(), BackupError> {
        if self.is_broken_off() { Err(BackupError::BrokenOff) } else { Ok(()) }
    }

    /// Returns the check that the database makes while it reads.
    pub fn continuation_check(self: &Arc<Progress>) -> GoOn {
        let progress = self.clone();
        Arc::new(move || !progress.is_broken_off())
    }

    pub(super) fn is_broken_off(&self) -> bool {
        self.broken_off.load(Relaxed)
    }
}
