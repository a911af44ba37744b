//! One client: whose it is, what it may ask for, and how it proves itself.
//!
//! Invariant: of a secret only the hash is kept, as of API keys; a client has a secret or public keys, never both.

use std::{fmt, sync::Arc};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::KeySet;
use crate::auth::{Environment, Principal, PrincipalKind, key::hash_text};
use crate::clock::Timestamp;

/// As the database keeps it.
#[derive(Clone)]
pub struct ClientRow {
    /// "client_…"
    pub id: Arc<str>,
    pub plugin: Arc<str>,
    /// Without the environment.
    pub organization: Arc<str>,
    pub environment: Environment,
    /// What its tokens may say at most.
    pub scopes: Vec<String>,
    pub proof: ClientProof,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What it proves itself with.
#[derive(Clone)]
pub enum ClientProof {
    Secret {
        /// SHA-256 of the text.
        hash: [u8; 32],
        /// The one before the last rotation, and until when it is good.
        previous: Option<([u8; 32], Timestamp)>,
    },
    /// The text of a JWKS, and its keys.
    Keys(Arc<str>, KeySet),
}

/// The hash of a secret; that of the one before it, and until when that one is good.
pub type SecretHashes = ([u8; 32], Option<([u8; 32], Timestamp)>);

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct NewClient {
    pub plugin: String,
    pub organization: String,
    pub environment: Environment,
    pub scopes: Vec<String>,
    /// Its public keys (a JWKS), for a client that signs assertions; otherwise it gets a secret.
    pub jwks: Option<String>,
    /// The operator who makes it, for the operators' journal.
    pub operator: Option<String>,
}

/// The only time that the secret is seen.
pub struct CreatedClient {
    pub row: Arc<ClientRow>,
    pub secret: Option<Zeroizing<String>>,
}

impl ClientRow {
    /// "acme/test".
    pub fn tenant(&self) -> String {
        format!("{}/{}", self.organization, self.environment.name())
    }

    /// Who its tokens are for: the organization's side of the plugin, "notes/acme".
    pub fn audience(&self) -> String {
        format!("{}/{}", self.plugin, self.organization)
    }

    /// What is stored of its proof: a secret, or the text of a JWKS. `None` where there is neither.
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

/// No text is known that hashes to it.
const NO_HASH: [u8; 32] = [0; 32];

/// Whether it is the secret of the client, in a time that says nothing: neither where it differs, nor whether there is such
/// a client at all.
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
