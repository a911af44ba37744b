//! What operators can ask for. `boot` implements it with the real rooms, tests with a fake.

use bytes::Bytes;

use super::wire::{
    AttemptStatus, AuditLine, BackupStatus, BalanceReport, ChainStatus, CheckReport, ClientStatus, ControlReport,
    CreatedClient, CreatedKey, DeliveryStatus, EndpointName, EndpointStatus, JournalLine, KeyStatus, LedgerReport,
    Moment, NetworkControl, NetworkSide, NetworkStatus, NewBackup, NewClient, NewKey, OutboxMessage, Page,
    PluginStatus, ProfileReport, Readiness, Recover, Redeliver, ResendReport, RotationReport, SeedCopy, SeedName,
    SeedReport, SwapReport, TaskName, TaskReport, TaskSort, TaskStatus, TokenKeysReport, TransactionStatus,
};
use crate::changes::operator_action::ActionOutcome;

/// Why an operator's wish was not done. The texts are for operators: they may name files and causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such plugin, key, endpoint or event.
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

/// A profile of a serving plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRequest {
    pub plugin: String,
    /// From 1 to `limits::PROFILE_SECONDS_MAX`.
    pub seconds: u64,
    /// For the journal.
    pub who: String,
}

/// Which lines of the operators' journal, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalQuestion {
    /// `None`: of all plugins.
    pub plugin: Option<String>,
    /// `None`: of all operators.
    pub operator: Option<String>,
    /// "create-key", …; `None`: all actions.
    pub action: Option<String>,
    /// From then on.
    pub since: Option<Moment>,
    /// Within `limits::ADMIN_JOURNAL_LINES_MAX`.
    pub limit: usize,
}

/// A request of an operator that was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAction {
    pub action: &'static str,
    pub operator: String,
    pub outcome: ActionOutcome,
    pub why: String,
}

/// Endpoints of webhooks, in the order in which they were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointsQuestion {
    pub filter: EndpointName,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Within `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Deliveries, endpoint by endpoint, of each the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveriesQuestion {
    pub filter: EndpointName,
    pub state: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Within `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Attempts of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptsQuestion {
    pub endpoint: EndpointName,
    pub event: String,
}

/// Tasks of one kind, plugin by plugin and tenant by tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TasksQuestion {
    pub kind: TaskSort,
    pub plugin: Option<String>,
    pub tenant: Option<String>,
    /// Only those that were given up.
    pub given_up: bool,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Within `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Stored messages, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxQuestion {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// Within `limits::ADMIN_OUTBOX_MAX`.
    pub limit: u32,
}

/// Lines of the tenants' journal, the newest first. `None`: whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesQuestion {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub operation: Option<String>,
    pub subject: Option<String>,
    /// Id of a request.
    pub request: Option<String>,
    /// From then on.
    pub since: Option<Moment>,
    /// Before then.
    pub until: Option<Moment>,
    /// The `next` of the page before. With plugin and tenant: the number of a line.
    pub after: Option<i64>,
    /// Within `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Chains of the tenants' journal, each followed to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainsQuestion {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
}

/// What an address has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceQuestion {
    pub blockchain: String,
    pub network: NetworkSide,
    pub address: String,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionQuestion {
    pub blockchain: String,
    pub network: NetworkSide,
    pub hash: String,
}

