//! The requests of operators, as a trait. `boot` implements it for the running host, and tests implement it with a
//! fake.

use bytes::Bytes;

use super::wire::{
    AttemptStatus, AuditLine, BackupStatus, BalanceReport, ChainStatus, CheckReport, ClientStatus, ControlReport,
    CreatedClient, CreatedKey, DeliveryStatus, EndpointSelector, EndpointStatus, JournalLine, KeyStatus, LedgerReport,
    NetworkControl, NetworkSide, NetworkStatus, NewBackup, NewClient, NewKey, OutboxMessage, Page, PluginStatus,
    ProfileReport, Readiness, RecoverRequest, RedeliverRequest, ResendReport, RotationReport, SeedCopy, SeedOwner,
    SeedReport, SwapReport, TaskKind, TaskReport, TaskSelector, TaskStatus, TimestampText, TokenKeysReport,
    TransactionStatus,
};
use crate::changes::operator_action::ActionOutcome;

/// Reason why an admin request failed. The messages are for operators: they may name files and causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// The plugin, key, endpoint or event does not exist.
    #[error("{message}")]
    NotFound { message: String, hint: String },
    /// The current state of the host does not allow the request. Nothing was changed. `reasons` may be empty.
    #[error("{message}")]
    Conflict { message: String, reasons: Vec<String>, hint: String },
    /// The request is invalid.
    #[error("{message}")]
    Invalid { message: String, hint: String },
    /// The host or its database failed.
    #[error("{message}")]
    Failed { message: String },
}

pub fn failed(cause: impl Into<String>) -> AdminError {
    AdminError::Failed { message: cause.into() }
}

/// A component to publish.
#[derive(Clone, Debug)]
pub struct Deploy {
    pub plugin: String,
    pub component: Bytes,
    /// Publishes despite breaking differences.
    pub allow_breaking: bool,
    /// Builds its indexes even if that blocks all writes for long.
    pub allow_slow_index: bool,
    /// Name of the operator for the journal, as the operator's program sent it. The name is not authenticated.
    pub operator: String,
}

/// Request for a profile of a serving plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRequest {
    pub plugin: String,
    /// From 1 to `limits::PROFILE_SECONDS_MAX`.
    pub seconds: u64,
    /// Name for the journal.
    pub operator: String,
}

/// Filter of the operators' journal. The lines are listed newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalQuery {
    /// `None` selects all plugins.
    pub plugin: Option<String>,
    /// `None` selects all operators.
    pub operator: Option<String>,
    /// "create-key", …; `None` selects all actions.
    pub action: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<TimestampText>,
    /// At most `limits::ADMIN_JOURNAL_LINES_MAX`.
    pub limit: usize,
}

/// An operator request that was refused or failed, for the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAction {
    pub action: &'static str,
    pub operator: String,
    pub outcome: ActionOutcome,
    pub reason: String,
}

/// Query for webhook endpoints, in the order of their creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointsQuery {
    pub filter: EndpointSelector,
    /// `next` of the previous page.
    pub after: Option<String>,
    /// At most `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Query for deliveries, grouped by endpoint and newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveriesQuery {
    pub filter: EndpointSelector,
    pub state: Option<String>,
    /// `next` of the previous page.
    pub after: Option<String>,
    /// At most `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Query for the attempts of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptsQuery {
    pub endpoint: EndpointSelector,
    pub event: String,
}

/// Query for tasks of one kind, ordered by plugin and tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TasksQuery {
    pub kind: TaskKind,
    pub plugin: Option<String>,
    pub tenant: Option<String>,
    /// Selects only tasks that were given up.
    pub given_up: bool,
    /// `next` of the previous page.
    pub after: Option<String>,
    /// At most `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Query for stored messages, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxQuery {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// At most `limits::ADMIN_OUTBOX_MAX`.
    pub limit: u32,
}

/// Query for lines of the tenants' journal, newest first. `None` selects every value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditLinesQuery {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub operation: Option<String>,
    pub subject: Option<String>,
    /// Request id.
    pub request: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<TimestampText>,
    /// Latest time, exclusive.
    pub until: Option<TimestampText>,
    /// `next` of the previous page. With plugin and tenant, it is a line number.
    pub after: Option<i64>,
    /// At most `limits::ADMIN_WEBHOOKS_MAX`.
    pub limit: u32,
}

/// Query for the hash chains of the tenants' journal, each verified to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditChainsQuery {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// `next` of the previous page.
    pub after: Option<String>,
}

/// Query for the balances of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceQuery {
    pub blockchain: String,
    pub network: NetworkSide,
    pub address: String,
}

/// Query for one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionQuery {
    pub blockchain: String,
    pub network: NetworkSide,
    pub hash: String,
}

