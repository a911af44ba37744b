//! The slot of the writer's connection: how the connection is configured and reopened, and whether another program
//! changed the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::search::Searchers;
use super::{Database, FileLock, Readers, options};
use crate::db::DbError;
use crate::db::files::beside;
use crate::limits::{BUSY_TIMEOUT_MS, CHECKPOINT_WAIT_MS, IDLE_TRANSACTIONS_MAX, WAL_CHECK_MS};

pub(super) struct WriterSlot {
    /// `None` while a transaction runs, after a lost connection, once the database is closed, and in a read-only
    /// database.
    pub(super) connection: Option<SqliteConnection>,
    pub(super) cache_state: CacheState,
    /// `None` once the database is closed, and in a read-only database.
    lock: Option<FileLock>,
    log_checked_at: Option<Instant>,
    /// Current `synchronous` setting of the connection.
    pub(super) durability: Durability,
    /// Number of transactions since the last call of `free_cache_if_idle`.
    pub(super) transactions_begun: u32,
    /// True if the connection has freed its cached pages and has begun no transaction since.
    pub(super) is_freed: bool,
}

/// Whether decisions made in memory are still valid for the state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheState {
    /// They are valid while `PRAGMA data_version` returns this value on the writer's connection.
    DataVersion(i64),
    /// The connection is new, so a foreign write may have gone undetected.
    Unknown,
    /// A swap changed data that decisions depend on.
    Superseded,
}

