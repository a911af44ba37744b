//! Private files and folders: creation, durable copies, hashes. Blocking.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use sha2::{Digest, Sha256};

use super::Progress;
use crate::{limits::COPY_CHUNK_BYTES, regular_file};

/// Length and hex SHA-256 of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    pub bytes: u64,
    pub sha256: String,
}

/// Creates a new file that only its owner can access.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a new folder that only its owner can access. Its parent must exist.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Copies to a new file and syncs it.
pub fn copy(from: &Path, to: &Path, progress: &Progress) -> io::Result<Content> {
    let mut target = create(to)?;
    let content = read_through(from, progress, |chunk| target.write_all(chunk))?;
    target.sync_all()?;
    Ok(content)
}

pub fn hash(path: &Path, progress: &Progress) -> io::Result<Content> {
    read_through(path, progress, |_chunk| Ok(()))
}

fn read_through(
    path: &Path,
    progress: &Progress,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Content> {
    let (mut file, mut chunk) = (regular_file::open(path)?, vec![0; COPY_CHUNK_BYTES]);
    let (mut bytes, mut sha256) = (0, Sha256::new());
    loop {
        if progress.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let read = match file.read(&mut chunk) {
            Ok(0) => return Ok(Content { bytes, sha256: hex::encode(sha256.finalize()) }),
            Ok(read) => chunk.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        sha256.update(read);
        bytes += read.len() as u64;
        take(read)?;
    }
}

/// Removes a file if it exists.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
