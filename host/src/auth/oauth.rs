//! OAuth 2.0: the host issues access tokens (client credentials, RFC 6749 4.4) and accepts them (RFC 9068, 6750).
//!
//! - `clients`: all clients; `client`: one of them. `assertion`: authentication of a client by signature.
//! - `grant`: one request at the token endpoint. `tokens`: validation of a token for one plugin.
//! - `own_keys`: the host's own keys; `signing`: one of them. `jws`, `jwk`: parsing of tokens and public keys.
//! - `issuers`: external issuers and their keys. `store`: the database interface.
//!
//! Tokens, secrets and assertions are never logged. Invariants: all clients are in memory and only this process changes
//! them, so a revoked client and its tokens are rejected at once. The algorithm comes from the key, never from the
//! token alone.

use std::sync::Arc;

use serde_json::{Value, json};

mod assertion;
mod client;
mod clients;
mod grant;
mod issuers;
mod jwk;
mod jws;
mod own_keys;
mod signing;
mod store;
mod tokens;

pub use client::{ClientRow, CreatedClient, NewClient};
pub use grant::{GrantError, IssuedToken, Proof, TokenRequest};
pub use issuers::{Issuer, KeySource};
pub use jwk::KeySet;
pub use jws::Algorithm;
pub use store::OAuthStore;

use super::{AuthAdminError, CredentialError, Principal, store::StoreError};
use crate::clock::Timestamp;
use crate::outbound::Client;

/// Path of the token endpoint, below the issuer.
pub const TOKEN_PATH: &str = "/oauth2/token";
pub const JWKS_PATH: &str = "/oauth2/jwks.json";
pub const METADATA_PATH: &str = "/.well-known/oauth-authorization-server";

/// Settings of the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// "https://api.example.com". `None` if the host issues no tokens.
    pub issuer: Option<String>,
    pub algorithm: Algorithm,
    pub token_ms: u64,
    /// External issuers whose tokens are accepted.
    pub issuers: Vec<Issuer>,
}

/// The authorization server, and the validation of access tokens.
pub struct OAuth {
    settings: Settings,
    store: Arc<dyn OAuthStore>,
    clients: clients::Clients,
    own_keys: own_keys::OwnKeys,
    issuers: issuers::Issuers,
    verified: tokens::Verified,
}

/// Why [`OAuth::open`] or a rotation of the token keys failed. Requests about clients fail with [`AuthAdminError`].
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("a token key {0}")]
    Key(&'static str),
    #[error("there are already {max} token keys that verify", max = crate::limits::OWN_KEYS_MAX)]
    Keys,
    #[error("the token keys cannot be opened: {0}")]
    Sealed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of a rotation of the token keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRotation {
    /// The key that signs from now on.
    pub key: String,
    pub algorithm: Algorithm,
    /// Keys that signed before. They verify until their last token has expired.
    pub previous: Vec<String>,
}

impl OAuth {
    /// Loads clients and keys. If the host issues tokens, creates a key if there is none or if the operator has chosen
    /// another algorithm.
    pub async fn open(
        settings: Settings,
        store: Arc<dyn OAuthStore>,
        outbound: Arc<Client>,
        now: Timestamp,
    ) -> Result<OAuth, OAuthError> {
        let clients = clients::Clients::load(store.as_ref()).await?;
        let own_keys = own_keys::OwnKeys::open(store.as_ref(), &settings, now).await?;
        let issuers = issuers::Issuers::new(settings.issuers.clone(), outbound);
        Ok(OAuth { settings, store, clients, own_keys, issuers, verified: tokens::Verified::default() })
    }

    /// Returns the issuer, or `None` if the host issues no tokens.
    pub fn issuer(&self) -> Option<&str> {
        self.settings.issuer.as_deref()
    }

    /// Creates a client.
    ///
    /// # Errors
    /// The request is invalid.
    pub async fn create_client(&self, new: NewClient, now: Timestamp) -> Result<CreatedClient, AuthAdminError> {
        self.clients.create(self.store.as_ref(), new, now).await
    }

    /// Returns all clients, oldest first, including revoked ones.
    pub fn clients(&self) -> Vec<Arc<ClientRow>> {
        self.clients.list()
    }

    /// Creates a new secret of a client. The previous secret stays valid for `CLIENT_SECRET_OVERLAP_MS`.
    ///
    /// Returns `None` if no client with this id has a secret and is not revoked. `operator` is recorded in the
    /// operators' journal.
    pub async fn rotate_client(
        &self,
        id: &str,
        now: Timestamp,
        operator: Option<&str>,
    ) -> Result<Option<CreatedClient>, AuthAdminError> {
        self.clients.rotate(self.store.as_ref(), id, (now, operator)).await
    }

    /// Revokes a client and its tokens. Returns `None` if there is no such client.
    pub async fn revoke_client(
        &self,
        id: &str,
        now: Timestamp,
        operator: Option<&str>,
    ) -> Result<Option<Arc<ClientRow>>, AuthAdminError> {
        self.clients.revoke(self.store.as_ref(), id, (now, operator)).await
    }

    /// Creates a new token key, which signs from now on.
    pub async fn rotate_keys(&self, now: Timestamp, operator: Option<&str>) -> Result<KeyRotation, OAuthError> {
        self.own_keys.rotate(self.store.as_ref(), &self.settings, (now, operator)).await
    }

    /// Returns the public keys (RFC 7517).
    pub fn jwks(&self, now: Timestamp) -> Value {
        json!({ "keys": self.own_keys.jwks(now) })
    }

    /// Returns the metadata of the authorization server (RFC 8414), or `None` if the host issues no tokens.
    pub fn metadata(&self, scopes: &[&str]) -> Option<Value> {
        let issuer = self.issuer()?;
        Some(json!({
            "issuer": issuer,
            "token_endpoint": format!("{issuer}{TOKEN_PATH}"),
            "jwks_uri": format!("{issuer}{JWKS_PATH}"),
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": [],
            "scopes_supported": scopes,
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": Algorithm::ALL.map(Algorithm::name),
        }))
    }

    /// Returns true if a credential has the form of a signed token. An API key contains no dots.
    pub fn is_token(text: &str) -> bool {
        text.contains('.')
    }
}

#[cfg(test)]
pub(crate) mod tests;
