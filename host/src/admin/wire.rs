//! The JSON of the operators' listener, read by `tenon` and by programs of operators. Converted by hand from and to what
//! the rooms use, so that neither hinders the other.

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

pub use audit::{AuditLine, ChainFlaw, ChainStatus, FlawSort};
pub use backups::{BackupReport, BackupState, BackupStatus, NewBackup, RestoreReport};
pub use chains::{
    AssetStatus, Balance, BalanceReport, Control, ControlReport, FaultStatus, MovementStatus, NetworkControl,
    NetworkSide, NetworkStatus, Silence, TransactionStatus,
};
pub use clients::{ClientStatus, CreatedClient, NewClient, TokenKeysReport};
pub use outbox::OutboxMessage;
pub use profile::{FunctionStatus, ProfileEnd, ProfileReport};
pub use seeds::{SeedCopy, SeedName, SeedReport};
pub use tasks::{CallStatus, TaskName, TaskReport, TaskSort, TaskStatus};
pub use webhooks::{
    AttemptStatus, DeliveryStatus, DisabledStatus, EndpointName, EndpointStatus, LiveStatus, Page, Recover, Redeliver,
    ResendReport,
};

use crate::clock::Timestamp;
use crate::secrets::SecretText;

/// A point in time: milliseconds here, "2026-01-02T03:04:05.678Z" in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl std::fmt::Display for Moment {
    /// Always three digits of a second, so that columns of them line up.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(milliseconds) {
            Ok(moment) => write!(out, "{moment:.3}"),
            // Beyond the calendar: what is written must be readable again.
            Err(_) => write!(out, "{:.3}", jiff::Timestamp::MAX),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Moment(u64::try_from(moment.as_millisecond()).unwrap_or_default()))
    }
}

/// A plugin of plugins.toml and what serves its requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginStatus {
    pub name: String,
    pub mount: String,
    pub state: PluginState,
    /// Why it does not serve, or why the last swap was refused; empty where all is well.
    pub reasons: Vec<String>,
    /// What serves now; `None` where nothing does.
    pub serving: Option<ServingStatus>,
    /// What a rollback would publish, ready in memory.
    pub parked: Option<VersionStatus>,
    /// Where nothing is parked: hex SHA-256 of what a rollback would load from the data folder.
    pub kept: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginState {
    /// Answers requests.
    Serving,
    /// Answers requests on the new generation, while calls still run on the old one.
    Draining,
    /// A new generation is being prepared; the old one, if there is one, serves.
    Preparing,
    /// Nothing serves: it was never published.
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingStatus {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub hash: String,
    /// Build profile of the component, by its manifest: "plugin-release"; empty if the manifest has none.
    #[serde(default)]
    pub build: String,
    pub generation: u64,
    pub since: Moment,
    pub in_flight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionStatus {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub hash: String,
}

/// A swap that was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapReport {
    pub plugin: String,
    pub from: Option<VersionStatus>,
    pub to: VersionStatus,
    pub generation: u64,
    /// Differences that an operator should know of.
    pub notes: Vec<String>,
    pub steps: Vec<StepTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// "settle", "inspect", "compile", …
    pub step: String,
    pub microseconds: u64,
}

/// What `tenon plugin check` found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    pub plugin: String,
    /// Whether it would be published.
    pub passed: bool,
    /// Hex SHA-256 of the component.
    pub hash: String,
    /// `None` where it never came to say it.
    pub version: Option<String>,
    /// Why it would be refused.
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
    pub steps: Vec<StepTime>,
}

/// A component that `tenon plugin compile` prepared for the next start.
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

/// Place of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileSource {
    /// The file that plugins.toml names.
    File,
    /// The data folder: it was published last.
    Published,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileOutcome {
    Compiled,
    /// Compiled code of it was there already.
    Cached,
    /// It would not be published.
    Refused,
}

/// One line of the operators' journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    pub at: Moment,
    pub who: String,
    pub plugin: String,
    /// "deploy", "rollback", "remove", "redeliver", …
    pub action: String,
    /// Hex SHA-256 of the components.
    pub from: Option<String>,
    pub to: Option<String>,
    /// "published" or "refused" for swaps, else "done".
    pub outcome: String,
    /// Why not; or what it was done to.
    pub reasons: Vec<String>,
    pub steps: Vec<StepTime>,
}

/// A key to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Also scopes that no route of the plugin asks for (yet).
    #[serde(default)]
    pub allow_unknown_scopes: bool,
    /// Id of a key that this one is to follow; both open the same until one is revoked.
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub expires_in_days: Option<u32>,
    /// Whether webhooks may be signed with it; a sealed copy is kept.
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

/// The only time that the key is shown.
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
    /// "*": all plugins.
    pub plugin: String,
    pub tenant: String,
    pub environment: KeyEnvironment,
    /// None: it may do everything.
    pub scopes: Vec<String>,
    /// A sealed copy of it is kept, and signs webhooks where the interface says so.
    pub signs: bool,
    /// "api-key" or "token".
    #[serde(default = "api_key")]
    pub kind: String,
    /// What the plugin calls it that handed it out; none: an operator made it.
    #[serde(default)]
    pub label: Option<String>,
    /// What that plugin attached to it.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
    pub owner: String,
    pub created_at: Moment,
    pub expires_at: Option<Moment>,
    pub last_used_at: Option<Moment>,
    pub revoked_at: Option<Moment>,
}

fn api_key() -> String {
    "api-key".to_owned()
}

/// Sums of all balances; each must be zero.
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
    /// Whole minor units in decimal: it may be larger than a number of JSON.
    pub sum: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationReport {
    /// Id of the master key that seals now.
    pub key: String,
    pub sealed_again: usize,
    pub current: usize,
    /// Names of secrets that no key of the host opens.
    pub left: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

/// Every answer that is not a 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable, for programs.
    pub error: String,
    /// What happened, in a sentence.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}
