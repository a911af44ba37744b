//! Whether the open database has turned out to be damaged, and the pool that notices it.
//!
//! The first error that proves damage is logged, once, and from then on nothing is written.
//! Invariant: damage lasts until the process ends, because a damaged file does not heal.

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

/// A handle: cheap to clone.
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

    /// Whether nothing may be written any more.
    pub fn is_damaged(&self) -> bool {
        self.0.damage.get().is_some()
    }

    /// Why requests should not be sent here: damage, or an I/O error of the last seconds.
    pub fn trouble(&self) -> Option<String> {
        if let Some(damage) = self.0.damage.get() {
            return Some(damage.to_string());
        }
        let last = self.0.io_error.lock();
        let (_, text) = last.as_ref().filter(|(at, _)| is_recent(*at))?;
        Some(format!("{}: {text}", self.0.database.display()))
    }

    /// # Errors
    /// `Damaged` once the database has turned out to be damaged.
    pub(in crate::db) fn check(&self) -> Result<(), DbError> {
        self.0.damage.get().map_or(Ok(()), |damage| Err(damage.clone().into()))
    }

    /// Receives the errors of statements.
    pub fn note(&self, error: &DbError) {
        if let DbError::Sql(error) = error {
            self.note_sql(error);
        }
    }

    fn note_sql(&self, error: &sqlx::Error) {
        match sqlite_code(error) {
            // CORRUPT, NOTADB
            Some(11 | 26) => self.set_damaged(error),
            // IOERR
            Some(10) => self.note_io(error),
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

    fn note_io(&self, error: &sqlx::Error) {
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

/// The pool of readers. Every error that it returns is noted.
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
        self.pool.fetch_many(query).inspect_err(|error| self.health.note_sql(error)).boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<SqliteRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        Box::pin(self.pool.fetch_optional(query).inspect_err(|error| self.health.note_sql(error)))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [SqliteTypeInfo],
    ) -> BoxFuture<'e, Result<SqliteStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        Box::pin(self.pool.prepare_with(sql, parameters).inspect_err(|error| self.health.note_sql(error)))
    }
}
