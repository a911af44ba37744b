//! Client authentication with a signed assertion (private_key_jwt: RFC 7523, OpenID Connect Core 9).
//!
//! Invariant: an assertion is accepted at most once, even across restarts.

use sha2::{Digest, Sha256};

use super::{
    ClientRow, OAuth, TOKEN_PATH,
    client::ClientProof,
    grant::GrantError,
    jws::{Claims, Jws},
};
use crate::clock::Timestamp;
use crate::limits::{ASSERTION_ID_BYTES_MAX, ASSERTION_LIFETIME_MS_MAX, TOKEN_LEEWAY_MS};

/// A parsed assertion.
pub(super) struct Assertion<'t> {
    jws: Jws<'t>,
    claims: Claims,
}

impl<'t> Assertion<'t> {
    pub fn parse(text: &'t str) -> Result<Assertion<'t>, &'static str> {
        let jws = Jws::parse(text)?;
        if jws.kind.as_deref().is_some_and(|kind| kind != "jwt" && kind != "client-authentication+jwt") {
            return Err("its typ is not that of an assertion");
        }
        let claims = jws.claims()?;
        if claims.iss != claims.sub {
            return Err("its iss is not its sub");
        }
        Ok(Assertion { jws, claims })
    }

    /// Returns the id of the client that the assertion claims.
    pub fn client_id(&self) -> &str {
        &self.claims.sub
    }

    /// Checks that this client signed the assertion, for this server and the current time. Reuse is not checked here.
    fn check(&self, client: &ClientRow, issuer: &str, now: Timestamp) -> Result<(), &'static str> {
        let ClientProof::Keys(_, keys) = &client.proof else { return Err("the client has no public keys") };
        if !keys.verifies(&self.jws) {
            return Err("no key of the client has signed it");
        }
        if !self.claims.aud.has(issuer) && !self.claims.aud.has(&format!("{issuer}{TOKEN_PATH}")) {
            return Err("its aud does not contain this server");
        }
        self.claims.check_times(now)?;
        if self.claims.expires_at() > now.saturating_add(ASSERTION_LIFETIME_MS_MAX + TOKEN_LEEWAY_MS) {
            return Err("its lifetime is too long");
        }
        match &self.claims.jti {
            Some(id) if (1..=ASSERTION_ID_BYTES_MAX).contains(&id.len()) => Ok(()),
            _ => Err("its jti is missing, empty, or too long"),
        }
    }

    /// Checks the assertion and returns the values that are stored when it is used.
    pub fn verify(&self, client: &ClientRow, issuer: &str, now: Timestamp) -> Result<Verified, &'static str> {
        self.check(client, issuer, now)?;
        Ok(Verified { hash: self.hash(), expires_at: self.claims.expires_at().saturating_add(TOKEN_LEEWAY_MS) })
    }

    /// Returns the hash that identifies the assertion. It covers the client, because ids are unique per client only.
    fn hash(&self) -> [u8; 32] {
        let id = self.claims.jti.as_deref().unwrap_or_default();
        let hash = Sha256::new().chain_update(self.claims.sub.as_bytes()).chain_update([0]);
        hash.chain_update(id.as_bytes()).finalize().into()
    }
}

/// A valid assertion that may have been used before.
#[derive(Debug)]
pub(super) struct Verified {
    hash: [u8; 32],
    expires_at: Timestamp,
}

impl OAuth {
    /// Records the use of the assertion, or fails if it was used before.
    pub(super) async fn use_assertion(&self, verified: Verified, now: Timestamp) -> Result<(), GrantError> {
        match self.store.record_assertion(verified.hash, verified.expires_at, now).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(GrantError::Client("it was used before")),
            Err(error) => Err(GrantError::Unavailable(error)),
        }
    }
}
