//! Files that only their owner may read: keys and tokens (mode 0600) in the data folder (0700).
//!
//! Invariant: a file that exists is complete, because a temporary file is written and then renamed. Only the process
//! that holds the database creates these files, so two processes do not race.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use zeroize::Zeroizing;

use super::SecretError;
use crate::{limits, regular_file};

/// Creates a folder with mode 0700 if it is missing. An existing folder is left as it is.
pub fn create_folder(path: &Path) -> Result<(), SecretError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| failed(path, source))
}

/// Returns the content, or `None` if there is no file. Fails if its mode gives any permission to users other than the
/// owner, or if the file is longer than `PRIVATE_FILE_BYTES_MAX`.
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
    let bytes_max = limits::PRIVATE_FILE_BYTES_MAX;
    let too_long = || failed(path, io::Error::other(format!("it has more than {bytes_max} bytes")));
    if data.len() > bytes_max {
        return Err(too_long());
    }
    // Allocated once: a buffer that grows would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(data.len()).unwrap_or_default() + 1));
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|source| failed(path, source))?;
    // The file may have grown since its length was read.
    if read as u64 > bytes_max { Err(too_long()) } else { Ok(Some(text)) }
}

/// Returns true if every user of this machine can read the file: its mode allows it, and so does each folder above it.
pub fn is_open_to_all(path: &Path) -> bool {
    let Ok(file) = fs::canonicalize(path) else { return false };
    let allows = |path: &Path, bit: u32| fs::metadata(path).is_ok_and(|data| data.permissions().mode() & bit != 0);
    allows(&file, 0o004) && file.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

/// Writes a file with mode 0600, replacing an existing one. The file is durable on return.
pub fn create(path: &Path, text: &str) -> Result<(), SecretError> {
    let temporary = path.with_extension("new");
    write_temporary(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| path.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_folder))
        .map_err(|source| failed(path, source))
}

fn write_temporary(path: &Path, text: &str) -> io::Result<()> {
    // A file left behind by a crashed process must not pass its mode to the new file.
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(path: &Path, source: io::Error) -> SecretError {
    SecretError::File { path: path.to_owned(), source }
}
