//! A webhook endpoint: its ids, the address that events of a tenant are delivered to, and their signatures. `Endpoint`
//! is the body of a record of `host_collections::ENDPOINTS`.
//!
//! Plain values without secrets. The signing secret is derived from the host's own root (`secrets::webhook`) and from
//! `key`, so that no sealed secret is stored for each endpoint. A signature may instead use an API key of the tenant
//! (`auth::keys`).

use std::{fmt, num::ParseIntError, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{credential::Attribute, scope::Scope};
use crate::{clock::Timestamp, secrets::Signer};

/// The id of an endpoint, which the plugin chooses. Unique within a plugin and a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndpointId(Arc<str>);

impl EndpointId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for EndpointId {
    fn from(id: &str) -> EndpointId {
        EndpointId(id.into())
    }
}

impl From<Arc<str>> for EndpointId {
    fn from(id: Arc<str>) -> EndpointId {
        EndpointId(id)
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of an endpoint queue: the ordered deliveries of one endpoint (`migrations/0002_deliveries.sql`). An
/// endpoint that is removed and created again has another queue. No queue has the number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub i64);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for QueueId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<QueueId, ParseIntError> {
        text.parse().map(QueueId)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Endpoint {
    pub url: String,
    /// Empty means all types.
    pub event_types: Vec<String>,
    /// Empty means all subjects of the tenant.
    pub subjects: Vec<String>,
    /// Set by the plugin. While it is false, the deliveries of the endpoint wait.
    pub enabled: bool,
    pub signatures: Vec<Signature>,
    /// Data of the plugin: stored and returned, never read by the host.
    pub note: Box<RawValue>,
    pub key: SigningKey,
    /// Set by the host because the endpoint failed for too long or responded with 410. A `put` of the plugin clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
}

/// A signature header of the interface, in addition to those of Standard Webhooks: `prefix` and the hex HMAC of the
/// exact body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Signature {
    pub header: String,
    pub prefix: String,
    pub algorithm: Algorithm,
    #[serde(default)]
    pub key: SignatureKey,
}

/// Selects the text that keys the HMAC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum SignatureKey {
    /// The endpoint's own secret.
    #[default]
    Endpoint,
    /// The oldest valid API key of the tenant that operators created for signing.
    ApiKey,
    /// The newest valid key with this attribute that the plugin issued for signing.
    Issued(Attribute),
}

impl From<SignatureKey> for String {
    /// Returns the name in the contract.
    fn from(key: SignatureKey) -> String {
        match key {
            SignatureKey::Endpoint => "endpoint".to_owned(),
            SignatureKey::ApiKey => "api-key".to_owned(),
            SignatureKey::Issued(attribute) => format!("api-key:{attribute}"),
        }
    }
}

impl TryFrom<String> for SignatureKey {
    type Error = String;

    fn try_from(text: String) -> Result<SignatureKey, String> {
        match text.as_str() {
            "endpoint" => Ok(SignatureKey::Endpoint),
            "api-key" => Ok(SignatureKey::ApiKey),
            other => match other.strip_prefix("api-key:") {
                Some(attribute) => Attribute::parse(attribute).map(SignatureKey::Issued),
                None => Err(format!("there is no signature key {other:.40?}")),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    HmacSha256,
    HmacSha512,
}

/// Identifies the signing secret, which the host derives from its root, `nonce` and `number`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SigningKey {
    /// Hex nonce of the call that created the endpoint, so that an endpoint created again under the same id has another
    /// secret.
    pub nonce: String,
    /// Counts rotations from 1.
    pub number: u32,
    /// Until this time, the previous secret signs as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}

impl SigningKey {
    /// Identifies the secrets of the endpoint that has this key.
    pub fn signer<'a>(&'a self, scope: &'a Scope, endpoint: &'a str) -> Signer<'a> {
        Signer {
            plugin: scope.plugin(),
            tenant: scope.tenant(),
            endpoint,
            nonce: &self.nonce,
            number: self.number,
            previous_until: self.previous_until,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Disabled {
    pub at: Timestamp,
    /// For the tenant: "all attempts have failed for 120 hours", "the endpoint responded with 410 Gone".
    pub reason: String,
}

impl Endpoint {
    /// Parses the body of a record.
    pub fn parse(body: &str) -> Result<Endpoint, serde_json::Error> {
        serde_json::from_str(body)
    }

    pub fn is_active(&self) -> bool {
        self.enabled && self.disabled.is_none()
    }

    /// Returns true if events of this type and subject are delivered to the endpoint.
    pub fn subscribes_to(&self, event_type: &str, subject: &str) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        has(&self.event_types, event_type) && has(&self.subjects, subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_key_round_trips_through_its_text() {
        for text in ["endpoint", "api-key", "api-key:room=7", "api-key:room=a=b"] {
            let key = SignatureKey::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(key.clone()), text);
            let stored = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<SignatureKey>(&stored).unwrap(), key);
        }
        for wrong in ["", "api-key:", "api-key:room", "api-key:=7", "key"] {
            assert!(SignatureKey::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
