//! Validation of an access token for one plugin.
//!
//! A verified token is cached until it expires, for each plugin separately: an external issuer may be configured for
//! several plugins, with different clients. Each use of a token of the host checks that its client is not revoked.
//! Rejected tokens are not cached, so that a flood of wrong tokens uses no memory.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use sha2::{Digest, Sha256};

use super::{
    CredentialError, OAuth, Principal,
    clients::is_scope_token,
    grant::ACCESS_TOKEN,
    issuers::Issuer,
    jws::{Claims, Jws},
};
use crate::clock::Timestamp;
use crate::limits::{KEY_SCOPES_MAX, VERIFIED_TOKENS_MAX};

/// Verified tokens by the hash of the plugin and the token.
#[derive(Default)]
pub(super) struct Verified(RwLock<HashMap<[u8; 32], Entry>>);

#[derive(Clone)]
struct Entry {
    principal: Arc<Principal>,
    plugin: Arc<str>,
    expires_at: Timestamp,
    /// True if the host issued the token. Its client must then be checked for revocation.
    is_own: bool,
}

impl OAuth {
    /// Returns the principal of a token for a plugin.
    pub async fn authenticate(
        &self,
        text: &str,
        plugin: &str,
        now: Timestamp,
    ) -> Result<Arc<Principal>, CredentialError> {
        let hash = hash(plugin, text);
        let entry = match self.verified.find(&hash, now) {
            Some(entry) => entry,
            None => {
                let entry = self.verify(text, plugin, now).await.map_err(CredentialError::Token)?;
                if *entry.plugin != *plugin {
                    return Err(CredentialError::Token("it is for another plugin"));
                }
                self.verified.insert(hash, &entry, now);
                entry
            }
        };
        if entry.is_own && self.clients.find_live(&entry.principal.subject).is_none() {
            return Err(CredentialError::Token("its client was revoked"));
        }
        Ok(entry.principal)
    }

    async fn verify(&self, text: &str, plugin: &str, now: Timestamp) -> Result<Entry, &'static str> {
        let jws = Jws::parse(text)?;
        let claims = jws.claims()?;
        if self.issuer() == Some(claims.iss.as_str()) {
            return self.verify_own(&jws, &claims, now);
        }
        let issuer = self.issuers.find(&claims, plugin);
        let issuer = issuer.ok_or("it has an unknown issuer, or is for another audience")?;
        issuer.verify(&jws, now).await?;
        verify_foreign(issuer.settings(), &jws, &claims, now)
    }

    fn verify_own(&self, jws: &Jws<'_>, claims: &Claims, now: Timestamp) -> Result<Entry, &'static str> {
        if jws.kind.as_deref() != Some(ACCESS_TOKEN) {
            return Err("it is not an access token");
        }
        if jws.key_id.is_none() || !self.own_keys.public(now).verifies(jws) {
            return Err("no key of the host has signed it");
        }
        claims.check_times(now)?;
        let client = self.clients.find_live(&claims.sub).ok_or("it has no client, or one that was revoked")?;
        if !claims.aud.has(&client.audience()) {
            return Err("it is for another audience");
        }
        let scopes = scopes(claims)?;
        let principal = Arc::new(client.principal(scopes));
        Ok(Entry { principal, plugin: Arc::clone(&client.plugin), expires_at: claims.expires_at(), is_own: true })
    }
}

fn hash(plugin: &str, token: &str) -> [u8; 32] {
    // A plugin name contains no NUL.
    Sha256::new().chain_update(plugin).chain_update([0_u8]).chain_update(token).finalize().into()
}

/// Validates a token of an external issuer whose audience and signature were verified.
fn verify_foreign(issuer: &Issuer, jws: &Jws<'_>, claims: &Claims, now: Timestamp) -> Result<Entry, &'static str> {
    if jws.kind.as_deref().unwrap_or_default() != issuer.token_type {
        return Err("it is not an access token");
    }
    claims.check_times(now)?;
    let scopes = scopes(claims)?;
    let principal = Arc::new(issuer.principal(claims, scopes)?);
    Ok(Entry { principal, plugin: Arc::clone(&issuer.plugin), expires_at: claims.expires_at(), is_own: false })
}

fn scopes(claims: &Claims) -> Result<Vec<String>, &'static str> {
    let text = claims.scope.as_deref().unwrap_or_default();
    let scopes: Vec<String> = text.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    if scopes.len() > KEY_SCOPES_MAX || !scopes.iter().all(|scope| is_scope_token(scope)) {
        return Err("its scopes cannot be read");
    }
    Ok(scopes)
}

impl Verified {
    fn find(&self, hash: &[u8; 32], now: Timestamp) -> Option<Entry> {
        self.0.read().get(hash).filter(|entry| now < entry.expires_at).cloned()
    }

    fn insert(&self, hash: [u8; 32], entry: &Entry, now: Timestamp) {
        if now >= entry.expires_at {
            return;
        }
        let mut entries = self.0.write();
        if entries.len() >= VERIFIED_TOKENS_MAX {
            entries.retain(|_, entry| now < entry.expires_at);
        }
        if entries.len() >= VERIFIED_TOKENS_MAX {
            entries.clear();
        }
        entries.insert(hash, entry.clone());
    }
}
