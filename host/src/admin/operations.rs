//! What operators can ask for. `boot` implements it with the real rooms, tests with a fake.

use bytes::Bytes;

use super::wire::{
    CreatedKey, JournalLine, KeyStatus, LedgerReport, NewKey, PluginStatus, Readiness, RotationReport, SwapReport,
};

/// Why an operator's wish was not done. The texts are for operators: they may name files and causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such plugin or key.
    #[error("{message}")]
    NotFound { message: String, hint: String },
    /// It cannot be done as things are; nothing was changed. `reasons` one by one, perhaps none.
    #[error("{message}")]
    Refused { message: String, reasons: Vec<String>, hint: String },
    /// The question itself is wrong.
    #[error("{message}")]
    Invalid { message: String, hint: String },
    /// The host or its database failed.
    #[error("{message}")]
    Failed { message: String },
}

/// A component to publish.
#[derive(Clone, Debug)]
pub struct Deploy {
    pub plugin: String,
    pub component: Bytes,
    /// Publish in spite of breaking differences.
    pub allow_breaking: bool,
    /// Make its indexes, however long that stops all writes.
    pub allow_slow_index: bool,
    /// Who says so, for the journal. What the operator's program calls itself; not proven.
    pub who: String,
}

/// Which lines of the operators' journal, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalQuestion {
    /// `None`: of all plugins.
    pub plugin: Option<String>,
    /// Within `limits::ADMIN_JOURNAL_LINES_MAX`.
    pub limit: usize,
}

pub trait Operations: Send + Sync + 'static {
    fn plugins(&self) -> impl Future<Output = Result<Vec<PluginStatus>, Refusal>> + Send;
    fn deploy(&self, deploy: Deploy) -> impl Future<Output = Result<SwapReport, Refusal>> + Send;
    /// Publishes the generation that served before.
    fn rollback(&self, plugin: String, who: String) -> impl Future<Output = Result<SwapReport, Refusal>> + Send;
    fn journal(&self, question: JournalQuestion) -> impl Future<Output = Result<Vec<JournalLine>, Refusal>> + Send;
    fn create_key(&self, key: NewKey) -> impl Future<Output = Result<CreatedKey, Refusal>> + Send;
    fn keys(&self) -> impl Future<Output = Result<Vec<KeyStatus>, Refusal>> + Send;
    /// From the next request on the key opens nothing.
    fn revoke_key(&self, id: String) -> impl Future<Output = Result<KeyStatus, Refusal>> + Send;
    fn check_ledger(&self) -> impl Future<Output = Result<LedgerReport, Refusal>> + Send;
    fn rotate_secrets(&self) -> impl Future<Output = Result<RotationReport, Refusal>> + Send;
    /// Whether requests should be sent here: writer alive, plugins loaded, enough disk, not shutting down.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, Refusal>;
}
