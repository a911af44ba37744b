//! The lock that keeps a second process off the file.
//!
//! An OS lock on `FILE.lock`: it ends with the process, however that ends. The text in it is for people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::db::DbError;

/// Held while it lives.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub fn take(database: &Path) -> Result<FileLock, DbError> {
        let mut name = database.as_os_str().to_owned();
        name.push(".lock");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&name)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(database, &mut file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(FileLock { _file: file })
    }
}

fn in_use(database: &Path, file: &mut File) -> DbError {
    let mut holder = String::new();
    // Whoever holds the lock may be just writing its number: then the sentence goes without it.
    let _ = file.take(20).read_to_string(&mut holder);
    let holder = match holder.trim() {
        "" => String::new(),
        pid => format!(" (process {pid})"),
    };
    DbError::Refused(format!(
        "{} is in use by another Tenon{holder}; stop that one, or name another file with --database",
        database.display()
    ))
}
