//! JSON types of the operators' listener, used by `tenon` and by operators' programs.
//!
//! They are converted by hand from and to the types of the host, so that both can change independently.

mod audit;
mod backups;
mod chains;
mod clients;
mod outbox;
mod profile;
mod secret;
mod seeds;
mod tasks;
mod webhooks;

use serde::{Deserialize, Serialize, de::Error};

pub use audit::{AuditLine, ChainFlaw, ChainStatus, FlawKind};
pub use backups::{BackupReport, BackupState, BackupStatus, NewBackup, RestoreReport};
pub use chains::{
    AssetStatus, Balance, BalanceReport, Control, ControlReport, FaultStatus, MovementStatus, NetworkControl,
    NetworkSide, NetworkStatus, Silence, TransactionStatus,
};
pub use clients::{ClientStatus, CreatedClient, NewClient, TokenKeysReport};
pub use outbox::OutboxMessage;
pub use profile::{FunctionStatus, ProfileEnd, ProfileReport};
pub use seeds::{SeedCopy, SeedOwner, SeedReport};
pub use tasks::{CallStatus, TaskKind, TaskReport, TaskSelector, TaskStatus};
pub use webhooks::{
    AttemptStatus, DeliveryStatus, DisabledStatus, EndpointSelector, EndpointStatus, LiveStatus, Page, RecoverRequest,
    RedeliverRequest, ResendReport,
};

use crate::clock::Timestamp;
use crate::secrets::SecretText;

/// A point in time: milliseconds here, "2026-01-02T03:04:05.678Z" in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimestampText(pub Timestamp);

impl std::fmt::Display for TimestampText {
    /// Writes three fractional digits, so that timestamps align in columns.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(milliseconds) {
            Ok(timestamp) => write!(out, "{timestamp:.3}"),
            // Out of the range of `jiff`. The text must remain parseable.
            Err(_) => write!(out, "{:.3}", jiff::Timestamp::MAX),
        }
    }
}

impl Serialize for TimestampText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimestampText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TimestampText, D::Error> {
        let text = String::deserialize(deserializer)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(TimestampText(u64::try_from(timestamp.as_millisecond()).unwrap_or_default()))
    }
}

/// A plugin of plugins.toml and the version that serves its requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginStatus {
    pub name: String,
    pub mount: String,
    pub state: PluginState,
    /// Reasons why it does not serve, or why the last swap was refused. Empty if there is no problem.
    pub reasons: Vec<String>,
    /// `None` if no version serves.
    pub serving: Option<ServingStatus>,
    /// The version in memory that a rollback would publish.
    pub parked: Option<VersionStatus>,
    /// If no version is parked: hex SHA-256 of the component that a rollback would load from the data folder.
    pub kept: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginState {
    /// Answers requests.
    Serving,
    /// Answers requests on the new generation, while calls still run on the old one.
    Draining,
    /// A new generation is being prepared. The previous one, if any, serves.
    Preparing,
    /// No version was ever published.
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingStatus {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub hash: String,
    /// Build profile of the component from its manifest, such as "plugin-release". Empty if the manifest has none.
    #[serde(default)]
    pub build: String,
    pub generation: u64,
    pub since: TimestampText,
    pub in_flight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionStatus {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub hash: String,
}

/// Result of a swap that was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapReport {
    pub plugin: String,
    pub from: Option<VersionStatus>,
    pub to: VersionStatus,
    pub generation: u64,
    /// Differences that are relevant to operators.
    pub notes: Vec<String>,
    pub steps: Vec<StepTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// "settle", "inspect", "compile", …
    pub step: String,
    pub microseconds: u64,
}

/// Result of `tenon plugin check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    pub plugin: String,
    /// Whether it would be published.
    pub passed: bool,
    /// Hex SHA-256 of the component.
    pub hash: String,
    /// `None` if the component was refused before its manifest was read.
    pub version: Option<String>,
    /// Reasons for which it would be refused.
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
    pub steps: Vec<StepTime>,
}

/// Result of `tenon plugin compile` for one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileReport {
    pub plugin: String,
    pub source: CompileSource,
    /// Hex SHA-256 of the component; empty if it cannot be read.
    pub hash: String,
    pub version: Option<String>,
    pub outcome: CompileOutcome,
    pub reasons: Vec<String>,
    pub steps: Vec<StepTime>,
}

/// Source of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileSource {
    /// The file that plugins.toml names.
    File,
    /// The data folder, from which it was published last.
    Published,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileOutcome {
    Compiled,
    /// The cache had its compiled code already.
    Cached,
    /// A deploy would refuse it.
    Refused,
}

/// A line of the operators' journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    pub at: TimestampText,
    #[serde(rename = "who")]
    pub operator: String,
    pub plugin: String,
    /// "deploy", "rollback", "remove", "redeliver", …
    pub action: String,
    /// Hex SHA-256 of the components.
    pub from: Option<String>,
    pub to: Option<String>,
    /// "published" or "refused" for swaps, otherwise "done".
    pub outcome: String,
    /// Reasons of a failure, or the target of the action.
    pub reasons: Vec<String>,
    pub steps: Vec<StepTime>,
}

/// Request to create an API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Accepts scopes that no route of the plugin requires (yet).
    #[serde(default)]
    pub allow_unknown_scopes: bool,
    /// Id of the key that this key replaces. Both are valid until one is revoked.
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub expires_in_days: Option<u32>,
    /// Allows signing webhooks with the key. The host stores a sealed copy.
    #[serde(default)]
    pub signs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyEnvironment {
    Test,
    Live,
}

impl KeyEnvironment {
    pub fn name(self) -> &'static str {
        match self {
            KeyEnvironment::Test => "test",
            KeyEnvironment::Live => "live",
        }
    }
}

/// A created key. Only this response contains its secret text.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedKey {
    pub id: String,
    #[serde(with = "secret")]
    pub key: SecretText,
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStatus {
    pub id: String,
    /// "*" means all plugins.
    pub plugin: String,
    pub tenant: String,
    pub environment: KeyEnvironment,
    /// Empty means unrestricted.
    pub scopes: Vec<String>,
    /// The host stores a sealed copy, which signs webhooks if the interface signs with API keys.
    pub signs: bool,
    /// "api-key" or "token".
    #[serde(default = "api_key")]
    pub kind: String,
    /// Label from the plugin that issued it. `None` if an operator created it.
    #[serde(default)]
    pub label: Option<String>,
    /// Attributes from the plugin that issued it.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
    pub owner: String,
    pub created_at: TimestampText,
    pub expires_at: Option<TimestampText>,
    pub last_used_at: Option<TimestampText>,
    pub revoked_at: Option<TimestampText>,
}

fn api_key() -> String {
    "api-key".to_owned()
}

/// Sums of all balances. Each must be zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerReport {
    pub balanced: bool,
    pub sums: Vec<LedgerSum>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerSum {
    pub plugin: String,
    pub tenant: String,
    pub asset: String,
    /// Minor units as a decimal integer. The value may exceed the range of JSON numbers.
    pub sum: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationReport {
    /// Id of the current master key.
    pub key: String,
    pub sealed_again: usize,
    pub current: usize,
    /// Names of secrets that no master key of the host can unseal.
    pub left: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    pub ready: bool,
    /// Reasons why the host is not ready.
    pub reasons: Vec<String>,
}

/// Body of every response whose status is not 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Stable error code for programs.
    pub error: String,
    /// A sentence about the cause.
    pub message: String,
    /// Advice about what to do next. May be empty.
    pub hint: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}
