//! The lock that prevents a second process from opening the database for writing.
//!
//! It is an OS lock on `FILE.lock`, which the kernel releases when the process ends. The file contains the process id
//! of its last holder, for operators, and the id of the boot in which the index of the log was created.
//!
//! A lock on a removed file excludes no other process. Therefore the folder of a database with the default name is
//! locked as well: a folder can contain only one database of that name, and cannot be removed while it contains one.
//! Databases with other names may share a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::db::DbError;
use crate::db::files::{IndexTrust, beside, resolved};
use crate::limits::{LOCK_RETRY_MS, LOCK_WAIT_MS};
use crate::regular_file;

/// The file contains a process id and a boot id.
const TEXT_BYTES_MAX: u64 = 64;
/// Linux generates a new id at each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const DEFAULT_NAME: &str = "tenon.db";

/// Exclusive lock on a database, released on drop.
pub(super) struct FileLock {
    file: File,
    _folder: Option<File>,
    /// Whether the index of the log was created in this boot.
    pub trust: IndexTrust,
}

impl FileLock {
    /// Acquires the lock. Waits for commands that only inspect the files.
    ///
    /// # Errors
    /// `Precondition`, without waiting, if another host or a command that writes holds the lock. `Precondition` after
    /// `LOCK_WAIT_MS` if a command that only inspects the files still holds it.
    pub async fn take(database: &Path) -> Result<FileLock, DbError> {
        let name = beside(database, ".lock");
        let begun = Instant::now();
        let (mut file, folder) = loop {
            match attempt(database, &name).map_err(DbError::file(&name))? {
                Attempt::Taken(file, folder) => break (file, folder),
                Attempt::HeldAlone(file) => return Err(in_use(database, &file)),
                Attempt::HeldShared => {}
            }
            if begun.elapsed() >= Duration::from_millis(LOCK_WAIT_MS) {
                return Err(inspected(database));
            }
            sleep(Duration::from_millis(LOCK_RETRY_MS)).await;
        };
        let text = read_text(&file);
        let boot = boot_in(&text).unwrap_or_default();
        write_text(&mut file, boot).map_err(DbError::file(&name))?;
        Ok(FileLock { file, _folder: folder, trust: trust_in(&text) })
    }

    /// Returns false if the lock file was removed or replaced.
    pub fn is_in_place(&self, database: &Path) -> bool {
        is_named(&self.file, &beside(database, ".lock")).unwrap_or(true)
    }

    /// Records that SQLite has created the index of the log in this boot. A holder that dies earlier leaves an older
    /// index behind.
    pub fn record_boot(&mut self, database: &Path) -> Result<(), DbError> {
        let boot = boot_id().unwrap_or_default();
        write_text(&mut self.file, &boot).map_err(DbError::file(&beside(database, ".lock")))
    }
}

/// Result of one attempt to take the lock.
enum Attempt {
    /// The lock file, and the folder if it was locked.
    Taken(File, Option<File>),
    /// Another host, or a command that writes, holds a lock. Contains the lock file.
    HeldAlone(File),
    /// A command that inspects holds a lock, or the lock file was replaced meanwhile.
    HeldShared,
}

fn attempt(database: &Path, name: &Path) -> std::io::Result<Attempt> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = regular_file::open_with(&mut options, name)?;
    match lock_alone(&file)? {
        Holder::Caller if is_named(&file, name)? => {}
        Holder::Caller | Holder::Inspectors => return Ok(Attempt::HeldShared),
        Holder::Other => return Ok(Attempt::HeldAlone(file)),
    }
    let Some(folder) = open_folder(database) else { return Ok(Attempt::Taken(file, None)) };
    Ok(match lock_alone(&folder) {
        Ok(Holder::Caller) => Attempt::Taken(file, Some(folder)),
        Ok(Holder::Inspectors) => Attempt::HeldShared,
        Ok(Holder::Other) => Attempt::HeldAlone(file),
        // Not every file system locks folders.
        Err(_) => Attempt::Taken(file, None),
    })
}

/// Opens the folder of a database with the default name. Returns `None` for other names, or if it cannot be opened.
fn open_folder(database: &Path) -> Option<File> {
    let file = resolved(database);
    if file.file_name()? != DEFAULT_NAME {
        return None;
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).ok()
}

