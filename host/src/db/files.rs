//! Inspects the files of a database without opening them in SQLite.
//!
//! SQLite ignores the log from its first invalid frame on, and deletes a log beside an empty file. Therefore a host
//! inspects the files before it opens them. This module never writes. Invariant: it reports only damage that a crash of
//! the process or the machine cannot cause.
//!
//! - `header`: the header of the file. `log`: the write-ahead log (`FILE-wal`). `index`: its index in shared memory
//!   (`FILE-shm`).

mod header;
mod index;
mod log;

use std::{
    fmt::{Display, Formatter},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions, Connection};

use super::{
    DbError,
    database::{ContinueFn, options},
};
use crate::{
    limits::{LINKS_MAX, SEARCH_CANCEL_CHECK_STEPS, SURVEY_ATTEMPTS_MAX},
    regular_file,
};
use header::Header;
use log::Log;

/// A damaged file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is damaged: {what}. {remedy}", file.display())]
pub struct Damage {
    pub file: PathBuf,
    /// Description of the damage: a clause in lower case.
    pub what: String,
    pub remedy: Remedy,
}

/// How to replace damaged files. Contains the path of their database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    RestoreDatabase(PathBuf),
    /// For the simulated blockchains, which backups do not contain.
    ReplaceChains(PathBuf),
}

impl Display for Remedy {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Remedy::RestoreDatabase(database) => {
                let (restore, check) = (restore_command(database), check_command(database));
                write!(
                    out,
                    "Keep the data folder as it is, and restore a backup: `{restore}`. `{check}` lists all damage"
                )
            }
            Remedy::ReplaceChains(file) => write!(
                out,
                "Backups do not contain the simulated blockchains: put a copy of {} back, or remove it and its -wal and -shm to begin \
                 empty chains",
                file.display()
            ),
        }
    }
}

/// Whether `FILE-shm` reliably describes the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexTrust {
    /// The machine has not been restarted since the database was open, so the page cache contains every write.
    SameBoot,
    /// The file may be older or newer than the log.
    Unknown,
}

/// Summary of intact files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Survey {
    /// The file is absent, or has 0 bytes.
    Nothing {
        exists: bool,
        log_bytes: u64,
    },
    Database {
        pages: u64,
        page_bytes: u64,
        log_frames: u32,
        log_bytes: u64,
    },
}

/// Inspects the database file, its log, and the index of the log. Reads the whole log.
///
/// # Errors
/// `Damaged` names the damaged file. `File` names a file that cannot be read.
pub fn survey(database: &Path, trust: IndexTrust) -> Result<Survey, DbError> {
    check_kinds(database)?;
    let log_path = beside(database, "-wal");
    let file_bytes = length(database)?;
    let log_bytes = length(&log_path)?.unwrap_or(0);
    let Some(bytes @ 1..) = file_bytes else {
        return Ok(Survey::Nothing { exists: file_bytes.is_some(), log_bytes });
    };
    let remedy = || Remedy::RestoreDatabase(database.to_owned());
    let damaged = |file: &Path, what: String| Damage { file: file.to_owned(), what, remedy: remedy() };
    let header = Header::read(database)?.map_err(|what| damaged(database, what))?;
    let (pages, page_bytes) = (bytes / header.page_bytes, header.page_bytes);
    // Another journal mode means that the file is not a database of Tenon, or is being created.
    if !header.is_wal {
        return Ok(Survey::Database { pages, page_bytes, log_frames: 0, log_bytes });
    }
    let log = Log::read(&log_path, pages)?.map_err(|what| damaged(&log_path, what))?;
    if trust == IndexTrust::SameBoot {
        let index = index::read(&beside(database, "-shm"))?;
        if let Some(what) = index.and_then(|index| index.missing_from(&log)) {
            return Err(damaged(&log_path, what).into());
        }
    }
    if let Some(what) = header.missing_pages(pages, &log) {
        return Err(damaged(database, what).into());
    }
    let pages = if log.committed > 0 { u64::from(log.pages_after) } else { pages };
    Ok(Survey::Database { pages, page_bytes, log_frames: log.committed, log_bytes })
}

/// Fails if a path that SQLite opens is not a regular file. SQLite would block on a FIFO.
pub(super) fn check_kinds(database: &Path) -> Result<(), DbError> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let path = beside(database, ending);
        regular_file::check(&path).map_err(DbError::file(&path))?;
    }
    Ok(())
}

/// Inspects the file of the simulated blockchains and its log, before it is opened.
pub fn survey_chains(path: &Path) -> Result<Survey, DbError> {
    survey(path, IndexTrust::Unknown).map_err(|error| error.in_chains(path))
}

/// Returns the problems in the file of the simulated blockchains and in its log. Calls `should_continue` periodically.
pub async fn check_chains(path: &Path, should_continue: ContinueFn) -> Result<Vec<String>, DbError> {
    let checked = async {
        survey_in_use(path)?;
        let mut connection = options::copier(path).connect().await?;
        connection.lock_handle().await?.set_progress_handler(SEARCH_CANCEL_CHECK_STEPS, move || should_continue());
        let mut problems: Vec<String> =
            sqlx::query_scalar("PRAGMA integrity_check(20)").fetch_all(&mut connection).await?;
        connection.close().await?;
        problems.retain(|line| line != "ok");
        Ok(problems)
    };
    checked.await.map_err(|error: DbError| error.in_chains(path))
}

/// Inspects files that a running host may be changing. Retries, because the host may restart the log between two reads.
pub fn survey_in_use(database: &Path) -> Result<Survey, DbError> {
    let mut found = survey(database, IndexTrust::Unknown);
    for _ in 1..SURVEY_ATTEMPTS_MAX {
        if found.is_ok() {
            break;
        }
        found = survey(database, IndexTrust::Unknown);
    }
    found
}

/// Returns the command that replaces a damaged or lost database.
pub fn restore_command(database: &Path) -> String {
    let replace = if database.exists() { " --replace" } else { "" };
    format!("tenon restore BACKUP {}{replace}", location_flags(database))
}

/// Returns the command that lists all damage.
pub fn check_command(database: &Path) -> String {
    format!("tenon db check {}", location_flags(database))
}

/// Returns the command-line flags that select this database.
pub fn location_flags(database: &Path) -> String {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match database.file_name().and_then(|name| name.to_str()) {
        Some("tenon.db") => format!("--data-dir {}", folder.display()),
        _ => format!("--data-dir FOLDER --database sqlite:{}", database.display()),
    }
}

/// Returns the path of `FILE.id`, the file with the identity of the database.
pub fn marker_path(database: &Path) -> PathBuf {
    beside(database, ".id")
}

/// Returns the path of the database's file with this suffix. Resolves links, because SQLite keeps its files beside the
/// target.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = resolved(path).into_os_string();
    name.push(ending);
    name.into()
}

/// Returns the target of a symbolic link, which need not exist, or the path itself if it is not a link.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&file) else { return file };
        // `join` replaces the folder if the target is absolute.
        file = file.parent().unwrap_or(Path::new("")).join(target);
    }
    path.to_owned()
}

/// Returns the length of the file in bytes, or `None` if it is absent.
pub(super) fn length(path: &Path) -> Result<Option<u64>, DbError> {
    match std::fs::metadata(path) {
        Ok(data) => Ok(Some(data.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DbError::file(path)(error)),
    }
}

#[cfg(test)]
mod tests;
