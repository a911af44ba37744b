//! Backup and restore of the data that a host cannot recreate.
//!
//! A backup is a folder with `tenon.db`, `components/HASH.wasm`, and `manifest.json`, which lists the length and the
//! hash of each file. It contains no master key: secrets in the database stay sealed.
//!
//! Invariants: a backup under its final name is complete and was verified. A restore changes the data folder only after
//! the whole backup was verified against its manifest.
//!
//! - `write`: writes a backup. `restore`: restores it. `manifest`: the manifest file. `files`: file copies and hashes.
//! - `progress`: progress reports and cancellation.

mod files;
mod manifest;
mod progress;
mod restore;
mod write;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use manifest::{Checks, FileEntry, Manifest};
pub use progress::{Progress, ProgressSnapshot};
pub use restore::{RestoreRequest, RestoreResult, restore};
pub use write::{Plan, prepare, write};

use crate::db::DbError;

const DATABASE_FILE: &str = "tenon.db";
const COMPONENTS_FOLDER: &str = "components";
const MANIFEST_FILE: &str = "manifest.json";

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A precondition is not met, and nothing was changed. The text is a sentence for the operator.
    #[error("{0}")]
    Precondition(String),
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Database(#[from] DbError),
    #[error("the backup was cancelled")]
    Cancelled,
    #[error("the work on the files failed unexpectedly: {0}")]
    Panicked(tokio::task::JoinError),
}

impl BackupError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
        let path = path.to_owned();
        |source| BackupError::File { path, source }
    }
}

/// Returns the hex SHA-256 of a file. Blocking.
pub fn hash_file(path: &Path) -> io::Result<String> {
    Ok(files::hash(path, &Progress::default())?.sha256)
}

/// Runs blocking work on the blocking thread pool.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        // The runtime cancels work that has not begun when it shuts down.
        Err(if error.is_panic() { BackupError::Panicked(error) } else { BackupError::Cancelled })
    })
}

#[cfg(test)]
mod tests;
