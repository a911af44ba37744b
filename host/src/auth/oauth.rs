//! OAuth 2.0: the host gives out access tokens (client credentials, RFC 6749 4.4) and takes them (RFC 9068, 6750).
//!
//! - `clients`: who may ask for tokens; `client`: one of them. `assertion`: a client that proves itself with a signature.
//! - `grant`: one request at the token endpoint. `tokens`: what a token is worth, to one plugin.
//! - `own_keys`: the host's own keys; `signing`: one of them. `jws`, `jwk`: tokens and public keys, taken apart.
//! - `issuers`: tokens that others gave out. `store`: what is asked of the database.
//!
//! Never logs a token, a secret or an assertion. Invariants: all clients are in memory, and only this process changes them,
//! so a revoked one is refused from that moment on, its tokens included; an algorithm comes from the key, never from the
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
pub use grant::{GrantError, Granted, Proof, TokenRequest};
pub use issuers::{Issuer, KeySource};
pub use jwk::KeySet;
pub use jws::Algorithm;
pub use store::OAuthStore;

use super::{AuthError, Denied, Principal, store::StoreError};
use crate::clock::Timestamp;
use crate::{limits::TOKEN_LEEWAY_MS, outbound::Client};

/// Where tokens are asked for, below the issuer.
pub const TOKEN_PATH: &str = "/oauth2/token";
pub const JWKS_PATH: &str = "/oauth2/jwks.json";
pub const METADATA_PATH: &str = "/.well-known/oauth-authorization-server";

/// What an operator set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// "https://api.example.com"; `None`: the host gives out no tokens.
    pub issuer: Option<String>,
    pub algorithm: Algorithm,
    pub token_ms: u64,
    /// Whose tokens are taken besides.
    pub issuers: Vec<Issuer>,
}

/// The server of authorization, and who judges tokens.
pub struct OAuth {
    settings: Settings,
    store: Arc<dyn OAuthStore>,
    clients: clients::Clients,
    own_keys: own_keys::OwnKeys,
    issuers: issuers::Issuers,
    verified: tokens::Verified,
}

/// What can go wrong for an operator, besides [`AuthError`].
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("a key for tokens {0}")]
    Key(&'static str),
    #[error("{max} keys for tokens verify already", max = crate::limits::OWN_KEYS_MAX)]
    Keys,
    #[error("the keys for tokens cannot be opened: {0}")]
    Sealed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a rotation of the keys left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRotation {
    /// The key that signs from now on.
    pub key: String,
    pub algorithm: Algorithm,
    /// Those that signed before; they verify until their last token has ended.
    pub previous: Vec<String>,
}

impl OAuth {
    /// Loads clients and keys; makes the first key, or one of the algorithm that the operator chose since.
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

    /// `None`: the host gives out no tokens.
    pub fn issuer(&self) -> Option<&str> {
        self.settings.issuer.as_deref()
    }

    /// # Errors
    /// What is wrong with the request.
    pub async fn create_client(&self, new: NewClient, now: Timestamp) -> Result<CreatedClient, AuthError> {
        self.clients.create(self.store.as_ref(), new, now).await
    }

    /// All of them, oldest first, revoked ones included.
    pub fn clients(&self) -> Vec<Arc<ClientRow>> {
        self.clients.list()
    }

    /// Another secret; the one before is good for a while. `None`: no such client, or one that has no secret.
    /// `operator`: for the operators' journal, here and below.
    pub async fn rotate_client(
        &self,
        id: &str,
        now: Timestamp,
        operator: Option<&str>,
    ) -> Result<Option<CreatedClient>, AuthError> {
        self.clients.rotate(self.store.as_ref(), id, (now, operator)).await
    }

    /// From here on it gets no tokens, and those that it has open nothing. `None`: no such client.
    pub async fn revoke_client(
        &self,
        id: &str,
        now: Timestamp,
        operator: Option<&str>,
    ) -> Result<Option<Arc<ClientRow>>, AuthError> {
        self.clients.revoke(self.store.as_ref(), id, (now, operator)).await
    }

    /// Another key signs from now on.
    pub async fn rotate_keys(&self, now: Timestamp, operator: Option<&str>) -> Result<KeyRotation, OAuthError> {
        self.own_keys.rotate(self.store.as_ref(), &self.settings, (now, operator)).await
    }

    /// The public keys, for whoever verifies tokens elsewhere (RFC 7517).
    pub fn jwks(&self, now: Timestamp) -> Value {
        json!({ "keys": self.own_keys.jwks(now) })
    }

    /// What clients must know of this server (RFC 8414); `None` where it gives out no tokens.
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

    /// Whether a text that came as a credential is meant as a token: a key of an API has no dots.
    pub fn is_token(text: &str) -> bool {
        text.contains('.')
    }
}

/// How long a key still verifies after it has signed its last token.
fn overlap_ms(settings: &Settings) -> u64 {
    settings.token_ms.saturating_add(TOKEN_LEEWAY_MS)
}

#[cfg(test)]
pub(crate) mod tests;