pub trait Operations: Send + Sync + 'static {
    fn plugins(&self) -> impl Future<Output = Result<Vec<PluginStatus>, Refusal>> + Send;
    fn deploy(&self, deploy: Deploy) -> impl Future<Output = Result<SwapReport, Refusal>> + Send;
    /// A deploy up to *publish*: nothing changes but the cache of compiled code.
    fn check(&self, plugin: String, component: Bytes) -> impl Future<Output = Result<CheckReport, Refusal>> + Send;
    /// Publishes the generation that served before.
    fn rollback(&self, plugin: String, who: String) -> impl Future<Output = Result<SwapReport, Refusal>> + Send;
    /// Returns when the profile has ended. Dropping the future ends it.
    fn profile(&self, request: ProfileRequest) -> impl Future<Output = Result<ProfileReport, Refusal>> + Send;
    fn journal(&self, question: JournalQuestion) -> impl Future<Output = Result<Vec<JournalLine>, Refusal>> + Send;
    fn create_key(&self, key: NewKey, who: String) -> impl Future<Output = Result<CreatedKey, Refusal>> + Send;
    fn keys(&self) -> impl Future<Output = Result<Vec<KeyStatus>, Refusal>> + Send;
    /// From the next request on the key opens nothing.
    fn revoke_key(&self, id: String, who: String) -> impl Future<Output = Result<KeyStatus, Refusal>> + Send;
    fn create_client(
        &self,
        client: NewClient,
        who: String,
    ) -> impl Future<Output = Result<CreatedClient, Refusal>> + Send;
    fn clients(&self) -> impl Future<Output = Result<Vec<ClientStatus>, Refusal>> + Send;
    /// Another secret; the one before is good for a while.
    fn rotate_client(&self, id: String, who: String) -> impl Future<Output = Result<CreatedClient, Refusal>> + Send;
    /// From the next request on the client gets no tokens, and those that it has open nothing.
    fn revoke_client(&self, id: String, who: String) -> impl Future<Output = Result<ClientStatus, Refusal>> + Send;
    /// Another key signs tokens from now on.
    fn rotate_token_keys(&self, who: String) -> impl Future<Output = Result<TokenKeysReport, Refusal>> + Send;
    fn webhook_endpoints(
        &self,
        question: EndpointsQuestion,
    ) -> impl Future<Output = Result<Page<EndpointStatus>, Refusal>> + Send;
    fn webhook_deliveries(
        &self,
        question: DeliveriesQuestion,
    ) -> impl Future<Output = Result<Page<DeliveryStatus>, Refusal>> + Send;
    fn webhook_attempts(
        &self,
        question: AttemptsQuestion,
    ) -> impl Future<Output = Result<Vec<AttemptStatus>, Refusal>> + Send;
    /// `who`: for the journal.
    fn redeliver(&self, wish: Redeliver, who: String) -> impl Future<Output = Result<ResendReport, Refusal>> + Send;
    fn recover(&self, wish: Recover, who: String) -> impl Future<Output = Result<ResendReport, Refusal>> + Send;
    fn tasks(&self, question: TasksQuestion) -> impl Future<Output = Result<Page<TaskStatus>, Refusal>> + Send;
    fn retry_task(&self, name: TaskName, who: String) -> impl Future<Output = Result<TaskReport, Refusal>> + Send;
    fn drop_task(&self, name: TaskName, who: String) -> impl Future<Output = Result<TaskReport, Refusal>> + Send;
    fn outbox(&self, question: OutboxQuestion) -> impl Future<Output = Result<Vec<OutboxMessage>, Refusal>> + Send;
    fn audit_lines(&self, question: LinesQuestion) -> impl Future<Output = Result<Page<AuditLine>, Refusal>> + Send;
    fn audit_chains(&self, question: ChainsQuestion)
    -> impl Future<Output = Result<Page<ChainStatus>, Refusal>> + Send;
    fn check_ledger(&self) -> impl Future<Output = Result<LedgerReport, Refusal>> + Send;
    fn rotate_secrets(&self, who: String) -> impl Future<Output = Result<RotationReport, Refusal>> + Send;
    /// Returns when it has begun, or cannot.
    fn start_backup(&self, wish: NewBackup, who: String) -> impl Future<Output = Result<BackupStatus, Refusal>> + Send;
    /// Of the one that is being written, or was written last.
    fn backup(&self) -> impl Future<Output = Result<BackupStatus, Refusal>> + Send;
    /// Which plugins and tenants have one.
    fn seeds(&self) -> impl Future<Output = Result<Vec<SeedName>, Refusal>> + Send;
    /// In the journal before it is given out.
    fn export_seed(&self, name: SeedName, who: String) -> impl Future<Output = Result<SeedCopy, Refusal>> + Send;
    /// For a tenant that has none, or the same.
    fn import_seed(&self, copy: SeedCopy, who: String) -> impl Future<Output = Result<SeedReport, Refusal>> + Send;
    fn networks(&self) -> impl Future<Output = Result<Vec<NetworkStatus>, Refusal>> + Send;
    fn network_balance(&self, question: BalanceQuestion)
    -> impl Future<Output = Result<BalanceReport, Refusal>> + Send;
    fn network_transaction(
        &self,
        question: TransactionQuestion,
    ) -> impl Future<Output = Result<TransactionStatus, Refusal>> + Send;
    /// Of a simulated network.
    fn control_network(
        &self,
        wish: NetworkControl,
        who: String,
    ) -> impl Future<Output = Result<ControlReport, Refusal>> + Send;
    /// Writes a line of the journal; a failure is logged.
    fn note_refused(&self, refused: RefusedAction) -> impl Future<Output = ()> + Send;
    /// Whether requests should be sent here: writer alive, plugins loaded, enough disk, not shutting down.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
    /// The text of a scrape.
    fn metrics(&self) -> Result<String, Refusal>;
}
