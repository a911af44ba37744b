//! Reads a file that may be in the middle of being written.
//!
//! The content of a file is complete when two readings in succession are equal. A writer that pauses for longer is not
//! detected here: half a component does not parse, and the rest of it is another change.

use std::{io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{task::spawn_blocking, time::Instant};

use crate::{
    limits::{self, ADMIN_COMPONENT_BYTES_MAX},
    plugin::components,
    regular_file,
};

/// Result of the check of a file.
#[derive(Debug, PartialEq)]
pub enum FileState {
    Missing,
    /// The content is the known one.
    Unchanged,
    Changed(Content),
    /// The file cannot be read or does not stop changing: a sentence.
    Unreadable(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    pub bytes: Bytes,
    pub hash: Arc<str>,
}

/// Checks a file. Waits until it stops changing, unless its content is `known` (a hash).
pub async fn check_file(file: &Path, known: Option<&str>) -> FileState {
    let began = Instant::now();
    let mut before: Option<Arc<str>> = None;
    loop {
        // The first reading needs only the hash.
        let now = match read(file, before.as_deref()).await {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return FileState::Missing,
            Err(error) => return FileState::Unreadable(format!("{} cannot be read: {error}", file.display())),
        };
        let hash = match now {
            Reading::Hash(hash) if known == Some(&*hash) => return FileState::Unchanged,
            Reading::Settled(content) => return FileState::Changed(content),
            Reading::Hash(hash) => hash,
        };
        if began.elapsed() > Duration::from_millis(limits::SETTLE_MS_MAX) {
            return FileState::Unreadable(format!("{} does not stop changing", file.display()));
        }
        before = Some(hash);
        tokio::time::sleep(Duration::from_millis(limits::SETTLE_MS)).await;
    }
}

enum Reading {
    Hash(Arc<str>),
    /// The hash is that of the reading before.
    Settled(Content),
}

async fn read(file: &Path, before: Option<&str>) -> io::Result<Reading> {
    let (file, before) = (file.to_owned(), before.map(str::to_owned));
    let reading = spawn_blocking(move || {
        let Some(before) = before else { return hash_file(&file).map(Reading::Hash) };
        let bytes = regular_file::read(&file, ADMIN_COMPONENT_BYTES_MAX)?;
        let hash = components::hash(&bytes);
        Ok(if *hash == *before { Reading::Settled(Content { bytes: bytes.into(), hash }) } else { Reading::Hash(hash) })
    });
    // A reading cannot be cancelled: its thread may wait for a file system that does not respond.
    let ended = tokio::time::timeout(Duration::from_millis(limits::SETTLE_MS_MAX), reading).await;
    let reading = ended.map_err(|_| io::Error::other("reading it takes too long"))?;
    reading.unwrap_or_else(|broken| Err(io::Error::other(broken)))
}

/// Returns the hash of a regular file that is not longer than a component may be.
pub fn hash_file(file: &Path) -> io::Result<Arc<str>> {
    components::hash_file(file, ADMIN_COMPONENT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[tokio::test]
    async fn file_is_read_only_when_it_has_stopped_changing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        let mut file = fs::File::create(&path).unwrap();
        let checking = tokio::spawn({
            let path = path.clone();
            async move { check_file(&path, None).await }
        });
        // A writer that adds a byte more often than the file is read.
        let mut written = Vec::new();
        let mut pace = tokio::time::interval(Duration::from_millis(limits::SETTLE_MS / 5));
        for byte in 0..20_u8 {
            pace.tick().await;
            written.push(byte);
            file.write_all(&[byte]).unwrap();
        }
        let FileState::Changed(content) = checking.await.unwrap() else { panic!("nothing found") };
        assert_eq!(content.bytes, written);
    }

    #[tokio::test]
    async fn file_that_is_too_large_for_a_component_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        // Sparse: it takes no space.
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let FileState::Unreadable(why) = check_file(&path, None).await else { panic!("it was read") };
        assert!(why.contains("has more than"), "{why}");
    }

    #[tokio::test]
    async fn known_content_is_unchanged_and_needs_no_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        assert_eq!(check_file(&path, None).await, FileState::Missing);
        fs::write(&path, "x").unwrap();
        assert!(matches!(check_file(&path, Some(&components::hash(b"x"))).await, FileState::Unchanged));
    }

    #[tokio::test]
    async fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, endless) = (folder.path().join("fifo.wasm"), folder.path().join("endless.wasm"));
        regular_file::make_fifo(&fifo);
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        for path in [folder.path(), &fifo, &endless] {
            let checked = tokio::time::timeout(Duration::from_secs(20), check_file(path, None)).await.unwrap();
            let FileState::Unreadable(why) = checked else { panic!("{} was read", path.display()) };
            assert!(why.ends_with("not a regular file"), "{why}");
        }
    }
}
