//! Applies one batch of accepted change sets in one transaction. `commit::decide` has already made the decisions.
//!
//! - `fold`: the last state of each record, guard and balance. `statements`: writes each kind of row.
//! - `credentials`: keys and tokens. `journal`: the hash chains. `outbox`: events and their deliveries.
//! - `rows`: writes many rows in few statements. `script`: sends many statements in few round trips to the connection's
//!   thread.
//!
//! Invariants:
//! - A batch is applied as a whole or not at all, and its id is written in the same transaction.
//! - The last statements of a batch write its events and deliveries.
//! - After a COMMIT with an unknown outcome the connection is never used again.

pub(super) mod credentials;
mod fold;
mod journal;
mod outbox;
pub(super) mod rows;
mod script;
mod statements;

use std::sync::Arc;

use ethnum::I256;

use super::database::{Invalidation, WriteTransaction, is_certainly_rolled_back};
use super::model::DataModel;
use super::{Database, DbError, swaps};
use crate::changes::change_set::{ChangeSet, Version};
pub use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;
use fold::Folded;
use journal::ChainHeads;
#[cfg(test)]
pub(in crate::db) use outbox::GIVEN_UP;
use outbox::Outbox;
pub use outbox::{EventSeq, HostRecord, Outgoing, StoredEvent};
pub(in crate::db) use outbox::{FAN_OUT_DELIVERIES, NewDelivery, Recovery, bind_delivery, recover_part};
use script::{Script, Texts};

/// An accepted change set. Everything that it writes has `version`.
#[derive(Clone, Debug)]
pub struct AcceptedChanges {
    pub version: Version,
    pub changes: Arc<ChangeSet>,
    /// Model of the generation that made the change set. It defines the columns of `NewRecord::fields`.
    pub model: Arc<DataModel>,
    /// The balances after the change set, one for each account and asset of its transfers.
    pub balances: Vec<Balance>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    pub account: Arc<str>,
    pub asset: Arc<str>,
    pub amount: I256,
}

#[derive(Clone, Debug)]
pub struct Batch {
    /// Unique id. It shows the outcome if the connection is lost during COMMIT.
    pub id: Arc<str>,
    pub at: Timestamp,
    /// Change sets in the order of their acceptance.
    pub changes: Vec<AcceptedChanges>,
    /// The highest version in the batch. For an empty batch, the newest version that is or may be durable.
    pub last_version: Version,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// In-memory decisions are no longer valid for the file. Nothing was applied, and everything cached is invalid.
    #[error("the database was changed outside of the batches")]
    Outdated(Invalidation),
    /// The batch was rolled back. Certainly nothing was written.
    #[error("{0}")]
    Failed(String),
    /// The batch was rolled back because of the storage, not of a change set: a full disk, or a file locked by another
    /// program.
    #[error("{0}")]
    StorageFailure(String),
    /// The connection failed during COMMIT. `batch_exists` returns the outcome.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
}

impl From<DbError> for ApplyError {
    fn from(error: DbError) -> Self {
        let reason = error.to_string();
        if error.is_storage_failure() { ApplyError::StorageFailure(reason) } else { ApplyError::Failed(reason) }
    }
}

/// Applies batches. Each `Database` has one writer, owned by the committer's task.
pub struct Writer {
    database: Database,
    failpoints: Failpoints,
    cache: WriterCache,
    texts: Texts,
}

/// State after the last batch, which saves queries for the next one. Cleared when a batch fails.
#[derive(Default)]
struct WriterCache {
    chains: ChainHeads,
    outbox: Outbox,
}

impl WriterCache {
    fn clear(&mut self) {
        self.chains.clear();
        self.outbox.clear();
    }
}

/// Simulated failure for tests. Fires once, at the next batch, and is then unset.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Failpoints(pub Arc<parking_lot::Mutex<Option<Failpoint>>>);

#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// An error before COMMIT.
    BeforeCommit,
    /// The connection is lost during COMMIT, and nothing was written.
    DuringCommitLost,
    /// The connection is lost during COMMIT, and everything was written.
    DuringCommitKept,
}

impl Database {
    pub fn writer(&self) -> Writer {
        self.writer_with(Failpoints::default())
    }

    #[doc(hidden)]
    pub fn writer_with(&self, failpoints: Failpoints) -> Writer {
        Writer { database: self.clone(), failpoints, cache: WriterCache::default(), texts: Texts::default() }
    }

    /// Returns true if the batch became durable. Reopens all connections first, so the result is reliable after
    /// `Unknown`.
    pub async fn batch_exists(&self, id: &str) -> Result<bool, DbError> {
        self.reopen().await?;
        let found: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM batches WHERE id = ?").bind(id).fetch_optional(&*self.readers()).await?;
        Ok(found.is_some())
    }
}

