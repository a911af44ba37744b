//! One batch of accepted change sets in one transaction.

use std::sync::Arc;

use ethnum::I256;

use super::model::DataModel;
use super::{Database, DbError};
use crate::changes::change_set::{ChangeSet, Timestamp, Version};

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
    /// Somebody else wrote into the file since the last batch. Nothing was applied, everything cached is worthless.
    #[error("somebody else wrote into the database")]
    Foreign,
    /// Rolled back: surely nothing was applied.
    #[error("{0}")]
    Failed(String),
    /// It ended during COMMIT. Ask `batch_exists`.
    #[error("the outcome of the commit is not known: {0}")]
    Unknown(String),
}

/// The one that applies batches. There is one for each `Database`, owned by the committer's task.
pub struct Writer {
    #[allow(dead_code)]
    database: Database,
    #[allow(dead_code)]
    failpoints: Failpoints,
}

/// What goes wrong, for tests. Each fires once, at the next batch, and is then unset.
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
        Writer { database: self.clone(), failpoints }
    }
    /// Whether the batch became durable; asked on a fresh connection.
    pub async fn batch_exists(&self, _id: &str) -> Result<bool, DbError> {
        unimplemented!()
    }
}

impl Writer {
    pub async fn apply(&mut self, _batch: &Batch) -> Result<(), ApplyError> {
        unimplemented!()
    }
}
