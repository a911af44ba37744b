//! Opens regular files, and nothing that can block a reader.
//!
//! Opening a FIFO blocks until another process opens it as well, and a device may have no end, so both are rejected.
//! Symbolic links are followed. A file is created only if the caller's options request it.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Opens a regular file for reading.
///
/// # Errors
/// Errors of the system, and an error that names the kind of a file that is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with the given options. Replaces their custom flags.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    check(path)?;
    // A FIFO may replace the file after the check.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = options.custom_flags(flags).open(path)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a whole regular file of at most `bytes_max` bytes.
///
/// # Errors
/// The errors of [`open`], and an error with the limit for a longer file.
pub fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let limit = bytes_max as u64;
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    // The file may have grown since its length was read.
    if length > limit || file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// Rejects a path that leads to anything but a regular file. An absent file is accepted.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) => require_regular(found.file_type()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn require_regular(found: FileType) -> io::Result<()> {
    let name = match () {
        () if found.is_file() => return Ok(()),
        () if found.is_dir() => "a folder",
        () if found.is_fifo() => "a FIFO",
        () if found.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!("it is {name}, not a regular file")))
}

/// Creates a FIFO that no process opens.
#[cfg(test)]
pub(crate) fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        make_fifo(&fifo);
        for (path, name) in
            [(folder.path(), "a folder"), (fifo.as_path(), "a FIFO"), (Path::new("/dev/zero"), "a device")]
        {
            let reason = format!("it is {name}, not a regular file");
            assert_eq!(check(path).unwrap_err().to_string(), reason);
            assert_eq!(open(path).unwrap_err().to_string(), reason);
            let written = open_with(OpenOptions::new().write(true).create(true), path);
            assert_eq!(written.unwrap_err().to_string(), reason);
        }
    }

    #[test]
    fn regular_file_is_opened_through_a_link_and_an_absent_one_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link, 4).unwrap(), b"text");
        assert_eq!(read(&link, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        fs::remove_file(&file).unwrap();
        check(&link).unwrap();
        assert_eq!(open(&link).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
