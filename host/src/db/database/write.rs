//! The writer's connection and the transactions on it.
//!
//! A transaction takes the connection out of its slot and puts it back only when it ended well. Dropped half-way (an
//! error, a cancelled caller), the connection goes with it: SQLite rolls back, and the next one opens a new connection.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tokio::sync::OwnedMutexGuard;

use super::search::Searchers;
use super::{Database, FileLock, Readers, options};
use crate::db::DbError;
use crate::limits::{BUSY_TIMEOUT_MS, CHECKPOINT_WAIT_MS, WAL_LOOK_MS};

pub(super) struct WriterSlot {
    connection: Option<SqliteConnection>,
    /// What `PRAGMA data_version` said last on this connection; `None`: opened anew, nobody knows what happened meanwhile,
    /// or something happened that decisions rest on.
    data_version: Option<i64>,
    /// Gone once the database is closed, never there in one that is read only.
    lock: Option<FileLock>,
    looked_at_log: Option<Instant>,
    /// How the connection is set.
    durability: Durability,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// The disk.
    Full,
    /// Nothing: it is on disk with the next commit that waits. A process that dies loses nothing, a machine without power may.
    Lazy,
}

impl Durability {
    fn pragma(self) -> &'static str {
        match self {
            Durability::Full => "PRAGMA synchronous = FULL",
            Durability::Lazy => "PRAGMA synchronous = NORMAL",
        }
    }
}

impl WriterSlot {
    pub async fn new(mut connection: SqliteConnection, lock: FileLock) -> Result<WriterSlot, DbError> {
        let data_version = ask_data_version(&mut connection).await?;
        Ok(WriterSlot {
            connection: Some(connection),
            data_version: Some(data_version),
            lock: Some(lock),
            looked_at_log: None,
            durability: Durability::Full,
        })
    }

    pub fn closed() -> WriterSlot {
        WriterSlot {
            connection: None,
            data_version: None,
            lock: None,
            looked_at_log: None,
            durability: Durability::Full,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.lock.is_none()
    }

    pub fn close(&mut self) -> (Option<SqliteConnection>, Option<FileLock>) {
        (self.connection.take(), self.lock.take())
    }
}

async fn ask_data_version(connection: &mut SqliteConnection) -> Result<i64, DbError> {
    Ok(sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await?)
}

/// A transaction that holds SQLite's write lock. Rolled back when it is dropped.
pub(in crate::db) struct WriteTransaction {
    slot: OwnedMutexGuard<WriterSlot>,
    connection: SqliteConnection,
}

impl Database {
    /// Waits for its turn among the writers. On disk when its commit returns.
    pub(in crate::db) async fn begin_write(&self) -> Result<WriteTransaction, DbError> {
        self.begin(Durability::Full).await
    }

    /// The same for what may be done once more after a loss of power: its commit does not wait for the disk.
    pub(in crate::db) async fn begin_lazy_write(&self) -> Result<WriteTransaction, DbError> {
        self.begin(Durability::Lazy).await
    }

    async fn begin(&self, durability: Durability) -> Result<WriteTransaction, DbError> {
        let mut slot = self.inner.writer.clone().lock_owned().await;
        if self.inner.read_only {
            return Err(DbError::Refused("the database is open for reading only".into()));
        }
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        self.inner.health.check()?;
        let mut connection = match slot.connection.take() {
            Some(connection) => connection,
            None => {
                (slot.data_version, slot.durability) = (None, Durability::Full);
                self.connect_writer().await?
            }
        };
        // An error drops the connection, and a new one begins as `Full`.
        if slot.durability != durability {
            sqlx::query(durability.pragma()).execute(&mut connection).await?;
            slot.durability = durability;
        }
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await?;
        Ok(WriteTransaction { slot, connection })
    }

    async fn connect_writer(&self) -> Result<SqliteConnection, DbError> {
        let mut connection = options::connect_writer(&self.inner.path).await?;
        self.limit_pages_of(&mut connection).await?;
        Ok(connection)
    }

    /// For who forgets everything that was decided so far: what others wrote until now is no news any more.
    pub(in crate::db) async fn remember_state(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if let Some(connection) = slot.connection.as_mut() {
            let now = ask_data_version(connection).await?;
            slot.data_version = Some(now);
        }
        Ok(())
    }

    /// After an error before COMMIT: opens the writer's connection anew. Remembers the file's state, so that what is
    /// cached from now on can be trusted.
    pub(in crate::db) async fn reconnect(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        if slot.connection.is_none() {
            let mut connection = self.connect_writer().await?;
            slot.data_version = Some(ask_data_version(&mut connection).await?);
            (slot.connection, slot.durability) = (Some(connection), Durability::Full);
        }
        Ok(())
    }

    /// After an error at COMMIT: opens everything anew, so that the file alone says what is in it. Remembers the file's
    /// state as `reconnect` does.
    pub(in crate::db) async fn reopen(&self) -> Result<(), DbError> {
        let mut slot = self.inner.writer.lock().await;
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        slot.connection = None;
        self.readers().close().await;
        let mut connection = self.connect_writer().await?;
        let readers = options::readers(&self.inner.path, self.inner.options.readers, false).await?;
        self.inner.readers.store(Arc::new(Readers::new(readers, self.inner.health.clone())));
        self.inner.searchers.store(Arc::new(Searchers::new(&self.inner.path, false)));
        slot.data_version = Some(ask_data_version(&mut connection).await?);
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
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(name).map_or(0, |data| data.len())
}

impl WriteTransaction {
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Whether somebody else wrote into the file since this was asked last. Asked inside the transaction: nobody can
    /// write between the answer and the COMMIT.
    pub async fn others_wrote(&mut self) -> Result<bool, DbError> {
        let now = ask_data_version(&mut self.connection).await?;
        Ok(self.slot.data_version.replace(now) != Some(now))
    }

    /// What was decided in memory so far rests on what this transaction changes: the next batch is `Foreign`.
    pub fn distrust_accepted(&mut self) {
        self.slot.data_version = None;
    }

    /// On an error the outcome is not known, unless `is_surely_undone` says so.
    pub async fn commit(self) -> Result<(), DbError> {
        self.commit_and(|| ()).await
    }

    /// Does `then` after the commit and before anybody else may write.
    pub async fn commit_and(mut self, then: impl FnOnce()) -> Result<(), DbError> {
        sqlx::query("COMMIT").execute(&mut self.connection).await?;
        then();
        self.slot.connection = Some(self.connection);
        Ok(())
    }

    /// Also after an error of a statement. The connection is kept: it goes on noticing what others write.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        match sqlx::query("ROLLBACK").execute(&mut self.connection).await {
            Ok(_) => {}
            // A full disk ends the transaction by itself; SQLite's code for "none is active" is 1.
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("1") => {}
            Err(error) => return Err(error.into()),
        }
        self.slot.connection = Some(self.connection);
        Ok(())
    }

    /// Closes the connection as if it had died, and waits until it is gone.
    pub async fn abandon(self) {
        let WriteTransaction { slot, connection } = self;
        // Whatever close says, the connection is gone.
        let _ = connection.close().await;
        drop(slot);
    }
}

/// Errors at COMMIT after which SQLite has certainly not written the commit record: busy, full, constraint.
pub(in crate::db) fn is_surely_undone(error: &DbError) -> bool {
    let DbError::Sql(sqlx::Error::Database(error)) = error else { return false };
    let code = error.code().and_then(|code| code.parse::<u32>().ok());
    matches!(code.map(|code| code & 0xff), Some(5 | 13 | 19))
}
