//! JSON types of plugins: status, routes, swaps, checks, compilations.

use serde::{Deserialize, Serialize};

use super::TimestampText;

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
    /// No version serves. `reasons` has the causes.
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

/// A route of the version that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteStatus {
    /// Unique within the plugin: "create-order".
    pub operation: String,
    pub method: String,
    /// Path with the mount of the plugin: "/notes/v1/notes/{id}".
    pub path: String,
    /// True if it requires no key.
    pub open: bool,
    /// The path parameter that carries a token. `None` if the key is in a header.
    pub key_parameter: Option<String>,
    /// Scopes that the key or token must have.
    pub scopes: Vec<String>,
    /// Deadline of a call in milliseconds. The route declares it, or else the limit of the plugin applies.
    pub deadline_ms: u64,
}

/// A stored component that a rollback can publish, or that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    /// Hex SHA-256 of the component.
    pub hash: String,
    /// `None` if the host that published it did not record it.
    pub version: Option<String>,
    pub serving: bool,
    /// The last publication. `None` if retention has deleted its line.
    pub published: Option<Publication>,
    /// The change that replaced it. `None` if it was published last.
    pub ended: Option<Publication>,
}

/// The time, author and kind of a published change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub at: TimestampText,
    /// Name of the operator, "file watch", "plugins.toml", or "host".
    #[serde(rename = "who")]
    pub operator: String,
    /// "deploy", "file", "rollback", …
    pub action: String,
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
    /// Hex SHA-256 of the component. Empty if the component cannot be read.
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
