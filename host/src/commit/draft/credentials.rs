//! Keys and tokens that a call issues, revokes, or finds.
//!
//! Each attribute has a guard. A call that finds credentials by the attribute reads the guard. A call that issues or
//! revokes a credential with the attribute bumps it. A decision that depends on the credentials of an attribute is
//! therefore still valid when the call commits.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use super::{Draft, DraftError, misuse};
use crate::changes::credential::{
    Attribute, CredentialChange, CredentialKind, NewCredential, RevokedCredential, owner_of,
};
use crate::clock::Timestamp;
use crate::db::credentials::IssuedCredential;
use crate::limits::{CREDENTIALS_ISSUED_MAX, CREDENTIALS_LIVE_MAX, CREDENTIALS_REVOKED_MAX, KEY_SECRET_CHARACTERS};
use crate::secrets::key_text::{base62, hash_text};

/// Events use stream 1 of the seed, and the plugin's own randomness uses stream 0.
const SECRET_STREAM: u64 = 2;
/// Number of random characters at the end of an id. The time of creation and a number precede them.
const ID_SUFFIX_CHARACTERS: usize = 8;

/// A credential that a plugin requests. Its bounds were checked.
pub struct Grant {
    pub kind: CredentialKind,
    pub label: String,
    pub attributes: Vec<Attribute>,
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

/// The credentials that the call has issued and revoked so far. Texts of credentials are the same in every run of a
/// call, and not predictable from its ids.
pub(super) struct Credentials {
    seed: [u8; 32],
    source: Option<ChaCha20Rng>,
    /// Number of created credentials, so that their ids sort in the order in which they were issued.
    created: u16,
    issued: Vec<NewCredential>,
    revoked: Vec<RevokedCredential>,
}

impl Credentials {
    pub fn new(seed: [u8; 32]) -> Credentials {
        Credentials { seed, source: None, created: 0, issued: Vec::new(), revoked: Vec::new() }
    }

    pub fn into_changes(self) -> Vec<CredentialChange> {
        let revoked = self.revoked.into_iter().map(CredentialChange::Revoke);
        revoked.chain(self.issued.into_iter().map(CredentialChange::Issue)).collect()
    }

    fn random(&mut self, characters: usize) -> Zeroizing<String> {
        let seed = self.seed;
        let source = self.source.get_or_insert_with(|| {
            let mut source = ChaCha20Rng::from_seed(seed);
            source.set_stream(SECRET_STREAM);
            source
        });
        let text = base62::<std::convert::Infallible>(characters, |bytes| {
            source.fill_bytes(bytes);
            Ok(())
        });
        text.unwrap_or_else(|never| match never {})
    }

    fn issued_with<'a>(&'a self, attribute: &'a Attribute) -> impl Iterator<Item = &'a NewCredential> {
        self.issued.iter().filter(move |new| new.attributes.contains(attribute))
    }

    fn is_revoked(&self, id: &str) -> bool {
        self.revoked.iter().any(|revoked| *revoked.id == *id)
    }
}

impl Draft {
    /// Returns a new credential with its text, which is in no change set. `issue_credential` issues it.
    pub fn make_credential(&mut self, grant: Grant) -> Result<(NewCredential, Zeroizing<String>), DraftError> {
        let scope = self.scope()?;
        let Grant { kind, label, attributes, scopes, expires_at } = grant;
        let environment = scope.tenant().rsplit_once('/').map_or("", |(_, environment)| environment);
        let secret = self.credentials.random(KEY_SECRET_CHARACTERS);
        let text = Zeroizing::new(format!("{}{environment}_{}", kind.text_prefix(), secret.as_str()));
        let suffix = self.credentials.random(ID_SUFFIX_CHARACTERS);
        self.credentials.created = self.credentials.created.saturating_add(1);
        let id =
            format!("{}{:011x}{:04x}{}", kind.id_prefix(), self.call.now, self.credentials.created, suffix.as_str());
        let new = NewCredential {
            id: id.into(),
            kind,
            hash: hash_text(&text),
            label,
            owner: owner_of(&scope, &attributes),
            scopes,
            attributes,
            expires_at,
            sealed: None,
        };
        Ok((new, text))
    }

