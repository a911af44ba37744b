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
use crate::limits;

/// Makes the folder with mode 0700 where it is missing; leaves one that is there as it is.
pub fn create_folder(path: &Path) -> Result<(), SecretError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| failed(path, source))
}

/// The text, or `None` where there is no file. Refused if others than the owner can read it.
pub fn read(path: &Path) -> Result<Option<Zeroizing<String>>, SecretError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(path, source)),
    };
    let mode = file.metadata().map_err(|source| failed(path, source))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(SecretError::OpenToOthers(path.to_owned()));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(limits::PRIVATE_FILE_BYTES_MAX).read_to_string(&mut text).map_err(|source| failed(path, source))?;
    Ok(Some(text))
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
