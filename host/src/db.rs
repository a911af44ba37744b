//! All SQL. Each query has one function, which is named after it and returns domain types, never database rows.
//!
//! The database is SQLite. Only this module depends on that. No other module may assume a single process, except
//! `commit::overlay` and `auth::oauth`, which document it.
//!
//! - `database`: open, close, the file lock, the writer's connection, the readers.
//! - `files`: inspects the files of a database without opening them.
//! - `migrations`: the host's own tables, as numbered SQL files.
//! - `model`: collections and indexes of a plugin. `model::extract`: indexed values of a JSON body. `model::prepare`:
//!   creates the tables.
//! - `records`, `accounts`, `idempotency`: reads of a single call. `find`: pages of records.
//! - `apply`: applies a batch of accepted change sets in one transaction. `deliveries`: deliveries of events and their
//!   attempts.
//! - `destinations`: targets of outgoing calls. `outbox`: messages stored instead of sent. `tasks`: due timers and
//!   effects.
//! - `credentials`: keys and tokens issued by plugins. `feed`: events of a tenant.
//! - `journal`: the tenants' audit journals and their hash chains.
//! - `keys`, `clients`, `swaps`, `secrets`, `chains`: rows of the host itself.
//! - `retention`: deletes old rows. `disk`: free disk space. `copy`: backups.

use std::path::{Path, PathBuf};

pub mod accounts;
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
pub mod idempotency;
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

pub use database::{
    AcceptedDatabase, ContinueFn, Database, DbOptions, ExistingDatabase, Health, Invalidation, Replacement,
};
use files::{Damage, Remedy};

#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The setting is wrong, or the file is in use, of a newer version, or of another program. The text is for the
    /// operator.
    #[error("{0}")]
    Precondition(String),
    #[error("database: {0}")]
    Sql(#[from] sqlx::Error),
    #[error("database file: {0}")]
    Io(#[from] std::io::Error),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The host cannot have written this row, or the tables were not prepared for this change set.
    #[error("database: {0}")]
    Corrupt(String),
    #[error("the database is closed")]
    Closed,
    /// The result exceeds the caller's limit in bytes.
    #[error("more than {0} bytes")]
    TooLarge(usize),
}

impl DbError {
    /// Returns a closure for `map_err` that adds the path to an I/O error.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> DbError {
        let path = path.to_owned();
        |source| DbError::File { path, source }
    }

    pub(crate) fn damaged(database: &Path, what: &str) -> DbError {
        let remedy = Remedy::RestoreDatabase(database.to_owned());
        Damage { file: database.to_owned(), what: what.to_owned(), remedy }.into()
    }

    /// Converts an SQLite error that reports damage into `Damaged`, which names the file.
    pub(crate) fn in_file(self, database: &Path) -> DbError {
        match self.sqlite_code() {
            Some(11 | 26) => DbError::damaged(database, &format!("SQLite reports: {self}")),
            _ => self,
        }
    }

    /// Like `in_file`, for the file of the simulated blockchains, which has another remedy.
    pub(crate) fn in_chains(self, file: &Path) -> DbError {
        match self.in_file(file) {
            DbError::Damaged(damage) => Damage { remedy: Remedy::ReplaceChains(file.to_owned()), ..damage }.into(),
            error => error,
        }
    }

    /// Returns true if files or rows are damaged. Does not recognize damage that SQLite reports as an `Sql` error,
    /// which `in_file` converts.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, DbError::Damaged(_) | DbError::Corrupt(_))
    }

    /// Returns SQLite's primary result code.
    fn sqlite_code(&self) -> Option<u32> {
        let DbError::Sql(error) = self else { return None };
        sqlite_code(error)
    }

    /// Returns true if the disk, the file or the connection failed, so the written data is not the cause.
    pub(crate) fn is_storage_failure(&self) -> bool {
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
            DbError::Precondition(_) | DbError::Corrupt(_) | DbError::TooLarge(_) => false,
        }
    }
}

fn sqlite_code(error: &sqlx::Error) -> Option<u32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code()?.parse::<u32>().ok().map(|code| code & 0xff)
}

#[cfg(test)]
pub(crate) mod testing;
