//! The manifest of a backup: its files, and the results of its verification.
//!
//! The manifest file is untrusted input: only the two known forms of paths and well-formed hashes are accepted.

use std::{
    io::{Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{BackupError, COMPONENTS_FOLDER, DATABASE_FILE, MANIFEST_FILE, files};
use crate::{clock::Timestamp, limits::BACKUP_MANIFEST_BYTES_MAX, regular_file};

/// Format version. It is incremented when an older program could misinterpret the manifest.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Version of the program that wrote it.
    pub tenon: String,
    /// Time of the backup, "2026-01-02T03:04:05.678Z". The backup contains everything that was acknowledged before.
    pub made_at: String,
    /// Number of the last migration of the database.
    pub schema: u64,
    pub database: FileEntry,
    pub components: Vec<FileEntry>,
    pub checks: Checks,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path relative to the backup folder.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

/// Results of the verification of the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// True if indexes were compared with their tables.
    pub thorough: bool,
    /// Number of verified lines of the tenants' journals.
    pub journal_lines: u64,
    /// Number of assets whose balances were summed.
    pub ledger_sums: u64,
    /// Inconsistencies, as sentences. The database that was copied has the same inconsistencies.
    pub findings: Vec<String>,
}

impl Manifest {
    pub(super) fn new(made_at: Timestamp, schema: u64, files: (FileEntry, Vec<FileEntry>), checks: Checks) -> Manifest {
        let (database, components) = files;
        let made_at = i64::try_from(made_at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        let made_at = made_at.unwrap_or(jiff::Timestamp::MAX);
        Manifest {
            format: FORMAT,
            tenon: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: format!("{made_at:.3}"),
            schema,
            database,
            components,
            checks,
        }
    }

    /// Returns the total size of all files.
    pub fn bytes(&self) -> u64 {
        self.components.iter().map(|file| file.bytes).fold(self.database.bytes, u64::saturating_add)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), BackupError> {
        let path = folder.join(MANIFEST_FILE);
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other);
        let written = text.and_then(|text| {
            let mut file = files::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        written.map_err(BackupError::file(&path))
    }

    pub(super) fn read(folder: &Path) -> Result<Manifest, BackupError> {
        let path = folder.join(MANIFEST_FILE);
        let mut text = String::new();
        let file = regular_file::open(&path).map_err(|error| {
            BackupError::Precondition(format!(
                "{} is not a backup: {MANIFEST_FILE} cannot be read ({error})",
                folder.display()
            ))
        })?;
        let read = file.take(BACKUP_MANIFEST_BYTES_MAX).read_to_string(&mut text);
        read.map_err(BackupError::file(&path))?;
        let damaged = |error| BackupError::Precondition(format!("{} is damaged ({error})", path.display()));
        let manifest: Manifest = serde_json::from_str(&text).map_err(damaged)?;
        if manifest.format != FORMAT {
            return Err(BackupError::Precondition(format!(
                "{} was written by a newer Tenon ({}, format {}). Restore it with that version",
                folder.display(),
                manifest.tenon,
                manifest.format
            )));
        }
        let invalid = manifest.components.iter().find(|file| !file.is_component());
        match invalid.or((manifest.database.path != DATABASE_FILE).then_some(&manifest.database)) {
            None => Ok(manifest),
            Some(file) => {
                Err(BackupError::Precondition(format!("{} names the invalid file {:?}", path.display(), file.path)))
            }
        }
    }
}

impl FileEntry {
    fn is_component(&self) -> bool {
        let is_hash = self.sha256.len() == 64 && self.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash && self.path == component_path(&self.sha256)
    }
}

/// Returns the relative path of the component with this hash.
pub(super) fn component_path(hash: &str) -> String {
    format!("{COMPONENTS_FOLDER}/{hash}.wasm")
}
