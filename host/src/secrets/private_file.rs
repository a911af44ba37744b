//! Files that only their owner may read: keys and tokens (mode 0600) in the data folder (0700).
//!
//! Invariant: a file that exists is complete; it is written aside and renamed. Only the process that holds the database
//! makes them, so that two of them do not race.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use zeroize::Zeroizing;

use super::SecretError;
use crate::{limits, regular_file};

/// Makes the folder with mode 0700 where it is missing; leaves one that is there as it is.
pub fn create_folder(path: &Path) -> Result<(), SecretError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| failed(path, source))
}

/// The text, or `None` where there is no file. Refused if others than the owner can read it.
pub fn read(path: &Path) -> Result<Option<Zeroizing<String>>, SecretError> {
    let file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(path, source)),
    };
    let data = file.metadata().map_err(|source| failed(path, source))?;
    if data.permissions().mode() & 0o077 != 0 {
        return Err(SecretError::OpenToOthers(path.to_owned()));
    }
    // Whole at once: a text that grows would leave copies behind.
    let length = data.len().min(limits::PRIVATE_FILE_BYTES_MAX);
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(length).unwrap_or_default() + 1));
    file.take(limits::PRIVATE_FILE_BYTES_MAX).read_to_string(&mut text).map_err(|source| failed(path, source))?;
    Ok(Some(text))
}

/// Returns true if every user of this machine can read the file: its mode allows it, and so does each folder above it.
pub fn is_open_to_all(path: &Path) -> bool {
    let Ok(file) = fs::canonicalize(path) else { return false };
    let allows = |path: &Path, bit: u32| fs::metadata(path).is_ok_and(|data| data.permissions().mode() & bit != 0);
    allows(&file, 0o004) && file.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

/// Writes the file with mode 0600, in place of one that is there. On disk when it returns.
pub fn create(path: &Path, text: &str) -> Result<(), SecretError> {
    let aside = path.with_extension("new");
    write_aside(&aside, text)
        .and_then(|()| fs::rename(&aside, path))
        .and_then(|()| path.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_folder))
        .map_err(|source| failed(path, source))
}

fn write_aside(path: &Path, text: &str) -> std::io::Result<()> {
    // What a stopped process left behind must not lend its mode to the new file.
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(path: &Path, source: std::io::Error) -> SecretError {
    SecretError::File { path: path.to_owned(), source }
}
