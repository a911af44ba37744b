//! Transactions on the writer's connection.
//!
//! `Database::write` runs its closure in a task of its own: a caller that goes away neither interrupts a statement nor takes
//! the connection with it. Batches of the committer use `begin_batch` directly, because their task is never dropped.
//!
//! Invariants: the connection leaves its slot only inside of such a task; the slot stays locked until SQLite has ended the
//! transaction; a connection comes back to its slot unless its COMMIT or ROLLBACK failed, and then it is closed first.

#![expect(clippy::disallowed_methods, reason = "one task for each write, which ends with its transaction")]

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::OwnedMutexGuard;

use super::Database;
use super::slot::{Basis, Durability, Invalidation, WriterSlot};
use crate::db::DbError;
use crate::db::apply::rows::Query;

/// A transaction that holds SQLite's write lock.
pub(in crate::db) struct WriteTransaction {
    slot: OwnedMutexGuard<WriterSlot>,
    connection: SqliteConnection,
    /// `PRAGMA data_version` at its beginning, and so until its end.
    data_version: i64,
    on_commit: Vec<Box<dyn FnOnce() + Send>>,
    supersedes: bool,
}

/// The work of one transaction.
pub(in crate::db) type Work<'w, T> = BoxFuture<'w, Result<T, DbError>>;

impl Database {
    /// Runs `work` in a transaction and commits it; rolls it back if `work` fails. Durable when it returns.
    ///
    /// Waits for its turn among the writers. A caller that is dropped while it waits changes nothing; once the transaction
    /// has begun, it ends by itself, whether its caller is still there or not.
    ///
    /// # Errors
    /// Those of `work`, with nothing changed. After an error of COMMIT itself the outcome is not known, unless
    /// `is_surely_undone`.
    pub(in crate::db) async fn write<T, W>(&self, work: W) -> Result<T, DbError>
    where
        T: Send + 'static,
        W: for<'w> FnOnce(&'w mut WriteTransaction) -> Work<'w, T> + Send + 'static,
    {
        self.write_as(Durability::Full, work).await
    }

    /// Runs one statement in a transaction of its own and returns how many rows it changed.
    pub(in crate::db) async fn execute(&self, statement: Query) -> Result<u64, DbError> {
        let execute =
            async move |write: &mut WriteTransaction| Ok(statement.execute(write.connection()).await?.rows_affected());
        self.write(move |write| Box::pin(execute(write))).await
    }

    /// Like `write`, for what may be repeated after a loss of power: the commit does not wait for the disk.
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
        // Its error is noted also if the caller is dropped.
        let task = tokio::spawn(async move {
            let done = async { database.begin(slot, durability).await?.perform(work).await };
            database.observe(done.await)
        });
        // Only a runtime that shuts down ends it early.
        task.await.unwrap_or(Err(DbError::Closed))
    }

    /// For `apply::Writer` alone, whose task is never dropped: saves its batches the task that `write` starts.
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
            return Err(DbError::Refused("the database is open for reading only".into()));
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
                (slot.basis, slot.durability) = (Basis::Unknown, Durability::Full);
                self.connect_writer().await?
            }
        };
        match start(&mut connection, &mut slot.durability, durability).await {
            Ok(data_version) => {
                Ok(WriteTransaction { slot, connection, data_version, on_commit: Vec::new(), supersedes: false })
            }
            // Another program holds the lock: the connection is as good as before.
            Err(error) if is_busy(&error) => {
                slot.connection = Some(connection);
                Err(error)
            }
            Err(error) => {
                slot.basis = Basis::Unknown;
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

/// Waits until it is gone, and with it every lock that it held.
async fn discard(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "a connection was closed after an error");
    }
}

impl WriteTransaction {
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Why decisions made since the last batch no longer rest on the file. The data version was read inside of the
    /// transaction: nobody can write between the check and the COMMIT.
    pub fn update_basis(&mut self) -> Option<Invalidation> {
        self.slot.update_basis(self.data_version)
    }

    /// Decisions made so far rest on what this transaction changes: once it commits, the next batch is run again.
    pub fn supersede_decisions(&mut self) {
        self.supersedes = true;
    }

    /// Calls `then` after the commit and before the next transaction begins.
    pub fn on_commit(&mut self, then: impl FnOnce() + Send + 'static) {
        self.on_commit.push(Box::new(then));
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
        if let Err(again) = self.undo(&error).await {
            tracing::warn!(%again, "a transaction could not be rolled back; its connection is closed");
        }
        Err(error)
    }

    /// After an error of a statement: rolled back. A connection that SQLite could open for reading alone is closed, because the
    /// next one may find the file writable again.
    pub async fn undo(self, error: &DbError) -> Result<(), DbError> {
        if !is_read_only(error) {
            return self.rollback().await;
        }
        self.abandon().await;
        Ok(())
    }

    /// On an error the outcome is not known, unless `is_surely_undone`.
    pub async fn commit(mut self) -> Result<(), DbError> {
        match sqlx::query("COMMIT").execute(&mut self.connection).await.map_err(DbError::from) {
            Ok(_) => {
                if self.supersedes {
                    self.slot.basis = Basis::Superseded;
                }
                self.on_commit.drain(..).for_each(|then| then());
                self.slot.connection = Some(self.connection);
                Ok(())
            }
            Err(error) if is_surely_undone(&error) => {
                if let Err(again) = self.rollback().await {
                    tracing::warn!(%again, "a transaction could not be rolled back; its connection is closed");
                }
                Err(error)
            }
            Err(error) => {
                self.abandon().await;
                Err(error)
            }
        }
    }

    /// Also after an error of a statement. The connection is kept: it goes on noticing foreign writes.
    pub async fn rollback(mut self) -> Result<(), DbError> {
        match sqlx::query("ROLLBACK").execute(&mut self.connection).await {
            Ok(_) => {}
            // A full disk ends the transaction by itself; SQLite's code for "none is active" is 1.
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("1") => {}
            Err(error) => {
                self.abandon().await;
                return Err(error.into());
            }
        }
        self.slot.connection = Some(self.connection);
        Ok(())
    }

    /// Closes the connection as if it had died, and waits until it is gone.
    pub async fn abandon(self) {
        let WriteTransaction { mut slot, connection, .. } = self;
        slot.basis = Basis::Unknown;
        discard(connection).await;
        drop(slot);
    }
}

/// Errors at COMMIT after which SQLite has certainly not written the commit record: busy, full, constraint.
pub(in crate::db) fn is_surely_undone(error: &DbError) -> bool {
    matches!(primary_code(error), Some(5 | 13 | 19))
}

/// READONLY.
fn is_read_only(error: &DbError) -> bool {
    primary_code(error) == Some(8)
}

/// BUSY, LOCKED.
fn is_busy(error: &DbError) -> bool {
    matches!(primary_code(error), Some(5 | 6))
}

fn primary_code(error: &DbError) -> Option<u32> {
    let DbError::Sql(sqlx::Error::Database(error)) = error else { return None };
    Some(error.code()?.parse::<u32>().ok()? & 0xff)
}
