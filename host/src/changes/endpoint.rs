//! An endpoint of webhooks: where events of a tenant are delivered to, and how they are signed. The body of a record of
//! `host_collections::ENDPOINTS`.
//!
//! A plain value. Holds no secret: what it signs with is derived from the host's own root (`secrets::webhook`) and from
//! `key` here, so that nothing sealed has to be kept for each endpoint; or it is an API key of the tenant's (`auth::keys`).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{credential::Attribute, scope::Scope};
use crate::{clock::Timestamp, secrets::Signer};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Endpoint {
    pub url: String,
    /// Empty: all types.
    pub event_types: Vec<String>,
    /// Empty: all subjects of the tenant.
    pub subjects: Vec<String>,
    /// By the plugin. What is not enabled keeps its deliveries until it is.
    pub enabled: bool,
    pub signatures: Vec<Signature>,
    /// The plugin's own: kept and given back, never read by the host.
    pub note: Box<RawValue>,
    pub key: SigningKey,
    /// By the host: it failed for too long, or said that it is gone. A `put` of the plugin ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
}

/// A header of the interface's own, besides those of Standard Webhooks: `prefix` and the hex HMAC of the exact body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Signature {
    pub header: String,
    pub prefix: String,
    pub algorithm: Algorithm,
    #[serde(default)]
    pub key: SignatureKey,
}

/// What the HMAC is keyed with: the text of …
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum SignatureKey {
    /// … the endpoint's own secret.
    #[default]
    Endpoint,
    /// … the oldest valid API key of the tenant's that operators made to sign.
    ApiKey,
    /// … the newest valid key that the plugin issued to sign, with this attribute.
    Issued(Attribute),
}

impl From<SignatureKey> for String {
    /// As the contract spells it.
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

/// Which secret signs: the host derives it from its root, `nonce` and `number`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SigningKey {
    /// Hex; of the call that made the endpoint, so that one made again under the same id has another secret.
    pub nonce: String,
    /// Counts rotations from 1.
    pub number: u32,
    /// Until then the secret before this one signs as well.
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
    /// For the tenant: "failed for 5 days", "answered 410".
    pub reason: String,
}

impl Endpoint {
    /// From the body of its record.
    pub fn parse(body: &str) -> Result<Endpoint, serde_json::Error> {
        serde_json::from_str(body)
    }

    pub fn is_active(&self) -> bool {
        self.enabled && self.disabled.is_none()
    }

    /// Whether an event of this type, about this subject, is delivered to it.
    pub fn wants(&self, event_type: &str, subject: &str) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        has(&self.event_types, event_type) && has(&self.subjects, subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_signature_is_keyed_with_is_written_as_it_is_read() {
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
