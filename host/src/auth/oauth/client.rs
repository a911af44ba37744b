//! An OAuth client: its tenant, its scopes, and how it authenticates.
//!
//! Invariants: only the hash of a secret is stored, as for API keys. A client has a secret or public keys, never both.

use std::{fmt, sync::Arc};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::KeySet;
use crate::auth::{Environment, Principal, PrincipalKind, key::hash_text};
use crate::clock::Timestamp;

/// A client as stored in the database.
#[derive(Clone)]
pub struct ClientRow {
    /// "client_…"
    pub id: Arc<str>,
    pub plugin: Arc<str>,
    /// Organization without the environment.
    pub organization: Arc<str>,
    pub environment: Environment,
    /// Scopes that its tokens may have.
    pub scopes: Vec<String>,
    pub proof: ClientProof,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// How a client authenticates.
#[derive(Clone)]
pub enum ClientProof {
    Secret {
        /// SHA-256 of the secret.
        hash: [u8; 32],
        /// SHA-256 of the secret before the last rotation, and when that secret expires.
        previous: Option<([u8; 32], Timestamp)>,
    },
    /// The text of a JWKS and its keys.
    Keys(Arc<str>, KeySet),
}

/// The hash of a secret, and that of the previous secret with its expiry time.
pub type SecretHashes = ([u8; 32], Option<([u8; 32], Timestamp)>);

/// An operator's request for a new client.
#[derive(Clone, Debug)]
pub struct NewClient {
    pub plugin: String,
    pub organization: String,
    pub environment: Environment,
    pub scopes: Vec<String>,
    /// Public keys (a JWKS) of a client that signs assertions. Without them the client gets a secret.
    pub jwks: Option<String>,
    /// The operator, for the operators' journal.
    pub operator: Option<String>,
}

/// A new client with its secret, which is returned only here.
pub struct CreatedClient {
    pub row: Arc<ClientRow>,
    pub secret: Option<Zeroizing<String>>,
}

impl ClientRow {
    /// Returns the tenant: the organization and environment, "acme/test".
    pub fn tenant(&self) -> String {
        format!("{}/{}", self.organization, self.environment.name())
    }

    /// Returns the audience of its tokens: the plugin and organization, "notes/acme".
    pub fn audience(&self) -> String {
        format!("{}/{}", self.plugin, self.organization)
    }

    /// Builds the authentication from stored values: a secret or the text of a JWKS. Returns `None` if both are absent,
    /// or if the JWKS is invalid.
    pub fn proof(secret: Option<SecretHashes>, jwks: Option<&str>) -> Option<ClientProof> {
        match (secret, jwks) {
            (Some((hash, previous)), _) => Some(ClientProof::Secret { hash, previous }),
            (None, Some(text)) => Some(ClientProof::Keys(text.into(), KeySet::parse(text).ok()?)),
            (None, None) => None,
        }
    }

    pub fn secrets(&self) -> Option<SecretHashes> {
        match self.proof {
            ClientProof::Secret { hash, previous } => Some((hash, previous)),
            ClientProof::Keys(..) => None,
        }
    }

    pub fn jwks(&self) -> Option<&Arc<str>> {
        match &self.proof {
            ClientProof::Keys(text, _) => Some(text),
            ClientProof::Secret { .. } => None,
        }
    }

    pub(super) fn principal(&self, scopes: Vec<String>) -> Principal {
        Principal {
            tenant: self.tenant().into(),
            environment: self.environment.name(),
            kind: PrincipalKind::OAuthClient,
            subject: Arc::clone(&self.id),
            owner: Arc::clone(&self.id),
            scopes,
            attributes: Vec::new(),
        }
    }
}

/// A hash without a known preimage.
const NO_HASH: [u8; 32] = [0; 32];

/// Returns true if `text` is a valid secret of the client. Takes constant time, so that neither the position of a
/// difference nor the existence of the client can be measured.
pub(super) fn has_secret(client: Option<&ClientRow>, text: &str, now: Timestamp) -> bool {
    let hash = hash_text(text);
    let (current, previous) = client.and_then(ClientRow::secrets).unwrap_or((NO_HASH, None));
    let previous = previous.filter(|(_, until)| now < *until).map_or(NO_HASH, |(hash, _)| hash);
    (hash.ct_eq(&current) | hash.ct_eq(&previous)).into()
}

impl fmt::Debug for ClientRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientRow").field("id", &self.id).field("plugin", &self.plugin).finish_non_exhaustive()
    }
}
