//! Records damage and I/O errors of the open database, and provides the reader pool that detects them.
//!
//! The first error that proves damage is logged once. From then on nothing is written.
//! Invariant: the damaged state lasts until the process ends, because a damaged file does not repair itself.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryFutureExt, TryStreamExt};
use parking_lot::Mutex;
use sqlx::sqlite::{SqliteQueryResult, SqliteRow, SqliteStatement, SqliteTypeInfo};
use sqlx::{Either, Execute, Executor, SqlStr, Sqlite, SqlitePool};

use crate::db::files::{Damage, Remedy};
use crate::db::{DbError, sqlite_code};
use crate::limits::IO_ERRORS_KEPT_MS;

/// Handle to the health of a database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: PathBuf,
    damage: OnceLock<Damage>,
    io_error: Mutex<Option<(Instant, String)>>,
}

impl Health {
    pub(super) fn new(database: &Path) -> Health {
        Health(Arc::new(Inner { database: database.to_owned(), damage: OnceLock::new(), io_error: Mutex::new(None) }))
    }

    /// Returns true if the database is damaged and must not be written.
    pub fn is_damaged(&self) -> bool {
        self.0.damage.get().is_some()
    }

    /// Returns why this instance is not ready: damage, or an I/O error of the last `IO_ERRORS_KEPT_MS`.
    pub fn storage_failure(&self) -> Option<String> {
        if let Some(damage) = self.0.damage.get() {
            return Some(damage.to_string());
        }
        let last = self.0.io_error.lock();
        let (_, text) = last.as_ref().filter(|(at, _)| is_recent(*at))?;
        Some(format!("{}: {text}", self.0.database.display()))
    }

    /// Checks that no damage was detected.
    ///
    /// # Errors
    /// `Damaged` once damage was detected.
    pub(in crate::db) fn check(&self) -> Result<(), DbError> {
        self.0.damage.get().map_or(Ok(()), |damage| Err(damage.clone().into()))
    }

    /// Records an error of a statement.
    pub fn record_error(&self, error: &DbError) {
        if let DbError::Sql(error) = error {
            self.record_sql_error(error);
        }
    }

    fn record_sql_error(&self, error: &sqlx::Error) {
        match sqlite_code(error) {
            // CORRUPT, NOTADB
            Some(11 | 26) => self.set_damaged(error),
            // IOERR
            Some(10) => self.record_io_error(error),
            _ => {}
        }
    }

    fn set_damaged(&self, error: &sqlx::Error) {
        let database = &self.0.database;
        let what = format!("SQLite reports: {error}");
        let remedy = Remedy::RestoreDatabase(database.clone());
        let damage = Damage { file: database.clone(), what, remedy };
        if self.0.damage.set(damage.clone()).is_ok() {
            tracing::error!(file = %database.display(), "{damage}. Writing requests get 503 until the host is started on an intact database");
        }
    }

    fn record_io_error(&self, error: &sqlx::Error) {
        let mut last = self.0.io_error.lock();
        let is_known = last.as_ref().is_some_and(|(at, _)| is_recent(*at));
        *last = Some((Instant::now(), error.to_string()));
        drop(last);
        let file = self.0.database.display();
        if is_known {
            tracing::debug!(%file, %error, "the database cannot be read or written");
        } else {
            tracing::error!(%file, %error, "the database cannot be read or written: check the disk and the log of the system");
        }
    }
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < Duration::from_millis(IO_ERRORS_KEPT_MS)
}

/// Pool of read connections. Records errors of queries that run on the pool itself, but not of those that run on an
/// acquired connection.
#[derive(Debug)]
pub(in crate::db) struct Readers {
    pool: SqlitePool,
    health: Health,
}

impl Readers {
    pub fn new(pool: SqlitePool, health: Health) -> Readers {
        Readers { pool, health }
    }
}

impl Deref for Readers {
    type Target = SqlitePool;

    fn deref(&self) -> &SqlitePool {
        &self.pool
    }
}

impl<'p> Executor<'p> for &'p Readers {
    type Database = Sqlite;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<SqliteQueryResult, SqliteRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        self.pool.fetch_many(query).inspect_err(|error| self.health.record_sql_error(error)).boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<SqliteRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        Box::pin(self.pool.fetch_optional(query).inspect_err(|error| self.health.record_sql_error(error)))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [SqliteTypeInfo],
    ) -> BoxFuture<'e, Result<SqliteStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        Box::pin(self.pool.prepare_with(sql, parameters).inspect_err(|error| self.health.record_sql_error(error)))
    }
}
