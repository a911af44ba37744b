//! The slot of the writer's connection: how the connection is set, opened again, and what is known of the file behind it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::search::Searchers;
use super::{Database, FileLock, Readers, options};
use crate::db::DbError;
use crate::db::files::beside;
use crate::limits::{BUSY_TIMEOUT_MS, CHECKPOINT_WAIT_MS, IDLE_TRANSACTIONS_MAX, WAL_LOOK_MS};

pub(super) struct WriterSlot {
    /// `None` while a transaction runs, after a lost connection, and once the database is closed.
    pub(super) connection: Option<SqliteConnection>,
    pub(super) basis: Basis,
    /// Gone once the database is closed, never there in one that is read only.
    lock: Option<FileLock>,
    looked_at_log: Option<Instant>,
    /// How the connection is set.
    pub(super) durability: Durability,
    /// Transactions begun since the last check.
    pub(super) transactions_begun: u32,
    /// The connection has freed its cached pages, and no transaction has begun since.
    pub(super) is_freed: bool,
}

/// Whether decisions made in memory still rest on the state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// They do while `PRAGMA data_version` returns this on the writer's connection.
    DataVersion(i64),
    /// The connection is new: another program may have written unnoticed.
    Unknown,
    /// A swap changed what decisions rest on.
    Superseded,
}

/// Why decisions made in memory no longer rest on the state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidation {
    /// Another program wrote into the file.
    ForeignWrite,
    /// The writer's connection was lost; a foreign write could have gone unnoticed.
    ConnectionLost,
    /// A swap changed the unique indexes or the data versions that may be written.
    Swap,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The disk.
    Full,
    /// Nothing: it is on disk with the next commit that waits. A process that dies loses nothing, a machine without power may.
    Lazy,
}

impl Durability {
    pub fn pragma(self) -> &'static str {
        match self {
            Durability::Full => "PRAGMA synchronous = FULL",
            Durability::Lazy => "PRAGMA synchronous = NORMAL",
        }
    }
}

impl WriterSlot {
    pub async fn new(mut connection: SqliteConnection, lock: FileLock) -> Result<WriterSlot, DbError> {
        let basis = Basis::DataVersion(data_version(&mut connection).await?);
        Ok(WriterSlot { connection: Some(connection), basis, lock: Some(lock), ..WriterSlot::closed() })
    }

    pub fn closed() -> WriterSlot {
        WriterSlot {
            connection: None,
            basis: Basis::Unknown,
            lock: None,
            looked_at_log: None,
            durability: Durability::Full,
            transactions_begun: 0,
            is_freed: false,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.lock.is_none()
    }

    pub fn close(&mut self) -> (Option<SqliteConnection>, Option<FileLock>) {
        (self.connection.take(), self.lock.take())
    }

    /// Takes note of the file's present data version and returns why earlier decisions no longer rest on it, if they do not.
    pub fn update_basis(&mut self, now: i64) -> Option<Invalidation> {
        match std::mem::replace(&mut self.basis, Basis::DataVersion(now)) {
            Basis::DataVersion(before) if before == now => None,
            Basis::DataVersion(_) => Some(Invalidation::ForeignWrite),
            Basis::Unknown => Some(Invalidation::ConnectionLost),
            Basis::Superseded => Some(Invalidation::Swap),
        }
    }
}

pub(super) async fn data_version(connection: &mut SqliteConnection) -> Result<i64, DbError> {
    Ok(sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await?)
}

impl Database {
    pub(super) async fn connect_writer(&self) -> Result<SqliteConnection, DbError> {
        let mut connection = options::connect_writer(&self.inner.path).await?;
        self.limit_pages_of(&mut connection).await?;
        Ok(connection)
    }

    /// Whether decisions made since the last check still rest on the file, checked outside of a transaction. `None`: they do.
    pub(in crate::db) async fn check_basis(&self) -> Result<Option<Invalidation>, DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        let now = match slot.connection.as_mut() {
            Some(connection) => data_version(connection).await?,
            None => {
                let mut connection = self.connect_writer().await?;
                let now = data_version(&mut connection).await?;
                (slot.connection, slot.durability, slot.basis) = (Some(connection), Durability::Full, Basis::Unknown);
                now
            }
        };
        Ok(slot.update_basis(now))
    }

    /// Returns false if the file of the lock was removed or replaced: it keeps no other process off any more.
    pub async fn has_lock_file(&self) -> bool {
        let slot = self.inner.writer.lock().await;
        slot.lock.as_ref().is_none_or(|lock| lock.is_in_place(&self.inner.path))
    }

