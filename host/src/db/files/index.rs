//! The index of the log in shared memory (`FILE-shm`): the last committed frame when the last process had the log open.
//!
//! A killed process leaves it behind, and SQLite rebuilds it at the next open. Until then it proves which frames were
//! committed. Format: <https://www.sqlite.org/walformat.html>, section 2.1. Numbers have the byte order of the machine.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use super::log::{Checksum, Log};
use crate::{db::DbError, regular_file};

const VERSION: u32 = 3_007_000;
const COPY_BYTES: usize = 48;
const SUMMED_BYTES: usize = 40;
/// Two copies of the header, and the number of checkpointed frames.
const READ_BYTES: usize = 2 * COPY_BYTES + 4;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// Number of the last frame of the last commit.
    committed: u32,
    /// Number of frames that a checkpoint has copied into the database file.
    checkpointed: u32,
    salts: [u8; 8],
}

/// Reads the index. Returns `None` if the file is absent or contains no valid index.
pub(super) fn read(path: &Path) -> Result<Option<Index>, DbError> {
    let mut bytes = Vec::new();
    match regular_file::open(path) {
        Ok(file) => file.take(READ_BYTES as u64).read_to_end(&mut bytes).map_err(DbError::file(path))?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DbError::file(path)(error)),
    };
    // A process that died while it wrote the copies leaves one valid copy, or two that differ. The smaller number of
    // committed frames is certain.
    let copies = [0, COPY_BYTES].into_iter().filter_map(|offset| bytes.get(offset..offset + COPY_BYTES));
    let checkpointed = number(&bytes, 2 * COPY_BYTES);
    Ok(copies.filter_map(|copy| parse(copy, checkpointed?)).min_by_key(|index| index.committed))
}

fn parse(copy: &[u8], checkpointed: u32) -> Option<Index> {
    let mut checksum = Checksum { big_endian: cfg!(target_endian = "big"), sums: (0, 0) };
    checksum.add(copy.get(..SUMMED_BYTES)?);
    let is_valid = number(copy, 0)? == VERSION
        && copy.get(12) == Some(&1)
        && (number(copy, SUMMED_BYTES)?, number(copy, SUMMED_BYTES + 4)?) == checksum.sums;
    let salts = copy.get(32..40)?.try_into().ok()?;
    is_valid.then_some(Index { committed: number(copy, 16)?, checkpointed, salts })
}

fn number(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

impl Index {
    /// Describes the committed frames that the log does not contain. Returns `None` if it contains all of them.
    pub fn missing_from(&self, log: &Log) -> Option<String> {
        let (held, whole) = (log.committed, self.committed);
        if whole == 0 || (held == 0 && self.checkpointed >= whole) {
            return None;
        }
        if held > 0 && log.salts != self.salts {
            return Some(
                "it is not the log that was committed to last, so changes that were acknowledged are lost".to_owned(),
            );
        }
        // A partial log is worse than none: its pages are older than those that a checkpoint has copied.
        (held < whole).then(|| {
            format!("{held} of the {whole} frames that were committed to it are left, so changes that were acknowledged are lost")
        })
    }
}
