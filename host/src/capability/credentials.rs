//! `credentials`: keys and tokens that the plugin issues, and password hashes. Checks grants and seals copies of
//! signing keys. The draft implements the rest.
//!
//! The text of a key, token or password is never stored, except for the sealed copy of a signing key.

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
            bail!("a token cannot sign webhooks: `signs` is for keys");
        }
        self.issue(CredentialKind::Token, grant).await
    }

    async fn find(&mut self, attribute: Pair) -> wasmtime::Result<Vec<wit::Credential>> {
        self.count(size_of(&attribute))?;
        // No credential can have an invalid attribute.
        let Ok(attribute) = Attribute::new(attribute.name, attribute.value) else { return Ok(Vec::new()) };
        let wait_started = self.begin_wait();
        let found = self.draft().find_credentials(&attribute).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let credential = |issued: IssuedCredential| wit::Credential {
            id: issued.id.to_string(),
            kind: issued.kind.name().to_owned(),
            label: issued.label,
            created_at: issued.created_at,
            expires_at: issued.expires_at,
            last_used_at: issued.last_used_at,
        };
        let found: Vec<wit::Credential> = found.into_iter().map(credential).collect();
        self.meter_result(found.iter().map(|credential| credential.id.len() + credential.label.len() + 60).sum())?;
        Ok(found)
    }

    async fn revoke(&mut self, id: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(id.len())?;
        let revoked = self.draft().revoke_credential(&id).await.map_err(trap);
        self.end_wait(wait_started).await;
        revoked
    }

    async fn revoke_all(&mut self, attribute: Pair) -> wasmtime::Result<u32> {
        self.count(size_of(&attribute))?;
        let Ok(attribute) = Attribute::new(attribute.name, attribute.value) else { return Ok(0) };
        let wait_started = self.begin_wait();
        let revoked = self.draft().revoke_credentials(&attribute).await.map_err(trap);
        self.end_wait(wait_started).await;
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
        let wait_started = self.meter(grant.label.len() + pairs + scopes)?;
        let signs = grant.signs;
        let grant = check_grant(kind, grant).map_err(wasmtime::Error::msg)?;
        let (mut new, text) = self.draft().make_credential(grant).map_err(trap)?;
        if let (true, Some(scope)) = (signs, self.draft().call().scope.clone()) {
            let sealed = self.outbound_context().sealing.seal(&copy_name(&scope, &new.id), text.as_bytes())?;
            new.sealed = Some(sealed.into());
        }
        let id = new.id.to_string();
        self.draft().issue_credential(new).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(issued(id, &text))
    }
}

/// Returns the only copy of the text that leaves the host.
fn issued(id: String, text: &Zeroizing<String>) -> wit::Issued {
    wit::Issued { id, secret: text.to_string() }
}

fn check_grant(kind: CredentialKind, grant: wit::Grant) -> Result<Grant, String> {
    let wit::Grant { label, attributes, scopes, expires_at, signs: _ } = grant;
    if label.len() > CREDENTIAL_LABEL_BYTES_MAX || label.chars().any(char::is_control) {
        return Err(format!("a label must have at most {CREDENTIAL_LABEL_BYTES_MAX} bytes and no control characters"));
    }
    if !(1..=ATTRIBUTES_MAX).contains(&attributes.len()) {
        return Err(format!("a key or token must have 1 to {ATTRIBUTES_MAX} attributes"));
    }
    let attributes = attributes.into_iter().map(|pair| Attribute::new(pair.name, pair.value));
    let attributes: Vec<Attribute> = attributes.collect::<Result<_, _>>()?;
    for (position, attribute) in attributes.iter().enumerate() {
        if attributes.iter().take(position).any(|earlier| earlier.name() == attribute.name()) {
            return Err(format!("the attribute {:?} is given twice", attribute.name()));
        }
    }
    if scopes.len() > KEY_SCOPES_MAX || !scopes.iter().all(|scope| is_scope(scope)) {
        return Err(format!("a key or token must have at most {KEY_SCOPES_MAX} scopes of 1 to 64 visible characters"));
    }
    // The database cannot represent larger numbers.
    let expires_at = expires_at.map(|at| at.min(EXPIRES_AT_MAX));
    Ok(Grant { kind, label, attributes, scopes, expires_at })
}

fn size_of(pair: &Pair) -> usize {
    pair.name.len() + pair.value.len() + 16
}

#[cfg(test)]
mod tests;
