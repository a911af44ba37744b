//! A client that proves itself with a signature (private_key_jwt: RFC 7523, OpenID Connect Core 9).
//!
//! Invariant: an assertion is taken once, also across a restart.

use sha2::{Digest, Sha256};

use super::{
    ClientRow, OAuth, TOKEN_PATH,
    client::ClientProof,
    grant::GrantError,
    jws::{Claims, Jws},
};
use crate::clock::Timestamp;
use crate::limits::{ASSERTION_ID_BYTES_MAX, ASSERTION_LIFE_MS_MAX, TOKEN_LEEWAY_MS};

/// An assertion, taken apart.
pub(super) struct Assertion<'t> {
    jws: Jws<'t>,
    claims: Claims,
}

impl<'t> Assertion<'t> {
    pub fn parse(text: &'t str) -> Result<Assertion<'t>, &'static str> {
        let jws = Jws::parse(text)?;
        if jws.kind.as_deref().is_some_and(|kind| kind != "jwt" && kind != "client-authentication+jwt") {
            return Err("it is of another type");
        }
        let claims = jws.claims()?;
        if claims.iss != claims.sub {
            return Err("its issuer is not its subject");
        }
        Ok(Assertion { jws, claims })
    }

    /// The client that it speaks of.
    pub fn client_id(&self) -> &str {
        &self.claims.sub
    }

    /// Whether this client made it, for this server and this time. Whether it came before is another question.
    fn check(&self, client: &ClientRow, issuer: &str, now: Timestamp) -> Result<(), &'static str> {
        let ClientProof::Keys(_, keys) = &client.proof else { return Err("the client has no public keys") };
        if !keys.verifies(&self.jws) {
            return Err("no key of the client has signed it");
        }
        if !self.claims.aud.has(issuer) && !self.claims.aud.has(&format!("{issuer}{TOKEN_PATH}")) {
            return Err("it is for another server");
        }
        self.claims.check_times(now)?;
        if self.claims.ends_at() > now.saturating_add(ASSERTION_LIFE_MS_MAX + TOKEN_LEEWAY_MS) {
            return Err("it lives too long");
        }
        match &self.claims.jti {
            Some(id) if (1..=ASSERTION_ID_BYTES_MAX).contains(&id.len()) => Ok(()),
            _ => Err("it has no id, or one that is too long"),
        }
    }

    /// Returns what is stored of it once it is used, if this client made it for this server and this time.
    pub fn verify(&self, client: &ClientRow, issuer: &str, now: Timestamp) -> Result<Verified, &'static str> {
        self.check(client, issuer, now)?;
        Ok(Verified { hash: self.hash(), forget_at: self.claims.ends_at().saturating_add(TOKEN_LEEWAY_MS) })
    }

    /// What is remembered of it: the same id of another client is another assertion.
    fn hash(&self) -> [u8; 32] {
        let id = self.claims.jti.as_deref().unwrap_or_default();
        let hash = Sha256::new().chain_update(self.claims.sub.as_bytes()).chain_update([0]);
        hash.chain_update(id.as_bytes()).finalize().into()
    }
}

/// An assertion that proves its client, unless it was used before.
#[derive(Debug)]
pub(super) struct Verified {
    hash: [u8; 32],
    forget_at: Timestamp,
}

impl OAuth {
    /// Stores that the assertion was used.
    pub(super) async fn use_assertion(&self, verified: Verified, now: Timestamp) -> Result<(), GrantError> {
        match self.store.note_assertion(verified.hash, verified.forget_at, now).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(GrantError::Client("it was used before")),
            Err(error) => Err(GrantError::Unavailable(error)),
        }
    }
}
