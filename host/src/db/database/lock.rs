//! The lock that keeps a second process off the file.
//!
//! An OS lock on `FILE.lock`: it ends with the process, however that ends. The file holds the process id of its last holder, for people, and the
//! boot in which the index of the log was made.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::db::DbError;
use crate::db::files::{IndexTrust, beside};

/// Two numbers: a process id and the id of a boot.
const TEXT_BYTES_MAX: u64 = 64;
/// Linux makes a new id at each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Held while it lives.
pub(super) struct FileLock {
    file: File,
    /// Whether the index of the log was made in this boot.
    pub trust: IndexTrust,
}

impl FileLock {
    pub fn take(database: &Path) -> Result<FileLock, DbError> {
        let name = beside(database, ".lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&name);
        let mut file = open.map_err(DbError::file(&name))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(database, &file)),
            Err(TryLockError::Error(error)) => return Err(DbError::file(&name)(error)),
        }
        let text = read_text(&file);
        let boot = boot_in(&text).unwrap_or_default();
        write_text(&mut file, boot).map_err(DbError::file(&name))?;
        Ok(FileLock { file, trust: trust_in(&text) })
    }

    /// Notes that SQLite has made the index of the log in this boot. Before that, a holder that dies leaves an older index behind.
    pub fn note_boot(&mut self, database: &Path) -> Result<(), DbError> {
        let boot = boot_id().unwrap_or_default();
        write_text(&mut self.file, &boot).map_err(DbError::file(&beside(database, ".lock")))
    }
}

fn write_text(file: &mut File, boot: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {boot}", std::process::id())
}

/// For readers that take no lock: how far the index of the log can be trusted, or `None` while another process holds the lock.
pub(super) fn trust_beside(database: &Path) -> Result<Option<IndexTrust>, DbError> {
    let name = beside(database, ".lock");
    let file = match File::open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(IndexTrust::Unknown)),
        Err(error) => return Err(DbError::file(&name)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(trust_in(&read_text(&file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(DbError::file(&name)(error)),
    }
}

fn trust_in(text: &str) -> IndexTrust {
    let boot = boot_in(text);
    if boot.is_some() && boot == boot_id().as_deref() { IndexTrust::SameBoot } else { IndexTrust::Unknown }
}

fn boot_in(text: &str) -> Option<&str> {
    text.split_whitespace().nth(1)
}

fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string(BOOT_ID).ok()?;
    Some(text.trim().to_owned())
}

/// Empty while another process writes it.
fn read_text(file: &File) -> String {
    let mut text = String::new();
    let _ = file.take(TEXT_BYTES_MAX).read_to_string(&mut text);
    text
}

fn in_use(database: &Path, file: &File) -> DbError {
    let holder = match read_text(file).split_whitespace().next() {
        None => String::new(),
        Some(pid) => format!(" (process {pid})"),
    };
    DbError::Refused(format!(
        "{} is in use by another Tenon{holder}; stop that one, or name another file with --database",
        database.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_of_an_earlier_boot_is_trusted_only_once_it_was_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        std::fs::write(beside(&database, ".lock"), "1 earlier-boot\n").unwrap();
        // The first holder dies before SQLite has read the log.
        for _ in 0..2 {
            assert_eq!(FileLock::take(&database).unwrap().trust, IndexTrust::Unknown);
        }
        FileLock::take(&database).unwrap().note_boot(&database).unwrap();
        for _ in 0..2 {
            assert_eq!(FileLock::take(&database).unwrap().trust, IndexTrust::SameBoot);
        }
    }
}
