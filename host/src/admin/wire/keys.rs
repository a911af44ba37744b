//! JSON types of API keys.

use serde::{Deserialize, Serialize};

use super::{TimestampText, secret};
use crate::secrets::SecretText;

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
    /// Id of the key that this key replaces, or of its owner. Both keys are valid until one is revoked or expires.
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
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    pub plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStatus {
    pub id: String,
    /// "*" means all plugins.
    pub plugin: String,
    /// The organization.
    pub tenant: String,
    pub environment: KeyEnvironment,
    /// Empty means unrestricted for an API key, and no scope at all for a token.
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
