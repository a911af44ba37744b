//! `credentials`: keys and tokens that the plugin hands out, passwords that it checks. What a grant may hold is judged and
//! copies of keys that sign are sealed here; the draft does the rest.
//!
//! Never keeps the text of a key, token or password.

use tenon_bindings::tenon::plugin::{
    credentials::{self as wit, Host},
    types::Pair,
};
use wasmtime::bail;
use zeroize::Zeroizing;

use super::trap;
use crate::{
    capability::CallState,
    changes::credential::{Attribute, CredentialKind, copy_name, is_scope},
    commit::draft::{Grant, IssuedCredential},
    limits::{ATTRIBUTES_MAX, CREDENTIAL_LABEL_BYTES_MAX, EXPIRES_AT_MAX, KEY_SCOPES_MAX},
    secrets::password::{PasswordOutcome, PasswordWork},
};

impl Host for CallState {
    async fn issue_key(&mut self, grant: wit::Grant) -> wasmtime::Result<wit::Issued> {
        self.issue(CredentialKind::ApiKey, grant).await
    }

    async fn issue_token(&mut self, grant: wit::Grant) -> wasmtime::Result<wit::Issued> {
        if grant.signs {
            bail!("a token signs no webhooks: `signs` is for keys");
        }
        self.issue(CredentialKind::Token, grant).await
    }

    async fn find(&mut self, attribute: Pair) -> wasmtime::Result<Vec<wit::Credential>> {
        let begun = self.meter(size_of(&attribute))?;
        // What cannot be attached is attached to nothing.
        let Ok(attribute) = Attribute::new(attribute.name, attribute.value) else { return Ok(Vec::new()) };
        let found = self.draft().find_credentials(&attribute).await.map_err(trap)?;
        self.excuse(begun).await;
        let credential = |one: IssuedCredential| wit::Credential {
            id: one.id.to_string(),
            kind: one.kind.name().to_owned(),
            label: one.label,
            created_at: one.created_at,
            expires_at: one.expires_at,
            last_used_at: one.last_used_at,
        };
        let found: Vec<wit::Credential> = found.into_iter().map(credential).collect();
        self.meter_answer(found.iter().map(|one| one.id.len() + one.label.len() + 60).sum())?;
        Ok(found)
    }

    async fn revoke(&mut self, id: String) -> wasmtime::Result<bool> {
        let begun = self.meter(id.len())?;
        let revoked = self.draft().revoke_credential(&id).await.map_err(trap);
        self.excuse(begun).await;
        revoked
    }

    async fn revoke_all(&mut self, attribute: Pair) -> wasmtime::Result<u32> {
        let begun = self.meter(size_of(&attribute))?;
        let Ok(attribute) = Attribute::new(attribute.name, attribute.value) else { return Ok(0) };
        let revoked = self.draft().revoke_credentials(&attribute).await.map_err(trap);
        self.excuse(begun).await;
        revoked
    }

    async fn hash_password(&mut self, password: String) -> wasmtime::Result<String> {
        self.count(password.len())?;
        let salt = self.random_array::<16>();
        match self.passwords().find(PasswordWork::hash(password, salt)?)? {
            PasswordOutcome::Hash(hash) => Ok(hash),
            PasswordOutcome::Verified(_) => bail!("a password was verified that had to be hashed"),
        }
    }

    async fn verify_password(&mut self, password: String, hash: Option<String>) -> wasmtime::Result<bool> {
        self.count(password.len() + hash.as_ref().map_or(0, String::len))?;
        match self.passwords().find(PasswordWork::verify(password, hash)?)? {
            PasswordOutcome::Verified(verified) => Ok(verified),
            PasswordOutcome::Hash(_) => bail!("a password was hashed that had to be verified"),
        }
    }
}

impl CallState {
    async fn issue(&mut self, kind: CredentialKind, grant: wit::Grant) -> wasmtime::Result<wit::Issued> {
        let pairs = grant.attributes.iter().map(size_of).sum::<usize>();
        let scopes = grant.scopes.iter().map(|scope| scope.len() + 8).sum::<usize>();
        let begun = self.meter(grant.label.len() + pairs + scopes)?;
        let signs = grant.signs;
        let grant = check(kind, grant).map_err(wasmtime::Error::msg)?;
        let (mut new, text) = self.draft().make_credential(grant).map_err(trap)?;
        if let (true, Some(scope)) = (signs, self.draft().call().scope.clone()) {
            let sealed = self.outside().sealing.seal(&copy_name(&scope, &new.id), text.as_bytes())?;
            new.sealed = Some(sealed.into());
        }
        let id = new.id.to_string();
        self.draft().issue_credential(new).await.map_err(trap)?;
        self.excuse(begun).await;
        Ok(issued(id, &text))
    }
}

/// The one copy that leaves the host.
fn issued(id: String, text: &Zeroizing<String>) -> wit::Issued {
    wit::Issued { id, secret: text.to_string() }
}

fn check(kind: CredentialKind, grant: wit::Grant) -> Result<Grant, String> {
    let wit::Grant { label, attributes, scopes, expires_at, signs: _ } = grant;
    if label.len() > CREDENTIAL_LABEL_BYTES_MAX || label.chars().any(char::is_control) {
        return Err(format!("a label has at most {CREDENTIAL_LABEL_BYTES_MAX} bytes without control characters"));
    }
    if !(1..=ATTRIBUTES_MAX).contains(&attributes.len()) {
        return Err(format!("a key or token has 1 to {ATTRIBUTES_MAX} attributes"));
    }
    let attributes = attributes.into_iter().map(|pair| Attribute::new(pair.name, pair.value));
    let attributes: Vec<Attribute> = attributes.collect::<Result<_, _>>()?;
    for (position, attribute) in attributes.iter().enumerate() {
        if attributes.iter().take(position).any(|earlier| earlier.name() == attribute.name()) {
            return Err(format!("the attribute {:?} stands twice", attribute.name()));
        }
    }
    if scopes.len() > KEY_SCOPES_MAX || !scopes.iter().all(|scope| is_scope(scope)) {
        return Err(format!("a key or token has at most {KEY_SCOPES_MAX} scopes of 1 to 64 visible characters"));
    }
    // Beyond it lies no number that the database counts with.
    let expires_at = expires_at.map(|at| at.min(EXPIRES_AT_MAX));
    Ok(Grant { kind, label, attributes, scopes, expires_at })
}

fn size_of(pair: &Pair) -> usize {
    pair.name.len() + pair.value.len() + 16
}

#[cfg(test)]
mod tests;
