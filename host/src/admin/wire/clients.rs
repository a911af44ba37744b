//! Clients of OAuth, and the keys that sign their tokens.

use serde::{Deserialize, Serialize};

use super::{KeyEnvironment, Moment, secret};
use crate::secrets::SecretText;

/// A client to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewClient {
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    /// Absent: all that the routes of the plugin ask for now.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// Its public keys; it then signs, and has no secret.
    #[serde(default)]
    pub jwks: Option<serde_json::Value>,
}

/// The only time that the secret is shown.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedClient {
    pub client_id: String,
    /// Of a client that signs, none.
    #[serde(default, with = "secret::optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretText>,
    pub scopes: Vec<String>,
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    pub client_id: String,
    pub plugin: String,
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub scopes: Vec<String>,
    /// "secret" or "keys".
    pub authentication: String,
    /// Until when the secret before the last rotation is good.
    pub previous_secret_until: Option<Moment>,
    pub created_at: Moment,
    pub revoked_at: Option<Moment>,
}

/// What a rotation of the keys left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKeysReport {
    /// Id of the key that signs from now on.
    pub key: String,
    pub algorithm: String,
    /// Ids of those that verify until their last token has ended.
    pub previous: Vec<String>,
}
