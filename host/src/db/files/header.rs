//! The header of a database file: the first 100 bytes.
//!
//! Format: <https://www.sqlite.org/fileformat2.html>, section 1.3.

use std::{io::Read, path::Path};

use super::log::Log;
use crate::{db::DbError, regular_file};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_BYTES: u64 = 100;
/// File locks use the byte at this offset, so its page is never written.
const LOCK_BYTE: u64 = 1 << 30;

pub(super) struct Header {
    pub page_bytes: u64,
    pub is_wal: bool,
    /// Number of pages of the database at the last checkpoint. `None` if the field is not valid.
    pages: Option<u64>,
}

impl Header {
    /// Reads the header. The inner error describes why it is not valid.
    pub fn read(path: &Path) -> Result<Result<Header, String>, DbError> {
        let mut bytes = Vec::new();
        let file = regular_file::open(path).map_err(DbError::file(path))?;
        file.take(HEADER_BYTES).read_to_end(&mut bytes).map_err(DbError::file(path))?;
        Ok(Header::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Result<Header, String> {
        if bytes.get(..MAGIC.len()).is_none_or(|magic| magic != MAGIC) {
            return Err("it is not a database (its header is not that of SQLite)".to_owned());
        }
        let short = || format!("its header has {} of {HEADER_BYTES} bytes", bytes.len());
        let number = |offset: usize| be_u32(bytes, offset).ok_or_else(short);
        let page_bytes = match number(16)? >> 16 {
            1 => 65_536,
            size @ 512..=32_768 if size.is_power_of_two() => u64::from(size),
            size => return Err(format!("its header has the page size {size}")),
        };
        // The number of pages is valid if these two counters are equal.
        let valid = number(24)? == number(92)?;
        let pages = Some(u64::from(number(28)?)).filter(|pages| valid && *pages > 0);
        Ok(Header { page_bytes, is_wal: bytes.get(18..20) == Some(&[2, 2]), pages })
    }

    /// Describes the pages that neither the file nor its log contains. Returns `None` if no page is missing.
    pub fn missing_pages(&self, in_file: u64, log: &Log) -> Option<String> {
        let (expected, in_log) = match (log.committed, self.pages) {
            (0, Some(pages)) => (pages, 0),
            (0, None) => return None,
            (_, _) => (u64::from(log.pages_after), log.pages_beyond),
        };
        let lock_page = LOCK_BYTE / self.page_bytes + 1;
        let unwritten = u64::from((in_file + 1..=expected).contains(&lock_page));
        let missing = expected.saturating_sub(in_file).saturating_sub(in_log + unwritten);
        (missing > 0).then(|| format!("it is truncated: {missing} of its {expected} pages are missing"))
    }
}

pub(super) fn be_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(field.try_into().ok()?))
}