/// Why decisions made in memory are no longer valid for the state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidation {
    /// Another program wrote to the file.
    ForeignWrite,
    /// The writer's connection was lost, so a foreign write may have gone undetected.
    ConnectionLost,
    /// A swap changed the unique indexes or the accepted data versions.
    Swap,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The commit is on disk when it returns.
    Full,
    /// The commit is on disk with the next `Full` commit. A process crash loses nothing. A power failure may lose the
    /// commit.
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
        let cache_state = CacheState::DataVersion(data_version(&mut connection).await?);
        Ok(WriterSlot { connection: Some(connection), cache_state, lock: Some(lock), ..WriterSlot::closed() })
    }

    pub fn closed() -> WriterSlot {
        WriterSlot {
            connection: None,
            cache_state: CacheState::Unknown,
            lock: None,
            log_checked_at: None,
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

    /// Stores the file's current data version. Returns why earlier decisions are invalid, or `None` if they are valid.
    pub fn update_cache_state(&mut self, now: i64) -> Option<Invalidation> {
        match std::mem::replace(&mut self.cache_state, CacheState::DataVersion(now)) {
            CacheState::DataVersion(before) if before == now => None,
            CacheState::DataVersion(_) => Some(Invalidation::ForeignWrite),
            CacheState::Unknown => Some(Invalidation::ConnectionLost),
            CacheState::Superseded => Some(Invalidation::Swap),
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

    /// Checks outside of a transaction whether decisions made since the last check are still valid. Returns `None` if
    /// they are.
    pub(in crate::db) async fn check_cache_state(&self) -> Result<Option<Invalidation>, DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        let now = match slot.connection.as_mut() {
            Some(connection) => data_version(connection).await?,
            None => {
                let mut connection = self.connect_writer().await?;
                let now = data_version(&mut connection).await?;
                (slot.connection, slot.durability, slot.cache_state) =
                    (Some(connection), Durability::Full, CacheState::Unknown);
                now
            }
        };
        Ok(slot.update_cache_state(now))
    }

    /// Returns false if the lock file was removed or replaced. In that case other processes are excluded only by the
    /// lock of the folder, and only if the database has the default name.
    pub async fn has_lock_file(&self) -> bool {
        let slot = self.inner.writer.lock().await;
        slot.lock.as_ref().is_none_or(|lock| lock.is_in_place(&self.inner.path))
    }

    /// Frees the pages cached by the writer's connection if few transactions began since the last call.
    ///
    /// Later transactions find their pages in the page cache of the operating system. Returns true if it freed the
    /// pages, which happens once after the last transaction.
    pub async fn free_cache_if_idle(&self) -> Result<bool, DbError> {
        let mut slot = self.inner.writer.lock().await;
        if std::mem::take(&mut slot.transactions_begun) > IDLE_TRANSACTIONS_MAX || slot.is_freed {
            return Ok(false);
        }
        let Some(connection) = slot.connection.as_mut() else { return Ok(false) };
        // The caches of readers are small, so they are not freed.
        sqlx::query("PRAGMA shrink_memory").execute(connection).await?;
        slot.is_freed = true;
        Ok(true)
    }

    /// Calls `read` while no write transaction runs.
    pub(in crate::db) async fn between_transactions<T>(&self, read: impl FnOnce() -> T) -> T {
        let _slot = self.inner.writer.lock().await;
        read()
    }

    /// Accepts the current state of the file. The caller must have discarded every decision made so far.
    pub(in crate::db) async fn trust_current_state(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if let Some(connection) = slot.connection.as_mut() {
            let now = data_version(connection).await?;
            slot.cache_state = CacheState::DataVersion(now);
        }
        Ok(())
    }

    /// Reopens the writer's connection if it was lost. For use after an error that certainly committed nothing.
    ///
    /// Records the file's data version, so that data cached from now on is valid.
    pub(in crate::db) async fn reconnect(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        if slot.connection.is_none() {
            let mut connection = self.connect_writer().await?;
            slot.cache_state = CacheState::DataVersion(data_version(&mut connection).await?);
            (slot.connection, slot.durability) = (Some(connection), Durability::Full);
        }
        Ok(())
    }

    /// Reopens all connections after a COMMIT with an unknown outcome, so that the file alone shows whether it
    /// succeeded.
    ///
    /// Records the file's data version as `reconnect` does.
    pub(in crate::db) async fn reopen(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        (slot.connection, slot.cache_state) = (None, CacheState::Unknown);
        self.readers().close().await;
        let mut connection = self.connect_writer().await?;
        let readers = options::readers(&self.inner.path, self.inner.options.readers, false).await?;
        self.inner.readers.store(Arc::new(Readers::new(readers, self.inner.health.clone())));
        self.inner.searchers.store(Arc::new(Searchers::new(&self.inner.path, false)));
        slot.cache_state = CacheState::DataVersion(data_version(&mut connection).await?);
        (slot.connection, slot.durability) = (Some(connection), Durability::Full);
        Ok(())
    }

    /// Truncates the write-ahead log if it has grown too large, which happens if readers blocked SQLite's own
    /// checkpoints.
    ///
    /// Checks the size at most once per `WAL_CHECK_MS`, and waits for readers at most `CHECKPOINT_WAIT_MS`.
    pub(in crate::db) async fn truncate_log(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        let due = slot.log_checked_at.is_none_or(|at| at.elapsed() >= Duration::from_millis(WAL_CHECK_MS));
        if !due {
            return Ok(());
        }
        slot.log_checked_at = Some(Instant::now());
        if log_bytes(&self.inner.path) <= self.inner.options.wal_bytes_max {
            return Ok(());
        }
        let Some(connection) = slot.connection.as_mut() else { return Ok(()) };
        let sql = format!("PRAGMA busy_timeout = {CHECKPOINT_WAIT_MS}; PRAGMA wal_checkpoint(TRUNCATE)");
        let cut = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await;
        // Also restored after an error, such as a full disk, so that commits do not run with the short timeout.
        let restore = format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}");
        sqlx::raw_sql(AssertSqlSafe(restore)).execute(connection).await?;
        cut?;
        Ok(())
    }

    /// Limits the size of the file to this many pages of 4 KiB, to simulate a full disk in tests. 0 removes the limit.
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
        // SQLite's maximum means "no limit".
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
