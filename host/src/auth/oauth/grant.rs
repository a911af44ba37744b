//! A request for a token (RFC 6749, 4.4): client authentication, validation, and the issued token.
//!
//! The caller does not learn which part of the authentication was wrong. Invariants: a request uses one way of
//! authentication. A token has only scopes of its client.

use std::sync::Arc;

use serde_json::json;

use super::{
    ClientRow, OAuth,
    assertion::{Assertion, Verified},
    client::has_secret,
};
use crate::{
    auth::{key::generate_id, store::StoreError},
    clock::Timestamp,
    secrets::SecretText,
};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// `typ` of an access token (RFC 9068).
pub(super) const ACCESS_TOKEN: &str = "at+jwt";

/// How a client authenticates in a request.
#[derive(Debug)]
pub enum Proof {
    Secret { client: String, secret: SecretText },
    Assertion { kind: String, text: SecretText, client: Option<String> },
}

/// An authenticated client. Its assertion may have been used before.
#[derive(Debug)]
pub struct ProvenClient {
    pub client: Arc<ClientRow>,
    assertion: Option<Verified>,
}

/// Parameters of the form besides the authentication.
#[derive(Debug, Default)]
pub struct TokenRequest {
    pub grant_type: Option<String>,
    /// Scopes separated by spaces. `None` requests all scopes of the client.
    pub scope: Option<String>,
    /// "resource" (RFC 8707) or "audience": the audience of the client, or its plugin. `None` means the
    /// audience of the client.
    pub audience: Option<String>,
}

/// An issued access token.
#[derive(Debug)]
pub struct IssuedToken {
    pub token: SecretText,
    pub expires_in_seconds: u64,
    pub scope: String,
}

/// Errors of RFC 6749 (5.2 and 4.1.2.1) and of RFC 8707. The reasons are for the log.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("invalid_request: {0}")]
    Request(&'static str),
    #[error("invalid_client: {0}")]
    Client(&'static str),
    #[error("unsupported_grant_type")]
    GrantType,
    #[error("invalid_scope")]
    Scope,
    #[error("invalid_target")]
    Target,
    /// The host cannot sign the token, or cannot store the use of an assertion.
    #[error("{0}")]
    Unavailable(#[from] StoreError),
}

impl GrantError {
    /// Returns the error code of the RFCs.
    pub fn code(&self) -> &'static str {
        match self {
            GrantError::Request(_) => "invalid_request",
            GrantError::Client(_) => "invalid_client",
            GrantError::GrantType => "unsupported_grant_type",
            GrantError::Scope => "invalid_scope",
            GrantError::Target => "invalid_target",
            GrantError::Unavailable(_) => "temporarily_unavailable",
        }
    }
}

impl OAuth {
    /// Authenticates a client. Its assertion is not recorded as used before [`use_proof`](OAuth::use_proof).
    pub fn verify_client(&self, proof: &Proof, now: Timestamp) -> Result<ProvenClient, GrantError> {
        let issuer = self.issuer().ok_or(GrantError::Client("the host issues no tokens"))?;
        match proof {
            Proof::Secret { client, secret } => {
                let client = self.clients.find_live(client);
                let fits = has_secret(client.as_deref(), secret.expose(), now);
                let client = client.filter(|_| fits).ok_or(GrantError::Client("no such client, or another secret"))?;
                Ok(ProvenClient { client, assertion: None })
            }
            Proof::Assertion { kind, text, client } => {
                if kind != ASSERTION_TYPE {
                    return Err(GrantError::Client("an assertion of another type"));
                }
                let assertion = Assertion::parse(text.expose()).map_err(GrantError::Client)?;
                if client.as_deref().is_some_and(|client| client != assertion.client_id()) {
                    return Err(GrantError::Client("an assertion of another client"));
                }
                let client = self.clients.find_live(assertion.client_id());
                let client = client.ok_or(GrantError::Client("no such client"))?;
                let verified = assertion.verify(&client, issuer, now).map_err(GrantError::Client)?;
                Ok(ProvenClient { client, assertion: Some(verified) })
            }
        }
    }

    /// Records the use of an assertion, and rejects a second use. Must not be called for a request that is rejected
    /// for another reason, so that its client can repeat it.
    pub async fn use_proof(&self, proven: ProvenClient, now: Timestamp) -> Result<Arc<ClientRow>, GrantError> {
        if let Some(assertion) = proven.assertion {
            self.use_assertion(assertion, now).await?;
        }
        Ok(proven.client)
    }

    /// Issues a token for an authenticated client.
    pub fn grant(&self, client: &ClientRow, request: &TokenRequest, now: Timestamp) -> Result<IssuedToken, GrantError> {
        let (Some(issuer), Some(key)) = (self.issuer(), self.own_keys.current()) else {
            return Err(GrantError::Client("the host issues no tokens"));
        };
        match request.grant_type.as_deref() {
            Some("client_credentials") => {}
            Some(_) => return Err(GrantError::GrantType),
            None => return Err(GrantError::Request("no grant_type")),
        }
        let audience = client.audience();
        if request.audience.as_deref().is_some_and(|target| target != audience && target != &*client.plugin) {
            return Err(GrantError::Target);
        }
        let scope = choose_scope(client, request.scope.as_deref())?;
        let failed = |error: String| GrantError::Unavailable(StoreError(error));
        let id = generate_id("token_").map_err(|error| failed(error.to_string()))?;
        let (now_seconds, expires_in_seconds) = (now / 1_000, self.settings.token_ms / 1_000);
        let mut claims = json!({
            "iss": issuer,
            "aud": audience,
            "sub": &*client.id,
            "client_id": &*client.id,
            "iat": now_seconds,
            "exp": now_seconds.saturating_add(expires_in_seconds),
            "jti": &*id,
        });
        if let (Some(claims), false) = (claims.as_object_mut(), scope.is_empty()) {
            claims.insert("scope".to_owned(), scope.as_str().into());
        }
        let token = key.sign(ACCESS_TOKEN, &claims).map_err(|error| failed(error.to_string()))?;
        Ok(IssuedToken { token: SecretText::new(token), expires_in_seconds, scope })
    }
}

/// Returns the requested scopes without duplicates, or an error if the client lacks one of them.
fn choose_scope(client: &ClientRow, requested: Option<&str>) -> Result<String, GrantError> {
    let Some(requested) = requested.filter(|scopes| !scopes.trim().is_empty()) else {
        return Ok(client.scopes.join(" "));
    };
    let mut chosen: Vec<&str> = Vec::new();
    for scope in requested.split(' ').filter(|scope| !scope.is_empty()) {
        if !client.scopes.iter().any(|known| known == scope) {
            return Err(GrantError::Scope);
        }
        if !chosen.contains(&scope) {
            chosen.push(scope);
        }
    }
    Ok(chosen.join(" "))
}
