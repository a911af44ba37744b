//! JSON types of OAuth clients and of the keys that sign access tokens.

use serde::{Deserialize, Serialize};

use super::{KeyEnvironment, TimestampText, secret};
use crate::secrets::SecretText;

/// Request to create an OAuth client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewClient {
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    /// `None` selects all scopes that the routes of the plugin require now.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// Public keys of a client that authenticates with signed assertions instead of a secret.
    #[serde(default)]
    pub jwks: Option<serde_json::Value>,
}

/// A created client. Only this response contains its secret.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedClient {
    pub client_id: String,
    /// `None` if the client authenticates with signed assertions.
    #[serde(default, with = "secret::optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretText>,
    pub scopes: Vec<String>,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    pub client_id: String,
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub scopes: Vec<String>,
    /// "secret" or "keys".
    pub authentication: String,
    /// Expiry of the secret that the last rotation replaced.
    pub previous_secret_until: Option<TimestampText>,
    pub created_at: TimestampText,
    pub revoked_at: Option<TimestampText>,
}

/// Result of a rotation of the token keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKeysReport {
    /// Id of the current signing key.
    pub key: String,
    pub algorithm: String,
    /// Ids of previous keys, which verify until their last token expires.
    pub previous: Vec<String>,
}
