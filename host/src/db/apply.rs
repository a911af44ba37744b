//! One batch of accepted change sets in one transaction. Nothing is judged here: `commit::decide` did.
//!
//! - `fold`: the last state of each record, guard and balance. `statements`: how each kind of row is written.
//! - `credentials`: keys and tokens. `journal`: the chains of hashes. `outbox`: events and their deliveries.
//! - `rows`: many rows in few statements. `script`: many statements in few trips to the thread of the connection.
//!
//! Invariants: a batch is applied as a whole or not at all; its id stands in the same transaction; events are numbered by
//! the last statements of it; after an error at COMMIT the connection is never used again.

pub(super) mod credentials;
mod fold;
mod journal;
mod outbox;
pub(super) mod rows;
mod script;
mod statements;

use std::sync::Arc;

use ethnum::I256;

use super::database::{Invalidation, WriteTransaction, is_surely_undone};
use super::model::DataModel;
use super::{Database, DbError, swaps};
use crate::changes::change_set::{ChangeSet, Version};
use crate::clock::Timestamp;
use fold::Folded;
use journal::Chains;
#[cfg(test)]
pub(in crate::db) use outbox::GIVEN_UP;
use outbox::Outbox;
pub use outbox::{EventSeq, HostRecord, Lane, Outgoing, StoredEvent};
pub(in crate::db) use outbox::{FAN_OUT_DELIVERIES, NewDelivery, Recovery, bind_delivery, recover_part};
use script::{Script, Texts};

/// A change set that was accepted. All that it writes carries `version`.
#[derive(Clone, Debug)]
pub struct AcceptedChanges {
    pub version: Version,
    pub changes: Arc<ChangeSet>,
    /// Of the generation that made it: says which columns `NewRecord::fields` belong to.
    pub model: Arc<DataModel>,
    /// The balances after it, one for each account and asset that its transfers touch.
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
    /// Unique for ever: how the outcome is found out when the connection dies during COMMIT.
    pub id: Arc<str>,
    pub at: Timestamp,
    /// In the order in which they were accepted.
    pub changes: Vec<AcceptedChanges>,
    /// The highest version in it.
    pub last_version: Version,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// What was decided in memory no longer rests on the state of the file. Nothing was applied, everything cached is
    /// worthless.
    #[error("the database was changed beside the batches")]
    Outdated(Invalidation),
    /// Rolled back: surely nothing was outgoing.
    #[error("{0}")]
    Failed(String),
    /// The same, and no change set is to blame: a full disk, a file that somebody else holds.
    #[error("{0}")]
    Trouble(String),
    /// It ended during COMMIT. Ask `batch_exists`.
    #[error("the outcome of the commit is not known: {0}")]
    Unknown(String),
}

impl From<DbError> for ApplyError {
    fn from(error: DbError) -> Self {
        let reason = error.to_string();
        if error.is_trouble() { ApplyError::Trouble(reason) } else { ApplyError::Failed(reason) }
    }
}

/// The one that applies batches. There is one for each `Database`, owned by the committer's task.
pub struct Writer {
    database: Database,
    failpoints: Failpoints,
    remembered: Remembered,
    texts: Texts,
}

/// What the last batch left behind, so that the next one need not ask; worthless once a batch fails.
#[derive(Default)]
struct Remembered {
    chains: Chains,
    outbox: Outbox,
}

impl Remembered {
    fn clear(&mut self) {
        self.chains.clear();
        self.outbox.clear();
    }
}

/// What goes wrong, for tests. Fires once, at the next batch, and is then unset.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Failpoints(pub Arc<parking_lot::Mutex<Option<Failpoint>>>);

#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// An error before COMMIT.
    BeforeCommit,
    /// The connection dies during COMMIT; nothing was written.
    DuringCommitLost,
    /// The connection dies during COMMIT; all of it was written.
    DuringCommitKept,
}

impl Database {
    pub fn writer(&self) -> Writer {
        self.writer_with(Failpoints::default())
    }

