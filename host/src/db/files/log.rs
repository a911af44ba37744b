//! The write-ahead log of a database: its header, its frames, and the end of its last commit.
//!
//! Format: <https://www.sqlite.org/fileformat2.html>, section 4. A log ends at its first invalid frame. Frames after it
//! were never committed, or were written before the log was restarted.

use std::{
    collections::BTreeSet,
    io::{BufReader, ErrorKind, Read},
    path::Path,
};

use super::header::be_u32;
use crate::{db::DbError, limits::COPY_CHUNK_BYTES, regular_file};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// Magic number. The least significant bit is set if checksums read big-endian words.
const MAGIC: u32 = 0x377f_0682;
const FORMAT: u32 = 3_007_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Salts in the header. They change whenever the log is restarted.
    pub salts: [u8; 8],
    /// Number of the last frame of the last commit.
    pub committed: u32,
    /// Number of pages of the database after the last commit.
    pub pages_after: u32,
    /// Number of committed pages beyond the end of the database file.
    pub pages_beyond: u64,
}

impl Log {
    /// Reads the log. `file_pages` is the number of pages of the database file. The inner error describes why the log
    /// is not valid.
    pub fn read(path: &Path, file_pages: u64) -> Result<Result<Log, String>, DbError> {
        let file = match regular_file::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(Log::default())),
            Err(error) => return Err(DbError::file(path)(error)),
        };
        let bytes = file.metadata().map_err(DbError::file(path))?.len();
        let mut file = BufReader::with_capacity(COPY_CHUNK_BYTES, file);
        let mut header = [0; HEADER_BYTES];
        // SQLite writes the header before the first frame, so a shorter log has no commit.
        if !fill(&mut file, &mut header).map_err(DbError::file(path))? {
            return Ok(Ok(Log::default()));
        }
        let Some(mut frames) = Frames::begin(&header) else {
            let first_frame = (HEADER_BYTES + FRAME_HEADER_BYTES) as u64;
            let what = "the header of the log is not valid, so SQLite would ignore all of it".to_owned();
            return Ok(if bytes > first_frame { Err(what) } else { Ok(Log::default()) });
        };
        frames.run(&mut file, file_pages).map_err(DbError::file(path)).map(Ok)
    }
}

/// Reader of the valid frames of a log, in order.
struct Frames {
    salts: [u8; 8],
    page_bytes: usize,
    checksum: Checksum,
}

impl Frames {
    /// Reads the header of a log. Returns `None` if the header is not valid.
    fn begin(header: &[u8; HEADER_BYTES]) -> Option<Frames> {
        let magic = be_u32(header, 0)?;
        let page_bytes = be_u32(header, 8)?;
        let is_known = magic & !1 == MAGIC && be_u32(header, 4)? == FORMAT;
        if !is_known || !page_bytes.is_power_of_two() || !(512..=65_536).contains(&page_bytes) {
            return None;
        }
        let mut checksum = Checksum { big_endian: magic & 1 == 1, sums: (0, 0) };
        checksum.add(header.get(..24)?);
        let salts = header.get(16..24)?.try_into().ok()?;
        checksum.is_at(header, 24)?.then_some(Frames { salts, page_bytes: page_bytes as usize, checksum })
    }

    fn run(&mut self, file: &mut impl Read, file_pages: u64) -> std::io::Result<Log> {
        let mut log = Log { salts: self.salts, ..Log::default() };
        let (mut frame, mut number) = (vec![0; FRAME_HEADER_BYTES + self.page_bytes], 0_u32);
        let mut beyond = BTreeSet::new();
        while fill(file, &mut frame)? {
            let Some((page, pages_after)) = self.check(&frame) else { break };
            number = number.saturating_add(1);
            if u64::from(page) > file_pages {
                beyond.insert(page);
            }
            if pages_after > 0 {
                (log.committed, log.pages_after) = (number, pages_after);
                log.pages_beyond = beyond.range(..=pages_after).count() as u64;
            }
        }
        Ok(log)
    }

    /// Checks a frame. Returns its page number and, for a commit frame, the number of pages of the database after it.
    ///
    /// Returns `None` if the frame is not valid.
    fn check(&mut self, frame: &[u8]) -> Option<(u32, u32)> {
        let (page, pages_after) = (be_u32(frame, 0)?, be_u32(frame, 4)?);
        if page == 0 || frame.get(8..16)? != self.salts {
            return None;
        }
        self.checksum.add(frame.get(..8)?);
        self.checksum.add(frame.get(FRAME_HEADER_BYTES..)?);
        self.checksum.is_at(frame, 16)?.then_some((page, pages_after))
    }
}

/// Cumulative checksum of a log.
pub(super) struct Checksum {
    pub big_endian: bool,
    pub sums: (u32, u32),
}

impl Checksum {
    /// Adds bytes to the checksum. Reads whole pairs of 4-byte words.
    pub fn add(&mut self, bytes: &[u8]) {
        let (mut first, mut second) = self.sums;
        let (words, _) = bytes.as_chunks::<4>();
        let (pairs, _) = words.as_chunks::<2>();
        let read = if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        for [even, odd] in pairs {
            first = first.wrapping_add(read(*even)).wrapping_add(second);
            second = second.wrapping_add(read(*odd)).wrapping_add(first);
        }
        self.sums = (first, second);
    }

    fn is_at(&self, bytes: &[u8], offset: usize) -> Option<bool> {
        Some((be_u32(bytes, offset)?, be_u32(bytes, offset + 4)?) == self.sums)
    }
}

/// Fills the buffer. Returns false at the end of the file.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
