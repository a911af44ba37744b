//! The lock that keeps a second process off the file.
//!
//! An OS lock on `FILE.lock`: it ends with the process, however that ends. The file holds the process id of its last holder, for people, and the
//! boot in which the index of the log was made.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::db::DbError;
use crate::db::files::{IndexTrust, beside};
use crate::limits::{LOCK_LOOK_MS, LOCK_WAIT_MS};

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
    /// Waits for commands that inspect the files. `Refused` at once while another host, or a command that writes, holds the lock.
    pub async fn take(database: &Path) -> Result<FileLock, DbError> {
        let name = beside(database, ".lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&name);
        let mut file = open.map_err(DbError::file(&name))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(DbError::file(&name)(error)),
            }
            if is_held_alone(&file).map_err(DbError::file(&name))? {
                return Err(in_use(database, &file));
            }
            if begun.elapsed() >= Duration::from_millis(LOCK_WAIT_MS) {
                return Err(inspected(database));
            }
            sleep(Duration::from_millis(LOCK_LOOK_MS)).await;
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

/// Keeps a host from starting while it lives.
pub(super) struct SharedLock {
    /// `None` if no host has ever had the database open.
    _file: Option<File>,
    pub trust: IndexTrust,
}

impl SharedLock {
    /// `None` while a host, or a command that writes, holds the lock.
    pub fn take(database: &Path) -> Result<Option<SharedLock>, DbError> {
        let name = beside(database, ".lock");
        let file = match File::open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(SharedLock { _file: None, trust: IndexTrust::Unknown }));
            }
            Err(error) => return Err(DbError::file(&name)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                let trust = trust_in(&read_text(&file));
                Ok(Some(SharedLock { _file: Some(file), trust }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(DbError::file(&name)(error)),
        }
    }
}

fn is_held_alone(file: &File) -> std::io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
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

fn inspected(database: &Path) -> DbError {
    let database = database.display();
    DbError::Refused(format!(
        "{database} is being inspected by another command of Tenon; try again when that has ended"
    ))
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
    use futures_util::FutureExt;

    use super::*;

    async fn trust_of_next(database: &Path) -> IndexTrust {
        FileLock::take(database).await.unwrap().trust
    }

    #[tokio::test]
    async fn index_of_an_earlier_boot_is_trusted_only_once_it_was_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        std::fs::write(beside(&database, ".lock"), "1 earlier-boot\n").unwrap();
        // The first holder dies before SQLite has read the log.
        for _ in 0..2 {
            assert_eq!(trust_of_next(&database).await, IndexTrust::Unknown);
        }
        FileLock::take(&database).await.unwrap().note_boot(&database).unwrap();
        for _ in 0..2 {
            assert_eq!(trust_of_next(&database).await, IndexTrust::SameBoot);
        }
    }

    #[tokio::test]
    async fn host_waits_for_a_command_that_inspects_but_not_for_another_host() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        drop(FileLock::take(&database).await.unwrap());
        let inspects = SharedLock::take(&database).unwrap().unwrap();
        let mut waits = Box::pin(FileLock::take(&database));
        assert!((&mut waits).now_or_never().is_none(), "it waits");
        drop(inspects);
        let host = waits.await.unwrap();
        assert!(SharedLock::take(&database).unwrap().is_none());
        let refused = FileLock::take(&database).now_or_never().expect("an answer at once").err().unwrap();
        assert!(refused.to_string().contains("in use by another Tenon"), "{refused}");
        drop(host);
    }
}