    #[doc(hidden)]
    pub fn writer_with(&self, failpoints: Failpoints) -> Writer {
        Writer { database: self.clone(), failpoints, remembered: Remembered::default(), texts: Texts::default() }
    }

    /// Whether the batch became durable. After `Unknown` this is the truth: all connections were opened anew since.
    pub async fn batch_exists(&self, id: &str) -> Result<bool, DbError> {
        self.reopen().await?;
        let found: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM batches WHERE id = ?").bind(id).fetch_optional(&*self.readers()).await?;
        Ok(found.is_some())
    }
}

impl Writer {
    /// Waits for its turn at the writer's connection. Must not be cancelled: the outcome would be lost.
    pub async fn apply(&mut self, batch: &Batch) -> Result<Outgoing, ApplyError> {
        let mut write = match self.database.begin_batch().await {
            Ok(write) => write,
            Err(error) => return Err(self.failed(error).await),
        };
        if let Some(invalidation) = write.update_basis() {
            self.remembered.clear();
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
        if let Err(error) = self.database.cut_log().await {
            tracing::warn!(%error, "the write-ahead log could not be cut");
        }
        Ok(outgoing)
    }

    /// For a caller that discards every decision made so far. After an error the next batch is `Outdated`, which has the
    /// same effect.
    pub async fn trust_file(&self) {
        if let Err(error) = self.database.remember_state().await {
            tracing::debug!(%error, "what others wrote is not known");
        }
    }

    /// Whether what was decided so far still rests on the file, checked outside of a transaction. `None`: it does.
    pub async fn check_file(&self) -> Result<Option<Invalidation>, DbError> {
        self.database.check_basis().await
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
        self.remembered.outbox.load(connection, batch, catalogue).await?;
        let mut script = Script::new(connection, &mut self.texts);
        statements::write_batch_id(&mut script, batch);
        for table in folded.tables.values() {
            table.note_ages();
            statements::write_records(&mut script, table).await?;
        }
        statements::write_guards(&mut script, &folded);
        statements::write_ledger(&mut script, &folded, batch);
        statements::write_answers(&mut script, batch);
        credentials::write_credentials(&mut script, batch).await?;
        for action in batch.changes.iter().filter_map(|accepted| accepted.changes.operator.as_ref()) {
            swaps::note_action(script.connection().await?, action).await?;
        }
        self.remembered.chains.write(&mut script, batch).await?;
        let outgoing = self.remembered.outbox.write(&mut script, batch).await?;
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
        let died = "failpoint during COMMIT".to_owned();
        if failpoint == Some(Failpoint::DuringCommitLost) {
            write.abandon().await;
            self.remembered.clear();
            return Err(ApplyError::Unknown(died));
        }
        for table in fold::newly_written(batch, self.database.catalogue()) {
            let database = self.database.clone();
            write.on_commit(move || database.catalogue().put(table));
        }
        match write.commit().await {
            Ok(()) if failpoint == Some(Failpoint::DuringCommitKept) => {
                self.remembered.clear();
                Err(ApplyError::Unknown(died))
            }
            Ok(()) => Ok(()),
            Err(error) if is_surely_undone(&error) => Err(self.failed(error).await),
            Err(error) => {
                self.remembered.clear();
                self.database.health().note(&error);
                Err(ApplyError::Unknown(error.to_string()))
            }
        }
    }

    async fn undo(&mut self, write: WriteTransaction, error: DbError) -> ApplyError {
        if let Err(again) = write.undo(&error).await {
            tracing::warn!(%again, "a transaction could not be rolled back; its connection is dropped");
        }
        self.failed(error).await
    }

    /// Opens the writer's connection anew at once if it was lost, so that little can happen unnoticed.
    async fn failed(&mut self, error: DbError) -> ApplyError {
        self.remembered.clear();
        self.database.health().note(&error);
        if let Err(again) = self.database.reconnect().await {
            tracing::error!(%error, %again, "the database could not be opened again after an error");
        }
        error.into()
    }
}

#[cfg(test)]
mod tests;