impl Writer {
    /// Applies a batch. Waits for the writer's connection. Must not be cancelled, because the outcome would be lost.
    pub async fn apply(&mut self, batch: &Batch) -> Result<Outgoing, ApplyError> {
        let mut write = match self.database.begin_batch().await {
            Ok(write) => write,
            Err(error) => return Err(self.failed(error).await),
        };
        if let Some(invalidation) = write.update_cache_state() {
            self.cache.clear();
            return match write.rollback().await {
                Ok(()) => Err(ApplyError::Outdated(invalidation)),
                Err(error) => Err(self.failed(error).await),
            };
        }
        let failpoint = self.failpoints.0.lock().take();
        let outgoing = match self.write(&mut write, batch, failpoint).await {
            Ok(outgoing) => outgoing,
            Err(error) => return Err(self.undo(write, error).await),
        };
        self.commit(write, batch, failpoint).await?;
        if let Err(error) = self.database.truncate_log().await {
            tracing::warn!(%error, "failed to truncate the write-ahead log");
        }
        Ok(outgoing)
    }

    /// Accepts the current state of the file, for a caller that has discarded every decision made so far.
    ///
    /// After an error the next batch is `Outdated`, which has the same effect.
    pub async fn trust_file(&self) {
        if let Err(error) = self.database.trust_current_state().await {
            tracing::debug!(%error, "failed to read the data version of the database");
        }
    }

    /// Checks outside of a transaction whether earlier decisions are still valid for the file. Returns `None` if they
    /// are.
    pub async fn check_file(&self) -> Result<Option<Invalidation>, DbError> {
        self.database.check_cache_state().await
    }

    async fn write(
        &mut self,
        write: &mut WriteTransaction,
        batch: &Batch,
        failpoint: Option<Failpoint>,
    ) -> Result<Outgoing, DbError> {
        let catalogue = self.database.catalogue();
        let folded = Folded::new(batch, catalogue)?;
        let connection = write.connection();
        self.cache.outbox.load(connection, batch, catalogue).await?;
        let mut script = Script::new(connection, &mut self.texts);
        statements::write_batch_id(&mut script, batch);
        for table in folded.tables.values() {
            table.record_written_versions();
            statements::write_records(&mut script, table).await?;
        }
        statements::write_guards(&mut script, &folded);
        statements::write_ledger(&mut script, &folded, batch);
        statements::write_idempotency_records(&mut script, batch);
        credentials::write_credentials(&mut script, batch).await?;
        for action in batch.changes.iter().filter_map(|accepted| accepted.changes.operator.as_ref()) {
            swaps::insert_action(script.connection().await?, action).await?;
        }
        self.cache.chains.write(&mut script, batch).await?;
        let outgoing = self.cache.outbox.write(&mut script, batch).await?;
        script.run().await?;
        match failpoint {
            Some(Failpoint::BeforeCommit) => Err(DbError::Corrupt("failpoint before COMMIT".into())),
            _ => Ok(outgoing),
        }
    }

    async fn commit(
        &mut self,
        mut write: WriteTransaction,
        batch: &Batch,
        failpoint: Option<Failpoint>,
    ) -> Result<(), ApplyError> {
        let reason = "failpoint during COMMIT".to_owned();
        if failpoint == Some(Failpoint::DuringCommitLost) {
            write.abandon().await;
            self.cache.clear();
            return Err(ApplyError::Unknown(reason));
        }
        for table in fold::newly_written(batch, self.database.catalogue()) {
            let database = self.database.clone();
            write.on_commit(move || database.catalogue().put(table));
        }
        match write.commit().await {
            Ok(()) if failpoint == Some(Failpoint::DuringCommitKept) => {
                self.cache.clear();
                Err(ApplyError::Unknown(reason))
            }
            Ok(()) => Ok(()),
            Err(error) if is_certainly_rolled_back(&error) => Err(self.failed(error).await),
            Err(error) => {
                self.cache.clear();
                self.database.health().record_error(&error);
                Err(ApplyError::Unknown(error.to_string()))
            }
        }
    }

    async fn undo(&mut self, write: WriteTransaction, error: DbError) -> ApplyError {
        if let Err(second_error) = write.undo(&error).await {
            tracing::warn!(error = %second_error, "failed to roll back a transaction; its connection is closed");
        }
        self.failed(error).await
    }

    /// Handles an error. Reopens a lost connection at once, so that foreign writes are undetected for as short a time
    /// as possible.
    async fn failed(&mut self, error: DbError) -> ApplyError {
        self.cache.clear();
        self.database.health().record_error(&error);
        if let Err(second_error) = self.database.reconnect().await {
            tracing::error!(%error, %second_error, "failed to reopen the database after an error");
        }
        error.into()
    }
}

#[cfg(test)]
mod tests;
