//! Transactions on the writer's connection.
//!
//! `Database::write` runs its closure in a separate task, so a dropped caller neither interrupts a statement nor loses
//! the connection. Batches of the committer use `begin_batch` directly, because their task is never dropped.
//!
//! Invariants:
//! - The connection leaves its slot only inside of a task that callers cannot drop.
//! - The slot stays locked until SQLite has ended the transaction.
//! - A connection returns to its slot, unless its BEGIN or ROLLBACK failed, the outcome of its COMMIT is unknown, or
//!   SQLite could open it only for reading. In these cases it is closed before the slot is unlocked. A connection whose
//!   BEGIN failed because another program holds the lock returns to its slot.

#![expect(clippy::disallowed_methods, reason = "one task for each write, which ends with its transaction")]

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::OwnedMutexGuard;

use super::Database;
use super::slot::{CacheState, Durability, Invalidation, WriterSlot};
use crate::db::DbError;
use crate::db::apply::rows::Query;

/// A transaction that holds SQLite's write lock.
pub(in crate::db) struct WriteTransaction {
    slot: OwnedMutexGuard<WriterSlot>,
    connection: SqliteConnection,
    /// `PRAGMA data_version` at the beginning of the transaction, which stays the same until its end.
    data_version: i64,
    on_commit: Vec<Box<dyn FnOnce() + Send>>,
    supersedes_decisions: bool,
}

/// The work of one transaction.
pub(in crate::db) type Work<'w, T> = BoxFuture<'w, Result<T, DbError>>;

impl Database {
    /// Runs `work` in a transaction and commits it. Rolls the transaction back if `work` fails. The commit is durable
    /// when this returns.
    ///
    /// Waits for the writer's connection. A caller that is dropped while it waits changes nothing. A transaction that
    /// has begun runs to its end even if its caller is dropped.
    ///
    /// # Errors
    /// Those of `work`, with nothing changed. After an error of COMMIT itself the outcome is unknown, unless
    /// `is_certainly_rolled_back`.
    pub(in crate::db) async fn write<T, W>(&self, work: W) -> Result<T, DbError>
    where
        T: Send + 'static,
        W: for<'w> FnOnce(&'w mut WriteTransaction) -> Work<'w, T> + Send + 'static,
    {
        self.write_as(Durability::Full, work).await
    }

    /// Runs one statement in its own transaction and returns the number of changed rows.
    pub(in crate::db) async fn execute(&self, statement: Query) -> Result<u64, DbError> {
        let execute =
            async move |write: &mut WriteTransaction| Ok(statement.execute(write.connection()).await?.rows_affected());
        self.write(move |write| Box::pin(execute(write))).await
    }

    /// Like `write`, for writes that may be repeated after a power failure: the commit does not wait for the disk.
    pub(in crate::db) async fn write_lazily<T, W>(&self, work: W) -> Result<T, DbError>
    where
        T: Send + 'static,
        W: for<'w> FnOnce(&'w mut WriteTransaction) -> Work<'w, T> + Send + 'static,
    {
        self.write_as(Durability::Lazy, work).await
    }

    async fn write_as<T, W>(&self, durability: Durability, work: W) -> Result<T, DbError>
    where
        T: Send + 'static,
        W: for<'w> FnOnce(&'w mut WriteTransaction) -> Work<'w, T> + Send + 'static,
    {
        let slot = self.inner.writer.clone().lock_owned().await;
        let database = self.clone();
        // Inside the task, so that an error is recorded even if the caller is dropped.
        let task = tokio::spawn(async move {
            let done = async { database.begin(slot, durability).await?.perform(work).await };
            database.observe(done.await)
        });
        // The task is cancelled only if the runtime shuts down.
        task.await.unwrap_or(Err(DbError::Closed))
    }

    /// Begins a transaction without starting a task. Only for `apply::Writer`, whose task is never dropped.
    pub(in crate::db) async fn begin_batch(&self) -> Result<WriteTransaction, DbError> {
        let slot = self.inner.writer.clone().lock_owned().await;
        self.begin(slot, Durability::Full).await
    }

    async fn begin(
        &self,
        mut slot: OwnedMutexGuard<WriterSlot>,
        durability: Durability,
    ) -> Result<WriteTransaction, DbError> {
        if self.inner.read_only {
            return Err(DbError::Precondition("the database is open for reading only".into()));
        }
        if slot.is_closed() {
            return Err(DbError::Closed);
        }
        self.inner.health.check()?;
        slot.transactions_begun = slot.transactions_begun.saturating_add(1);
        slot.is_freed = false;
        let mut connection = match slot.connection.take() {
            Some(connection) => connection,
            None => {
                (slot.cache_state, slot.durability) = (CacheState::Unknown, Durability::Full);
                self.connect_writer().await?
            }
        };
        match start(&mut connection, &mut slot.durability, durability).await {
            Ok(data_version) => Ok(WriteTransaction {
                slot,
                connection,
                data_version,
                on_commit: Vec::new(),
                supersedes_decisions: false,
            }),
            // Another program holds the lock, so the connection is still usable.
            Err(error) if is_busy(&error) => {
                slot.connection = Some(connection);
                Err(error)
            }
            Err(error) => {
                slot.cache_state = CacheState::Unknown;
                discard(connection).await;
                Err(error)
            }
        }
    }
}

