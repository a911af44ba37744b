//! One request for a token (RFC 6749, 4.4): who asks, for what, and the token.
//!
//! Never says which part of a client's proof was wrong. Invariants: one way of proof in one request; a token says no more
//! than its client may.

use std::sync::Arc;

use serde_json::json;

use super::{
    ClientRow, OAuth,
    assertion::{Assertion, Verified},
    client::has_secret,
};
use crate::clock::Timestamp;
use crate::{
    auth::{key::generate_id, store::StoreError},
    secrets::SecretText,
};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The type of an access token (RFC 9068).
pub(super) const ACCESS_TOKEN: &str = "at+jwt";

/// How a client proves itself.
#[derive(Debug)]
pub enum Proof {
    Secret { client: String, secret: SecretText },
    Assertion { kind: String, text: SecretText, client: Option<String> },
}

/// A client whose proof is right, but may have been used before.
#[derive(Debug)]
pub struct ProvenClient {
    pub client: Arc<ClientRow>,
    assertion: Option<Verified>,
}

/// What stands in the form besides the proof.
#[derive(Debug, Default)]
pub struct TokenRequest {
    pub grant_type: Option<String>,
    /// Between blanks; `None`: all that the client may.
    pub scope: Option<String>,
    /// "resource" (RFC 8707) or "audience": that of the client, or its plugin; `None`: the same.
    pub audience: Option<String>,
}

/// A token, for the one who asked.
#[derive(Debug)]
pub struct Granted {
    pub token: SecretText,
    pub expires_in_seconds: u64,
    pub scope: String,
}

/// The errors of RFC 6749, 5.2 (and RFC 8707); the reasons are for the log.
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
    /// The host cannot sign, or cannot remember.
    #[error("{0}")]
    Unavailable(#[from] StoreError),
}

impl GrantError {
    /// As the standards spell it.
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
    /// Returns the client that proves itself. The proof counts once [`use_proof`](OAuth::use_proof) has accepted it.
    pub fn verify_client(&self, proof: &Proof, now: Timestamp) -> Result<ProvenClient, GrantError> {
        let issuer = self.issuer().ok_or(GrantError::Client("the host gives out no tokens"))?;
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

    /// Stores that an assertion was used: a second use is refused. A request that is refused for another reason must not come here,
    /// so that its client can repeat it.
    pub async fn use_proof(&self, proven: ProvenClient, now: Timestamp) -> Result<Arc<ClientRow>, GrantError> {
        if let Some(assertion) = proven.assertion {
            self.use_assertion(assertion, now).await?;
        }
        Ok(proven.client)
    }

    /// A token for a client that has proved itself.
    pub fn grant(&self, client: &ClientRow, request: &TokenRequest, now: Timestamp) -> Result<Granted, GrantError> {
        let (Some(issuer), Some(key)) = (self.issuer(), self.own_keys.current()) else {
            return Err(GrantError::Client("the host gives out no tokens"));
        };
        match request.grant_type.as_deref() {
            Some("client_credentials") => {}
            Some(_) => return Err(GrantError::GrantType),
            None => return Err(GrantError::Request("no grant_type")),
        }
        let audience = client.audience();
        if request.audience.as_deref().is_some_and(|asked| asked != audience && asked != &*client.plugin) {
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
        Ok(Granted { token: SecretText::new(token), expires_in_seconds, scope })
    }
}

/// What was asked for, each once, as long as the client may have it.
fn choose_scope(client: &ClientRow, asked: Option<&str>) -> Result<String, GrantError> {
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else { return Ok(client.scopes.join(" ")) };
    let mut chosen: Vec<&str> = Vec::new();
    for scope in asked.split(' ').filter(|scope| !scope.is_empty()) {
        if !client.scopes.iter().any(|known| known == scope) {
            return Err(GrantError::Scope);
        }
        if !chosen.contains(&scope) {
            chosen.push(scope);
        }
    }
    Ok(chosen.join(" "))
}
