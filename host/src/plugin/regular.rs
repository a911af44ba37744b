//! Reads regular files, and nothing else that may lie at their path.
//!
//! Opening a FIFO waits for a writer, and a device may have no end. Neither holds up a thread here: both are refused.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use rustix::fs::OFlags;

use super::components;
use crate::limits;

/// No component may be larger, whatever plugins.toml allows.
pub const COMPONENT_BYTES_MAX: u64 = limits::ADMIN_COMPONENT_BYTES_MAX as u64;

/// Content of a regular file of at most `bytes_max` bytes.
pub fn read(file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file, bytes_max)?.read_to_end(&mut bytes)?;
    check_length(bytes.len() as u64, bytes_max)?;
    Ok(bytes)
}

/// Hash of a regular file of at most `bytes_max` bytes. Only a buffer of it is in memory.
pub fn hash(file: &Path, bytes_max: u64) -> io::Result<Arc<str>> {
    let mut file = open(file, bytes_max)?;
    let hash = components::hash_reader(&mut file)?;
    check_length(read_max(bytes_max).saturating_sub(file.limit()), bytes_max)?;
    Ok(hash)
}

/// Opens a regular file; reading ends one byte beyond the limit. Opening a FIFO does not wait for a writer, and is refused.
fn open(file: &Path, bytes_max: u64) -> io::Result<io::Take<fs::File>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    check_length(metadata.len(), bytes_max)?;
    Ok(file.take(read_max(bytes_max)))
}

/// Enough to see that a file has more.
fn read_max(bytes_max: u64) -> u64 {
    bytes_max.saturating_add(1)
}

fn check_length(bytes: u64, bytes_max: u64) -> io::Result<()> {
    match bytes <= bytes_max {
        true => Ok(()),
        false => Err(io::Error::other(format!("it has {bytes} bytes, {bytes_max} are the limit"))),
    }
}

/// Makes a FIFO that nobody writes to.
#[cfg(test)]
pub fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
