//! Backups: a folder with all that a host keeps and cannot make again, and the way back from it.
//!
//! Owns the form of that folder: `tenon.db`, `components/HASH.wasm`, and `manifest.json`, which says of each file how long it
//! is and what it hashes to. Never holds a key of the operator: secrets inside of the database stay sealed.
//! Invariants: a folder under its final name is whole and was read again; nothing of a data folder changes before all of the
//! backup was found to be as it was written.
//!
//! - `write`: the folder. `restore`: the way back. `manifest`: what is in it. `files`: copied and hashed. `progress`: how far.

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
pub use progress::{Progress, Seen};
pub use restore::{Restore, Restored, restore};
pub use write::{Plan, prepare, write};

use crate::db::DbError;

const DATABASE_FILE: &str = "tenon.db";
const COMPONENTS_FOLDER: &str = "components";
const MANIFEST_FILE: &str = "manifest.json";

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It cannot be done as things are, and nothing was changed: a sentence for the operator.
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Database(#[from] DbError),
    #[error("it was broken off")]
    BrokenOff,
}

impl BackupError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
        let path = path.to_owned();
        |source| BackupError::File { path, source }
    }
}

/// Hex SHA-256 of a file. Blocking.
pub fn hash_file(path: &Path) -> io::Result<String> {
    Ok(files::hash(path, &Progress::default())?.sha256)
}

/// Runs what blocks its thread on one that may be.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(BackupError::BrokenOff))
}

#[cfg(test)]
mod tests;
