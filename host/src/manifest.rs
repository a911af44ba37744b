//! The manifest of a plugin (`describe`): a JSON document whose schema is published as `docs/manifest.schema.json`.
//!
//! Owns the JSON form of the manifest. An unknown member is rejected by name, so that no plugin relies on a member that
//! the host ignores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    /// The contract that the plugin was written against: "0.1".
    pub contract: String,
    /// Lower case letters, digits and hyphens; must equal the name in plugins.toml.
    pub name: String,
    /// Semantic version of the plugin.
    pub version: String,
    /// Display name, in one line.
    #[serde(default)]
    pub title: String,
    /// Build of the component, for display: the Cargo profile ("plugin-release").
    #[serde(default)]
    pub build: String,
    #[serde(default)]
    pub authentication: Authentication,
    pub routes: Vec<Route>,
    /// The version of the data that this plugin writes. Each row stores it.
    #[serde(default = "one")]
    pub data_version: u32,
    /// The oldest data version that the plugin can read. Absent: only `data-version`.
    #[serde(default)]
    pub reads_data_from: Option<u32>,
    #[serde(default)]
    pub collections: Vec<Collection>,
    #[serde(default)]
    pub event_types: Vec<EventType>,
    /// Tasks that the plugin may schedule, and tasks that receive the outcome of effects and of failed requests.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// Envelope of the payload of every event: a JSON value in which the strings "{event-id}", "{event-type}",
    /// "{subject}", "{time}", "{time-ms}", "{tenant}", "{organization}", "{environment}" and "{payload}" (exactly once)
    /// are replaced. Absent: events consist of the payload alone.
    #[serde(default)]
    pub envelope: Option<serde_json::Value>,
    /// JSON Schema of the plugin's table `settings` in plugins.toml. Settings that do not match it are rejected when
    /// the plugin is loaded, and by `tenon config check`. Absent: the host does not check them.
    #[serde(default)]
    pub settings: Option<serde_json::Value>,
    /// Error templates by the name of the failure ("unauthenticated", "not-found", …).
    #[serde(default)]
    pub failures: BTreeMap<String, ErrorTemplate>,
    /// An OpenAPI 3.1 document, served at /openapi/{plugin}.json.
    #[serde(default)]
    pub openapi: Option<serde_json::Value>,
}

fn one() -> u32 {
    1
}

/// Credentials that the plugin accepts, and where a request may carry them. `Authorization: Bearer` is always accepted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Authentication {
    /// OAuth 2.0 access tokens, of clients that operators created for this plugin and of issuers that they configured.
    #[serde(default)]
    pub oauth: bool,
    /// API keys. False: only tokens.
    #[serde(default = "yes")]
    pub api_keys: bool,
    /// Tokens that the plugin issues, wherever a request may carry a key. False: only in the paths of `key-parameter`
    /// routes.
    #[serde(default)]
    pub tokens: bool,
    /// `Authorization: Basic` with the key as user name and an empty password.
    #[serde(default)]
    pub basic_user: bool,
    /// A header that carries the bare key, in lower case: "x-api-key".
    #[serde(default)]
    pub header: Option<String>,
    /// A query parameter that carries the bare key: "api_key". The plugin does not receive it.
    #[serde(default)]
    pub query: Option<String>,
}

impl Default for Authentication {
    fn default() -> Authentication {
        Authentication { oauth: false, api_keys: true, tokens: false, basic_user: false, header: None, query: None }
    }
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// Unique within the plugin: "create-order".
    pub operation: String,
    /// GET, POST, PUT, PATCH or DELETE. HEAD requests are routed as GET; the host answers OPTIONS.
    pub method: String,
    /// Begins with "/"; `{name}` is one segment. A version, if the interface has one, is its first segment:
    /// "/v1/orders/{id}".
    pub path: String,
    /// Requires no key: the principal is anonymous and can change nothing.
    #[serde(default)]
    pub open: bool,
    /// The path parameter that carries a token which the plugin issued, for links that are opened without headers. Such
    /// a route accepts no other credential. An invalid token is the failure "not-found". The plugin receives the id of
    /// the token as the value of the parameter.
    #[serde(default)]
    pub key_parameter: Option<String>,
    /// Scopes that the key or token must have. A key without scopes has all of them; a token without scopes has none.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Limit of the body in bytes. Absent: the limit of the host.
    #[serde(default)]
    pub body_bytes_max: Option<u64>,
    /// Milliseconds from the first byte to the answer. Absent: the limit of the plugin.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Request headers that the plugin receives, in lower case. Headers with credentials are not allowed.
    #[serde(default)]
    pub headers: Vec<String>,
    /// Context values that the plugin receives: "base-url", "client-address", "idempotency-key".
    #[serde(default)]
    pub context: Vec<String>,
    /// Media types of bodies besides application/json. Absent: only JSON (and an empty body).
    #[serde(default)]
    pub media_types: Vec<String>,
    /// The task that follows a request which ended in a fault, or whose outcome is not known. The host generates its
    /// key; its payload describes the request.
    #[serde(default)]
    pub on_fault: Option<String>,
    /// The task that follows a request which missed its deadline.
    #[serde(default)]
    pub on_deadline: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Task {
    /// Lower case letters, digits and hyphens: "expire-order".
    pub name: String,
    /// Deadline of one run in milliseconds, including questions. Absent: the limit of the plugin.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Milliseconds between runs that end in a fault. There is one run more than delays, and the last run is marked as
    /// such. Absent: the delays of the host. `tasks.delays-ms` in plugins.toml overrides both.
    #[serde(default)]
    pub delays_ms: Option<Vec<u64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Collection {
    /// Lower case letters, digits and hyphens.
    pub name: String,
    #[serde(default)]
    pub indexes: Vec<Index>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Index {
    pub name: String,
    /// Paths into the JSON ("status", "customer.id") or "@id", "@created-at", "@updated-at".
    pub fields: Vec<String>,
    /// At most one record of a tenant for each combination of values. Records with a null or absent value are not
    /// counted.
    #[serde(default)]
    pub unique: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EventType {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the payload.
    #[serde(default)]
    pub schema: Option<serde_json::Value>,
    /// Replaces the envelope of the plugin.
    #[serde(default)]
    pub envelope: Option<serde_json::Value>,
}

/// Response of an interface for a failure of the host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ErrorTemplate {
    pub status: u16,
    /// Headers, name to value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON body. "{request-id}" within a string is replaced by the id of the request.
    pub body: serde_json::Value,
}