    /// Frees the pages that the writer's connection keeps in memory, if few transactions began since the last call: those that come
    /// find their pages in the cache of the system. Returns whether it did: once after the last transaction.
    pub async fn free_cache_if_idle(&self) -> Result<bool, DbError> {
        let mut slot = self.inner.writer.lock().await;
        if std::mem::take(&mut slot.transactions_begun) > IDLE_TRANSACTIONS_MAX || slot.is_freed {
            return Ok(false);
        }
        let Some(connection) = slot.connection.as_mut() else { return Ok(false) };
        // The caches of readers are small.
        sqlx::query("PRAGMA shrink_memory").execute(connection).await?;
        slot.is_freed = true;
        Ok(true)
    }

    /// Calls `read` while no transaction runs.
    pub(in crate::db) async fn between_transactions<T>(&self, read: impl FnOnce() -> T) -> T {
        let _slot = self.inner.writer.lock().await;
        read()
    }

    /// For a caller that discards every decision made so far: foreign writes up to now no longer matter.
    pub(in crate::db) async fn remember_state(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if let Some(connection) = slot.connection.as_mut() {
            let now = data_version(connection).await?;
            slot.basis = Basis::DataVersion(now);
        }
        Ok(())
    }

    /// After an error before COMMIT: opens the writer's connection again if it was lost. Takes note of the file's state, so
    /// that what is cached from now on can be trusted.
    pub(in crate::db) async fn reconnect(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        if slot.connection.is_none() {
            let mut connection = self.connect_writer().await?;
            slot.basis = Basis::DataVersion(data_version(&mut connection).await?);
            (slot.connection, slot.durability) = (Some(connection), Durability::Full);
        }
        Ok(())
    }

    /// After an error at COMMIT: opens everything again, so that the file alone decides what is in it. Takes note of the
    /// file's state as `reconnect` does.
    pub(in crate::db) async fn reopen(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        (slot.connection, slot.basis) = (None, Basis::Unknown);
        self.readers().close().await;
        let mut connection = self.connect_writer().await?;
        let readers = options::readers(&self.inner.path, self.inner.options.readers, false).await?;
        self.inner.readers.store(Arc::new(Readers::new(readers, self.inner.health.clone())));
        self.inner.searchers.store(Arc::new(Searchers::new(&self.inner.path, false)));
        slot.basis = Basis::DataVersion(data_version(&mut connection).await?);
        (slot.connection, slot.durability) = (Some(connection), Durability::Full);
        Ok(())
    }

    /// Cuts the log when it has grown too large, which happens where a reader stood in the way of SQLite's own
    /// checkpoints. Looks once in a while only, and does not wait long for readers.
    pub(in crate::db) async fn cut_log(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        let due = slot.looked_at_log.is_none_or(|at| at.elapsed() >= Duration::from_millis(WAL_LOOK_MS));
        if !due {
            return Ok(());
        }
        slot.looked_at_log = Some(Instant::now());
        if log_bytes(&self.inner.path) <= self.inner.options.wal_bytes_max {
            return Ok(());
        }
        let Some(connection) = slot.connection.as_mut() else { return Ok(()) };
        let sql = format!("PRAGMA busy_timeout = {CHECKPOINT_WAIT_MS}; PRAGMA wal_checkpoint(TRUNCATE)");
        let cut = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await;
        // Also where the disk has no room for it: commits must not be left with the short wait.
        let restore = format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}");
        sqlx::raw_sql(AssertSqlSafe(restore)).execute(connection).await?;
        cut?;
        Ok(())
    }

    /// Lets the file grow to this many pages (of 4 KiB) only, as a full disk would; 0 lifts the limit. For tests.
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: u32) -> Result<(), DbError> {
        self.inner.pages_max.store(pages, Ordering::Relaxed);
        let mut slot = self.inner.writer.lock().await;
        match slot.connection.as_mut() {
            Some(connection) => self.limit_pages_of(connection).await,
            None => Ok(()),
        }
    }

    async fn limit_pages_of(&self, connection: &mut SqliteConnection) -> Result<(), DbError> {
        // SQLite's own ceiling stands for "no limit".
        let pages = match self.inner.pages_max.load(Ordering::Relaxed) {
            0 => 4_294_967_294,
            pages => pages,
        };
        sqlx::query(AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))).execute(connection).await?;
        Ok(())
    }
}

fn log_bytes(database: &Path) -> u64 {
    std::fs::metadata(beside(database, "-wal")).map_or(0, |data| data.len())
}