/// Returns true if the path refers to the open file.
fn is_named(file: &File, path: &Path) -> std::io::Result<bool> {
    let held = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((held.dev(), held.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn write_text(file: &mut File, boot: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {boot}", std::process::id())
}

/// Shared lock that prevents a host from starting, released on drop.
pub(super) struct SharedLock {
    /// The lock file if it exists, and the folder if the database has the default name.
    _held: [Option<File>; 2],
    pub trust: IndexTrust,
}

impl SharedLock {
    /// Acquires the shared lock. Returns `None` if a host or a command that writes holds the lock.
    pub fn take(database: &Path) -> Result<Option<SharedLock>, DbError> {
        let name = beside(database, ".lock");
        let file = match regular_file::open(&name) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(DbError::file(&name)(error)),
        };
        let mut trust = IndexTrust::Unknown;
        if let Some(file) = &file {
            match file.try_lock_shared() {
                Ok(()) => trust = trust_in(&read_text(file)),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(DbError::file(&name)(error)),
            }
        }
        let folder = open_folder(database);
        match folder.as_ref().map(File::try_lock_shared) {
            Some(Err(TryLockError::WouldBlock)) => Ok(None),
            _ => Ok(Some(SharedLock { _held: [file, folder], trust })),
        }
    }
}

/// Holder of a lock after an attempt to take it.
enum Holder {
    Caller,
    Inspectors,
    Other,
}

fn lock_alone(file: &File) -> std::io::Result<Holder> {
    match file.try_lock() {
        Ok(()) => Ok(Holder::Caller),
        Err(TryLockError::WouldBlock) if is_held_alone(file)? => Ok(Holder::Other),
        Err(TryLockError::WouldBlock) => Ok(Holder::Inspectors),
        Err(TryLockError::Error(error)) => Err(error),
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

/// Returns the content of the lock file, which is empty while another process writes it.
fn read_text(file: &File) -> String {
    let mut text = String::new();
    let _ = file.take(TEXT_BYTES_MAX).read_to_string(&mut text);
    text
}

fn inspected(database: &Path) -> DbError {
    let database = database.display();
    DbError::Precondition(format!(
        "{database} is being inspected by another tenon command; try again when that command has finished"
    ))
}

fn in_use(database: &Path, file: &File) -> DbError {
    let holder = match read_text(file).split_whitespace().next() {
        None => String::new(),
        Some(pid) => format!(" (process {pid})"),
    };
    DbError::Precondition(format!(
        "{} is in use by another Tenon{holder}; stop that process, or name another file with --database",
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
    async fn index_of_an_earlier_boot_is_trusted_only_after_it_was_recreated() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        std::fs::write(beside(&database, ".lock"), "1 earlier-boot\n").unwrap();
        // The first holder dies before SQLite has read the log.
        for _ in 0..2 {
            assert_eq!(trust_of_next(&database).await, IndexTrust::Unknown);
        }
        FileLock::take(&database).await.unwrap().record_boot(&database).unwrap();
        for _ in 0..2 {
            assert_eq!(trust_of_next(&database).await, IndexTrust::SameBoot);
        }
    }

    #[tokio::test]
    async fn host_waits_for_an_inspecting_command_but_not_for_another_host() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("t.db");
        drop(FileLock::take(&database).await.unwrap());
        let inspects = SharedLock::take(&database).unwrap().unwrap();
        let mut waits = Box::pin(FileLock::take(&database));
        assert!((&mut waits).now_or_never().is_none(), "it waits");
        drop(inspects);
        let host = waits.await.unwrap();
        assert!(SharedLock::take(&database).unwrap().is_none());
        let error = FileLock::take(&database).now_or_never().expect("returns at once").err().unwrap();
        assert!(error.to_string().contains("in use by another Tenon"), "{error}");
        drop(host);
    }
    #[tokio::test]
    async fn second_host_is_rejected_after_the_lock_file_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join(DEFAULT_NAME);
        let host = FileLock::take(&database).await.unwrap();
        assert!(host.is_in_place(&database));
        std::fs::remove_file(beside(&database, ".lock")).unwrap();
        assert!(!host.is_in_place(&database));
        assert!(SharedLock::take(&database).unwrap().is_none(), "the host holds the folder");
        let error = FileLock::take(&database).now_or_never().expect("returns at once").err().unwrap();
        assert!(error.to_string().contains("in use by another Tenon"), "{error}");
        assert!(!host.is_in_place(&database), "the rejected attempt created another file");
        drop(host);
        FileLock::take(&database).await.unwrap();
    }

    #[tokio::test]
    async fn databases_with_other_names_can_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _first = FileLock::take(&folder.path().join("a.db")).await.unwrap();
        let _default = FileLock::take(&folder.path().join(DEFAULT_NAME)).await.unwrap();
        FileLock::take(&folder.path().join("b.db")).await.unwrap();
    }
}
