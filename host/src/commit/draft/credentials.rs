//! Keys and tokens that a call hands out and takes back, and those that it finds.
//!
//! Each attribute has a guard of the host's: who finds by it notes the guard, who issues or revokes bumps it. So what a call
//! decides on the credentials of an attribute still holds when it commits.

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use super::{Draft, DraftError, misuse};
use crate::changes::credential::{
    Attribute, CredentialChange, CredentialKind, EndedCredential, NewCredential, owner_of,
};
use crate::clock::Timestamp;
use crate::db::credentials::IssuedCredential;
use crate::limits::{CREDENTIALS_ISSUED_MAX, CREDENTIALS_LIVE_MAX, CREDENTIALS_REVOKED_MAX, KEY_SECRET_CHARACTERS};
use crate::secrets::key_text::{base62, hash_text};

/// Events take stream 1 of the seed, the plugin's own randomness stream 0.
const SECRET_STREAM: u64 = 2;
/// Characters of an id that nobody guesses; in front of them stands when it was made.
const ID_SUFFIX_CHARACTERS: usize = 8;

/// What a plugin wants issued. Its bounds were checked.
pub struct Grant {
    pub kind: CredentialKind,
    pub label: String,
    pub attributes: Vec<Attribute>,
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

/// What the call did so far. Texts are the same in every run of a call, and not to be guessed from its ids.
pub(super) struct Credentials {
    seed: [u8; 32],
    source: Option<ChaCha20Rng>,
    /// Counts all that were made, so that their ids sort in the sequence in which they were issued.
    made: u16,
    issued: Vec<NewCredential>,
    revoked: Vec<EndedCredential>,
}

impl Credentials {
    pub fn new(seed: [u8; 32]) -> Credentials {
        Credentials { seed, source: None, made: 0, issued: Vec::new(), revoked: Vec::new() }
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
        let made = base62::<std::convert::Infallible>(characters, |bytes| {
            source.fill_bytes(bytes);
            Ok(())
        });
        made.unwrap_or_else(|never| match never {})
    }

    fn issued_with<'a>(&'a self, attribute: &'a Attribute) -> impl Iterator<Item = &'a NewCredential> {
        self.issued.iter().filter(move |new| new.attributes.contains(attribute))
    }

    fn is_revoked(&self, id: &str) -> bool {
        self.revoked.iter().any(|ended| *ended.id == *id)
    }
}

impl Draft {
    /// A new one with its text, which is in no change set. Nothing is issued before `issue_credential`.
    pub fn make_credential(&mut self, grant: Grant) -> Result<(NewCredential, Zeroizing<String>), DraftError> {
        let scope = self.scope()?;
        let Grant { kind, label, attributes, scopes, expires_at } = grant;
        let environment = scope.tenant().rsplit_once('/').map_or("", |(_, environment)| environment);
        let secret = self.credentials.random(KEY_SECRET_CHARACTERS);
        let text = Zeroizing::new(format!("{}{environment}_{}", kind.text_prefix(), secret.as_str()));
        let suffix = self.credentials.random(ID_SUFFIX_CHARACTERS);
        self.credentials.made = self.credentials.made.saturating_add(1);
        let id = format!("{}{:011x}{:04x}{}", kind.id_prefix(), self.call.now, self.credentials.made, suffix.as_str());
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
            return Err(misuse(format!("a call issues at most {CREDENTIALS_ISSUED_MAX} keys and tokens")));
        }
        for attribute in &new.attributes {
            self.guard(&attribute.guard()).await?;
            if self.count_credentials(attribute).await? >= CREDENTIALS_LIVE_MAX {
                return Err(misuse(format!(
                    "a tenant has at most {CREDENTIALS_LIVE_MAX} valid keys and tokens with one attribute: {attribute}"
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

    /// Those of the plugin and tenant that carry the attribute and are valid, the call's own included, the oldest first.
    pub async fn find_credentials(&mut self, attribute: &Attribute) -> Result<Vec<IssuedCredential>, DraftError> {
        let Some(scope) = self.call.scope.clone() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        if self.look_at_guard(&attribute.guard()).await? > 0 {
            self.running.shared.settle_all().await;
            found = self.database().find_credentials(&scope, attribute, self.call.now).await?;
        }
        found.retain(|stored| !self.credentials.is_revoked(&stored.id));
        let now = self.call.now;
        let own = self.credentials.issued_with(attribute).filter(|new| new.expires_at.is_none_or(|at| now < at));
        found.extend(own.map(|new| stored_form(new, now)));
        Ok(found)
    }

    /// Whether there was a valid one.
    pub async fn revoke_credential(&mut self, id: &str) -> Result<bool, DraftError> {
        let scope = self.scope()?;
        let issued = self.credentials.issued.iter().position(|new| *new.id == *id);
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
        // Of two that revoke it, one has seen the guards before the other bumped them: it runs again, and finds nothing.
        self.running.shared.settle_all().await;
        let Some(found) = self.database().find_credential(&scope, id, self.call.now).await? else { return Ok(false) };
        self.end_credential(found)?;
        Ok(true)
    }

    /// How many valid ones there were.
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
                    self.end_credential(credential)?;
                }
            }
            revoked += 1;
        }
        Ok(revoked)
    }

    fn end_credential(&mut self, credential: IssuedCredential) -> Result<(), DraftError> {
        if self.credentials.revoked.len() >= CREDENTIALS_REVOKED_MAX {
            return Err(misuse(format!("a call revokes at most {CREDENTIALS_REVOKED_MAX} keys and tokens")));
        }
        self.collect(200)?;
        let IssuedCredential { id, hash, attributes, .. } = credential;
        self.credentials.revoked.push(EndedCredential { id, hash, attributes });
        Ok(())
    }

    async fn count_credentials(&mut self, attribute: &Attribute) -> Result<usize, DraftError> {
        let scope = self.scope()?;
        let own = self.credentials.issued_with(attribute).count();
        if self.look_at_guard(&attribute.guard()).await? == 0 {
            return Ok(own);
        }
        self.running.shared.settle_all().await;
        let stored = self.database().count_credentials(&scope, attribute, self.call.now).await?;
        let revoked = self.credentials.revoked.iter().filter(|ended| ended.attributes.contains(attribute)).count();
        Ok((stored + own).saturating_sub(revoked))
    }
}

fn stored_form(new: &NewCredential, now: Timestamp) -> IssuedCredential {
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
