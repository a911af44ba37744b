//! All SQL. One function for each question, named as the question; it returns domain types, never rows.
//!
//! SQLite today. The only room that knows which database it is; nothing outside may assume one process, but
//! `commit::overlay` and `auth::oauth`, which say so.
//!
//! - `database`: open, close, the lock on the file, the writer's connection, the readers.
//! - `files`: the files of a database, inspected without opening them.
//! - `migrations`: the host's own tables, by numbered files.
//! - `model`: collections and indexes of a plugin; `extract`: indexed values out of a body; `prepare`: their tables.
//! - `records`, `accounts`, `answers`: what one call reads. `find`: pages of records.
//! - `apply`: a batch of accepted change sets in one transaction. `deliveries`: of events, and their attempts.
//! - `destinations`, `outbox`: where calls go, and what is kept of those that go nowhere. `tasks`: what is due.
//! - `credentials`: keys and tokens that plugins handed out.
//! - `journal`: the tenants' lines and their chains. `keys`, `clients`, `swaps`, `secrets`: rows of the host itself. `retention`, `disk`: growth. `copy`: backups.

use std::path::{Path, PathBuf};

pub mod accounts;
pub mod answers;
pub mod apply;
pub mod chains;
pub mod clients;
mod copy;
pub mod credentials;
pub mod database;
pub mod deliveries;
pub mod destinations;
pub mod disk;
pub mod feed;
pub mod files;
pub mod find;
pub mod journal;
pub mod keys;
mod migrations;
pub mod model;
pub mod outbox;
pub mod records;
pub mod retention;
pub mod secrets;
pub mod swaps;
pub mod tasks;

pub use database::{Accepted, Database, DbOptions, GoOn, Health, Invalidation, Old, Replacement};
use files::{Damage, Remedy};

#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The setting is wrong, the file is in use, newer, or not ours: a sentence for the operator.
    #[error("{0}")]
    Refused(String),
    #[error("database: {0}")]
    Sql(#[from] sqlx::Error),
    #[error("database file: {0}")]
    Io(#[from] std::io::Error),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A row that the host cannot have written, or a change set that the tables were not prepared for.
    #[error("database: {0}")]
    Corrupt(String),
    #[error("the database is closed")]
    Closed,
    /// What was asked for has more bytes than the asker has room for.
    #[error("more than {0} bytes")]
    TooMuch(usize),
}

impl DbError {
    /// An error about a file, for `map_err`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> DbError {
        let path = path.to_owned();
        |source| DbError::File { path, source }
    }

    pub(crate) fn damaged(database: &Path, what: &str) -> DbError {
        let remedy = Remedy::RestoreDatabase(database.to_owned());
        Damage { file: database.to_owned(), what: what.to_owned(), remedy }.into()
    }

    /// Names the file if the error says that it is damaged.
    pub(crate) fn in_file(self, database: &Path) -> DbError {
        match self.sqlite_code() {
            Some(11 | 26) => DbError::damaged(database, &format!("SQLite reports: {self}")),
            _ => self,
        }
    }

    /// The same for the file of the simulated blockchains, whose damage has another remedy.
    pub(crate) fn in_chains(self, file: &Path) -> DbError {
        match self.in_file(file) {
            DbError::Damaged(damage) => Damage { remedy: Remedy::ReplaceChains(file.to_owned()), ..damage }.into(),
            error => error,
        }
    }

    /// Whether files are damaged. Any other error is about the command, its user, or the version of the program.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, DbError::Damaged(_) | DbError::Corrupt(_))
    }

    /// The primary result code of SQLite.
    fn sqlite_code(&self) -> Option<u32> {
        let DbError::Sql(error) = self else { return None };
        sqlite_code(error)
    }

    /// Whether the disk, the file or the connection is at fault, and not what was to be written.
    pub(crate) fn is_trouble(&self) -> bool {
        match self {
            DbError::Sql(sqlx::Error::Database(_)) => {
                // BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB
                matches!(self.sqlite_code(), Some(5..=8 | 10 | 11 | 13..=15 | 26))
            }
            DbError::Sql(error) => matches!(
                error,
                sqlx::Error::Io(_)
                    | sqlx::Error::Protocol(_)
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::PoolTimedOut
                    | sqlx::Error::WorkerCrashed
            ),
            DbError::Io(_) | DbError::File { .. } | DbError::Damaged(_) | DbError::Closed => true,
            DbError::Refused(_) | DbError::Corrupt(_) | DbError::TooMuch(_) => false,
        }
    }
}

fn sqlite_code(error: &sqlx::Error) -> Option<u32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code()?.parse::<u32>().ok().map(|code| code & 0xff)
}

#[cfg(test)]
pub(crate) mod testing;
