//! What a plugin says of itself (`describe`): a JSON text whose schema is published as `docs/manifest.schema.json`.
//!
//! Owns the wire form of the manifest. A member that the host does not know is refused by name, so that a plugin never
//! believes in something that the host ignores.

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
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// Build of the component, for people: the Cargo profile ("plugin-release").
    #[serde(default)]
    pub build: String,
    #[serde(default)]
    pub authentication: Authentication,
    pub routes: Vec<Route>,
    /// The version of the data that this plugin writes; rows carry it.
    #[serde(default = "one")]
    pub data_version: u32,
    /// The oldest data version that it can read; absent: its own only.
    #[serde(default)]
    pub reads_data_from: Option<u32>,
    #[serde(default)]
    pub collections: Vec<Collection>,
    #[serde(default)]
    pub event_types: Vec<EventType>,
    /// What it may schedule, and what effects and failed requests may come back as.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// What surrounds the payload of every event: a JSON value in which the strings "{event-id}", "{event-type}",
    /// "{subject}", "{time}", "{time-ms}", "{tenant}", "{organization}", "{environment}" and "{payload}" (exactly once) are
    /// replaced. Absent: events leave as the payload alone.
    #[serde(default)]
    pub envelope: Option<serde_json::Value>,
    /// JSON Schema of the plugin's table `settings` in plugins.toml. Settings that do not fit it are refused when the
    /// plugin is loaded, and by `tenon config check`. Absent: the host does not check them.
    #[serde(default)]
    pub settings: Option<serde_json::Value>,
    /// By the name of the failure ("unauthenticated", "not-found", …).
    #[serde(default)]
    pub failures: BTreeMap<String, FailureWording>,
    /// An OpenAPI 3.1 document, served at /openapi/{plugin}.json.
    #[serde(default)]
    pub openapi: Option<serde_json::Value>,
}

fn one() -> u32 {
    1
}

/// Who may call, and where an API key may stand. `Authorization: Bearer` is always accepted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Authentication {
    /// Access tokens of OAuth 2.0, of clients that operators made for this plugin and of issuers that they named.
    #[serde(default)]
    pub oauth: bool,
    /// API keys; false: tokens only.
    #[serde(default = "yes")]
    pub api_keys: bool,
    /// Tokens that the plugin itself hands out, wherever a key may stand; false: in the paths of `key-parameter` routes alone.
    #[serde(default)]
    pub tokens: bool,
    /// `Authorization: Basic` with the key as user name and an empty password.
    #[serde(default)]
    pub basic_user: bool,
    /// A header that carries the bare key, in lower case: "x-api-key".
    #[serde(default)]
    pub header: Option<String>,
    /// A query parameter that carries the bare key: "api_key". It is removed before the plugin sees the query.
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
    /// GET, POST, PUT, PATCH or DELETE. HEAD follows GET; OPTIONS is the host's.
    pub method: String,
    /// Begins with "/"; `{name}` is one segment. The version is its first segment: "/v1/orders/{id}".
    pub path: String,
    /// No key needed: the principal is anonymous and can change nothing.
    #[serde(default)]
    pub open: bool,
    /// The parameter of the path that carries a token which the plugin issued, for links that are opened without headers. Then
    /// a token there is all that counts: no key, and no other place. One that opens nothing is the failure "not-found". The
    /// plugin sees the id of the token in its place.
    #[serde(default)]
    pub key_parameter: Option<String>,
    /// All of them must be among the scopes of the key or token; a key without any scope may do everything, a token without
    /// any only what wants none.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Bytes; absent: the limit of the host.
    #[serde(default)]
    pub body_bytes_max: Option<u64>,
    /// Milliseconds from the first byte to the answer; absent: the limit of the plugin.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Request headers that the plugin wants to see, in lower case. Credentials never.
    #[serde(default)]
    pub headers: Vec<String>,
    /// Named values that the plugin wants: "base-url", "client-address", "idempotency-key".
    #[serde(default)]
    pub context: Vec<String>,
    /// Media types of bodies besides application/json; absent: only JSON (and an empty body).
    #[serde(default)]
    pub media_types: Vec<String>,
    /// The task that follows a request which ended in a fault (or whose outcome is not known): its key is made by the host,
    /// its payload says what was asked.
    #[serde(default)]
    pub on_fault: Option<String>,
    /// The same for a request that missed its deadline.
    #[serde(default)]
    pub on_deadline: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Task {
    /// Lower case letters, digits and hyphens: "expire-order".
    pub name: String,
    /// Milliseconds of one run, questions included; absent: the limit of the plugin.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Milliseconds between runs that end in a fault: one run more than there are delays, the last of them marked as such.
    /// Absent: those of the host. What the operator says in `tasks.delays-ms` comes before either.
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
    /// At most one record of a tenant for each combination of values; records where one is null or absent do not count.
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
    /// In place of the envelope of the plugin.
    #[serde(default)]
    pub envelope: Option<serde_json::Value>,
}

/// How an interface words a failure of the host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FailureWording {
    pub status: u16,
    /// Header name to value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON; "{request-id}" within a text is replaced by the id of the request.
    pub body: serde_json::Value,
}