/// Begins a transaction and returns the data version, in one round trip to the thread of the connection.
async fn start(
    connection: &mut SqliteConnection,
    current: &mut Durability,
    durability: Durability,
) -> Result<i64, DbError> {
    if *current != durability {
        sqlx::query(durability.pragma()).execute(&mut *connection).await?;
        *current = durability;
    }
    Ok(sqlx::query_scalar("BEGIN IMMEDIATE; PRAGMA data_version").fetch_one(connection).await?)
}

/// Closes a connection and waits until it has released its locks.
async fn discard(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "a connection was closed after an error");
    }
}

impl WriteTransaction {
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Returns why decisions made since the last batch are invalid, or `None` if they are valid.
    ///
    /// The data version was read inside of the transaction, so no other program can write between the check and the
    /// COMMIT.
    pub fn update_cache_state(&mut self) -> Option<Invalidation> {
        self.slot.update_cache_state(self.data_version)
    }

    /// Declares that earlier decisions depend on data that this transaction changes. After its commit, the next batch
    /// is decided again.
    pub fn supersede_decisions(&mut self) {
        self.supersedes_decisions = true;
    }

    /// Calls `callback` after the commit and before the next transaction begins.
    pub fn on_commit(&mut self, callback: impl FnOnce() + Send + 'static) {
        self.on_commit.push(Box::new(callback));
    }

    async fn perform<T, W>(mut self, work: W) -> Result<T, DbError>
    where
        W: for<'w> FnOnce(&'w mut WriteTransaction) -> Work<'w, T>,
    {
        let outcome = AssertUnwindSafe(async { work(&mut self).await }).catch_unwind().await;
        let error = match outcome {
            Ok(Ok(value)) => return self.commit().await.map(|()| value),
            Ok(Err(error)) => error,
            Err(_panic) => DbError::Corrupt("a write panicked".into()),
        };
        if let Err(rollback_error) = self.undo(&error).await {
            tracing::warn!(error = %rollback_error, "failed to roll back a transaction; its connection is closed");
        }
        Err(error)
    }

    /// Rolls the transaction back after an error of a statement.
    ///
    /// A connection that SQLite could open only for reading is closed, because a new one may find the file writable
    /// again.
    pub async fn undo(self, error: &DbError) -> Result<(), DbError> {
        if !is_read_only(error) {
            return self.rollback().await;
        }
        self.abandon().await;
        Ok(())
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// The outcome is unknown, unless `is_certainly_rolled_back`.
    pub async fn commit(mut self) -> Result<(), DbError> {
        match sqlx::query("COMMIT").execute(&mut self.connection).await.map_err(DbError::from) {
            Ok(_) => {
                if self.supersedes_decisions {
                    self.slot.cache_state = CacheState::Superseded;
                }
                self.on_commit.drain(..).for_each(|callback| callback());
                self.slot.connection = Some(self.connection);
                Ok(())
            }
            Err(error) if is_certainly_rolled_back(&error) => {
                if let Err(rollback_error) = self.rollback().await {
                    tracing::warn!(error = %rollback_error, "failed to roll back a transaction; its connection is closed");
                }
                Err(error)
            }
            Err(error) => {
                self.abandon().await;
                Err(error)
            }
        }
    }

    /// Rolls the transaction back, even after an error of a statement. The connection is kept, so that it detects
    /// foreign writes.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        match sqlx::query("ROLLBACK").execute(&mut self.connection).await {
            Ok(_) => {}
            // SQLite rolls back by itself if the disk is full. Its code for "no transaction is active" is 1.
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("1") => {}
            Err(error) => {
                self.abandon().await;
                return Err(error.into());
            }
        }
        self.slot.connection = Some(self.connection);
        Ok(())
    }

    /// Closes the connection without ending the transaction, and waits until it is closed.
    pub async fn abandon(self) {
        let WriteTransaction { mut slot, connection, .. } = self;
        slot.cache_state = CacheState::Unknown;
        discard(connection).await;
        drop(slot);
    }
}

/// Returns true for errors at COMMIT after which SQLite has certainly not written the commit record: busy, full,
/// constraint.
pub(in crate::db) fn is_certainly_rolled_back(error: &DbError) -> bool {
    matches!(primary_code(error), Some(5 | 13 | 19))
}

/// Returns true for READONLY.
fn is_read_only(error: &DbError) -> bool {
    primary_code(error) == Some(8)
}

/// Returns true for BUSY and LOCKED.
fn is_busy(error: &DbError) -> bool {
    matches!(primary_code(error), Some(5 | 6))
}

fn primary_code(error: &DbError) -> Option<u32> {
    let DbError::Sql(sqlx::Error::Database(error)) = error else { return None };
    Some(error.code()?.parse::<u32>().ok()? & 0xff)
}