    pub async fn issue_credential(&mut self, new: NewCredential) -> Result<(), DraftError> {
        if self.credentials.issued.len() >= CREDENTIALS_ISSUED_MAX {
            return Err(misuse(format!("a call may issue at most {CREDENTIALS_ISSUED_MAX} keys and tokens")));
        }
        for attribute in &new.attributes {
            self.guard(&attribute.guard()).await?;
            if self.count_credentials(attribute).await? >= CREDENTIALS_LIVE_MAX {
                return Err(misuse(format!(
                    "a tenant may have at most {CREDENTIALS_LIVE_MAX} valid keys and tokens with one attribute: {attribute}"
                )));
            }
        }
        let texts = new.attributes.iter().map(|attribute| attribute.name().len() + attribute.value().len() + 100);
        let scopes = new.scopes.iter().map(String::len).sum::<usize>();
        let sealed = new.sealed.as_ref().map_or(0, |sealed| sealed.len());
        self.collect(300 + new.label.len() + texts.sum::<usize>() + scopes + sealed)?;
        self.credentials.issued.push(new);
        Ok(())
    }

    /// Returns the valid credentials of the plugin and tenant with the attribute, including those of this call, the
    /// oldest first.
    pub async fn find_credentials(&mut self, attribute: &Attribute) -> Result<Vec<IssuedCredential>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        if self.read_guard(&attribute.guard()).await? > 0 {
            self.running.shared.settle_all().await;
            found = self.database().find_credentials(&scope, attribute, self.call.now).await?;
        }
        found.retain(|stored| !self.credentials.is_revoked(&stored.id));
        let now = self.call.now;
        let own = self.credentials.issued_with(attribute).filter(|new| is_valid(new, now));
        found.extend(own.map(|new| issued_form(new, now)));
        Ok(found)
    }

    /// Revokes a credential. Returns true if it was valid.
    pub async fn revoke_credential(&mut self, id: &str) -> Result<bool, DraftError> {
        let scope = self.scope()?;
        let now = self.call.now;
        let issued = self.credentials.issued.iter().position(|new| *new.id == *id && is_valid(new, now));
        if let Some(position) = issued {
            self.credentials.issued.remove(position);
            return Ok(true);
        }
        if self.credentials.is_revoked(id) {
            return Ok(false);
        }
        self.running.shared.settle_all().await;
        let Some(found) = self.database().find_credential(&scope, id, self.call.now).await? else { return Ok(false) };
        for attribute in &found.attributes {
            self.guard(&attribute.guard()).await?;
        }
        // If two calls revoke the credential, the call that read the guards before the other bumped them runs again and
        // finds no credential.
        self.running.shared.settle_all().await;
        let Some(found) = self.database().find_credential(&scope, id, self.call.now).await? else { return Ok(false) };
        self.record_revocation(found)?;
        Ok(true)
    }

    /// Revokes all valid credentials with the attribute. Returns their number.
    pub async fn revoke_credentials(&mut self, attribute: &Attribute) -> Result<u32, DraftError> {
        self.scope()?;
        let found = self.find_credentials(attribute).await?;
        let mut revoked = 0;
        for credential in found {
            let issued = self.credentials.issued.iter().position(|new| new.id == credential.id);
            match issued {
                Some(position) => drop(self.credentials.issued.remove(position)),
                None => {
                    for attribute in &credential.attributes {
                        self.guard(&attribute.guard()).await?;
                    }
                    self.record_revocation(credential)?;
                }
            }
            revoked += 1;
        }
        Ok(revoked)
    }

    fn record_revocation(&mut self, credential: IssuedCredential) -> Result<(), DraftError> {
        if self.credentials.revoked.len() >= CREDENTIALS_REVOKED_MAX {
            return Err(misuse(format!("a call may revoke at most {CREDENTIALS_REVOKED_MAX} keys and tokens")));
        }
        self.collect(200)?;
        let IssuedCredential { id, hash, attributes, .. } = credential;
        self.credentials.revoked.push(RevokedCredential { id, hash, attributes });
        Ok(())
    }

    async fn count_credentials(&mut self, attribute: &Attribute) -> Result<usize, DraftError> {
        let scope = self.scope()?;
        let own = self.credentials.issued_with(attribute).count();
        if self.read_guard(&attribute.guard()).await? == 0 {
            return Ok(own);
        }
        self.running.shared.settle_all().await;
        let stored = self.database().count_credentials(&scope, attribute, self.call.now).await?;
        let revoked = self.credentials.revoked.iter().filter(|revoked| revoked.attributes.contains(attribute)).count();
        Ok((stored + own).saturating_sub(revoked))
    }
}

fn is_valid(new: &NewCredential, now: Timestamp) -> bool {
    new.expires_at.is_none_or(|at| now < at)
}

fn issued_form(new: &NewCredential, now: Timestamp) -> IssuedCredential {
    IssuedCredential {
        id: Arc::clone(&new.id),
        kind: new.kind,
        hash: new.hash,
        label: new.label.clone(),
        attributes: new.attributes.clone(),
        created_at: now,
        expires_at: new.expires_at,
        last_used_at: None,
    }
}

#[cfg(test)]
mod tests;