pub trait Operations: Send + Sync + 'static {
    fn plugins(&self) -> impl Future<Output = Result<Vec<PluginStatus>, AdminError>> + Send;
    fn deploy(&self, deploy: Deploy) -> impl Future<Output = Result<SwapReport, AdminError>> + Send;
    /// Runs a deploy up to, but not including, *publish*. Only the cache of compiled code changes.
    fn check(&self, plugin: String, component: Bytes) -> impl Future<Output = Result<CheckReport, AdminError>> + Send;
    /// Publishes the previous generation.
    fn rollback(&self, plugin: String, operator: String)
    -> impl Future<Output = Result<SwapReport, AdminError>> + Send;
    /// Returns when the profile has ended. Dropping the future ends it.
    fn profile(&self, request: ProfileRequest) -> impl Future<Output = Result<ProfileReport, AdminError>> + Send;
    fn journal(&self, query: JournalQuery) -> impl Future<Output = Result<Vec<JournalLine>, AdminError>> + Send;
    fn create_key(&self, key: NewKey, operator: String) -> impl Future<Output = Result<CreatedKey, AdminError>> + Send;
    fn keys(&self) -> impl Future<Output = Result<Vec<KeyStatus>, AdminError>> + Send;
    /// Revokes a key. The next request with it is rejected.
    fn revoke_key(&self, id: String, operator: String) -> impl Future<Output = Result<KeyStatus, AdminError>> + Send;
    fn create_client(
        &self,
        client: NewClient,
        operator: String,
    ) -> impl Future<Output = Result<CreatedClient, AdminError>> + Send;
    fn clients(&self) -> impl Future<Output = Result<Vec<ClientStatus>, AdminError>> + Send;
    /// Replaces the secret. The previous secret stays valid for a limited time.
    fn rotate_client(
        &self,
        id: String,
        operator: String,
    ) -> impl Future<Output = Result<CreatedClient, AdminError>> + Send;
    /// Revokes a client. From the next request on it gets no tokens, and its existing tokens are rejected.
    fn revoke_client(
        &self,
        id: String,
        operator: String,
    ) -> impl Future<Output = Result<ClientStatus, AdminError>> + Send;
    /// Replaces the key that signs access tokens.
    fn rotate_token_keys(&self, operator: String) -> impl Future<Output = Result<TokenKeysReport, AdminError>> + Send;
    fn webhook_endpoints(
        &self,
        query: EndpointsQuery,
    ) -> impl Future<Output = Result<Page<EndpointStatus>, AdminError>> + Send;
    fn webhook_deliveries(
        &self,
        query: DeliveriesQuery,
    ) -> impl Future<Output = Result<Page<DeliveryStatus>, AdminError>> + Send;
    fn webhook_attempts(
        &self,
        query: AttemptsQuery,
    ) -> impl Future<Output = Result<Vec<AttemptStatus>, AdminError>> + Send;
    fn redeliver(
        &self,
        request: RedeliverRequest,
        operator: String,
    ) -> impl Future<Output = Result<ResendReport, AdminError>> + Send;
    fn recover(
        &self,
        request: RecoverRequest,
        operator: String,
    ) -> impl Future<Output = Result<ResendReport, AdminError>> + Send;
    fn tasks(&self, query: TasksQuery) -> impl Future<Output = Result<Page<TaskStatus>, AdminError>> + Send;
    fn retry_task(
        &self,
        task: TaskSelector,
        operator: String,
    ) -> impl Future<Output = Result<TaskReport, AdminError>> + Send;
    fn drop_task(
        &self,
        task: TaskSelector,
        operator: String,
    ) -> impl Future<Output = Result<TaskReport, AdminError>> + Send;
    fn outbox(&self, query: OutboxQuery) -> impl Future<Output = Result<Vec<OutboxMessage>, AdminError>> + Send;
    fn audit_lines(&self, query: AuditLinesQuery) -> impl Future<Output = Result<Page<AuditLine>, AdminError>> + Send;
    fn audit_chains(
        &self,
        query: AuditChainsQuery,
    ) -> impl Future<Output = Result<Page<ChainStatus>, AdminError>> + Send;
    fn check_ledger(&self) -> impl Future<Output = Result<LedgerReport, AdminError>> + Send;
    fn rotate_secrets(&self, operator: String) -> impl Future<Output = Result<RotationReport, AdminError>> + Send;
    /// Starts a backup. Returns as soon as it runs or was refused.
    fn start_backup(
        &self,
        request: NewBackup,
        operator: String,
    ) -> impl Future<Output = Result<BackupStatus, AdminError>> + Send;
    /// Returns the status of the running backup, or of the last one.
    fn backup(&self) -> impl Future<Output = Result<BackupStatus, AdminError>> + Send;
    /// Lists the plugins and tenants that have a seed.
    fn seeds(&self) -> impl Future<Output = Result<Vec<SeedOwner>, AdminError>> + Send;
    /// Returns a seed. The export is recorded in the journal first.
    fn export_seed(
        &self,
        owner: SeedOwner,
        operator: String,
    ) -> impl Future<Output = Result<SeedCopy, AdminError>> + Send;
    /// Imports a seed for a tenant that has none. A tenant that has this seed is left unchanged.
    fn import_seed(
        &self,
        copy: SeedCopy,
        operator: String,
    ) -> impl Future<Output = Result<SeedReport, AdminError>> + Send;
    fn networks(&self) -> impl Future<Output = Result<Vec<NetworkStatus>, AdminError>> + Send;
    fn network_balance(&self, query: BalanceQuery) -> impl Future<Output = Result<BalanceReport, AdminError>> + Send;
    fn network_transaction(
        &self,
        query: TransactionQuery,
    ) -> impl Future<Output = Result<TransactionStatus, AdminError>> + Send;
    /// Controls a simulated network.
    fn control_network(
        &self,
        request: NetworkControl,
        operator: String,
    ) -> impl Future<Output = Result<ControlReport, AdminError>> + Send;
    /// Writes a journal line. A storage failure is logged.
    fn record_failed_action(&self, failed: FailedAction) -> impl Future<Output = ()> + Send;
    /// Reports whether load balancers may send requests: writer alive, plugins loaded, enough disk, not shutting down.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;
    /// Renders the metrics in the Prometheus text format.
    fn metrics(&self) -> Result<String, AdminError>;
}
