//! Files that command-line arguments name. Only regular files are read, up to a size limit.

use std::{io, path::Path};

use super::CliError;
use crate::regular_file;

/// Reads a file. The error names the path, and the limit if the file is too large.
pub fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, CliError> {
    regular_file::read(path, bytes_max).map_err(|source| CliError::File { path: path.to_owned(), source })
}

pub fn read_text(path: &Path, bytes_max: usize) -> Result<String, CliError> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|_| CliError::File { path: path.to_owned(), source: io::Error::other("it is not valid UTF-8") })
}
