//! An API key or token that a plugin issues: its stored form, and the changes that a call makes to it.
//!
//! Plain values. Never holds the credential itself: only its hash, and a sealed copy if it signs webhooks. Nothing here
//! opens that copy.

use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};

use super::scope::Scope;
use crate::{
    clock::Timestamp,
    limits::{ATTRIBUTE_NAME_BYTES_MAX, ATTRIBUTE_VALUE_BYTES_MAX},
    secrets::SecretName,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    ApiKey,
    Token,
}

impl CredentialKind {
    pub const ALL: [CredentialKind; 2] = [CredentialKind::ApiKey, CredentialKind::Token];

    /// Returns the name in the contract (`types.principal.kind`).
    pub fn name(self) -> &'static str {
        match self {
            CredentialKind::ApiKey => "api-key",
            CredentialKind::Token => "token",
        }
    }

    pub fn parse(name: &str) -> Option<CredentialKind> {
        CredentialKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the prefix of the credential's text. The environment follows it.
    pub fn text_prefix(self) -> &'static str {
        match self {
            CredentialKind::ApiKey => "tk_",
            CredentialKind::Token => "tok_",
        }
    }

    pub fn id_prefix(self) -> &'static str {
        match self {
            CredentialKind::ApiKey => "key_",
            CredentialKind::Token => "token_",
        }
    }
}

/// A name and a value that a plugin attaches to a credential in order to find it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute {
    name: String,
    value: String,
}

impl Attribute {
    /// Checks the name and the value.
    ///
    /// # Errors
    /// A sentence that states the requirement.
    pub fn new(name: String, value: String) -> Result<Attribute, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=ATTRIBUTE_NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_plain) {
            return Err(format!(
                "the name of an attribute must have 1 to {ATTRIBUTE_NAME_BYTES_MAX} letters, digits, \"_\", \"-\" or \".\": {name:.60?}"
            ));
        }
        if !(1..=ATTRIBUTE_VALUE_BYTES_MAX).contains(&value.len()) || value.chars().any(char::is_control) {
            return Err(format!(
                "the value of an attribute must have 1 to {ATTRIBUTE_VALUE_BYTES_MAX} bytes without control characters: {value:.60?}"
            ));
        }
        Ok(Attribute { name, value })
    }

    /// Parses "NAME=VALUE".
    pub fn parse(text: &str) -> Result<Attribute, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:.60?} is not NAME=VALUE"))?;
        Attribute::new(name.to_owned(), value.to_owned())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the guard that a call bumps when it issues or revokes a credential with this attribute.
    pub fn guard(&self) -> String {
        format!("host.credentials/{self}")
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.name, self.value)
    }
}

/// A credential that a call issues. It was created at the time of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCredential {
    pub id: Arc<str>,
    pub kind: CredentialKind,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    pub label: String,
    pub owner: Arc<str>,
    pub scopes: Vec<String>,
    pub attributes: Vec<Attribute>,
    pub expires_at: Option<Timestamp>,
    /// The sealed copy of a key that signs webhooks.
    pub sealed: Option<Arc<[u8]>>,
}

/// A credential that a call revokes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedCredential {
    pub id: Arc<str>,
    pub hash: [u8; 32],
    pub attributes: Vec<Attribute>,
}

/// A change to a credential. Changes are applied in the order in which the call made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialChange {
    Issue(NewCredential),
    Revoke(RevokedCredential),
}

impl CredentialChange {
    /// Returns the number of rows that it writes or deletes.
    pub fn rows(&self) -> usize {
        let (CredentialChange::Issue(NewCredential { attributes, .. })
        | CredentialChange::Revoke(RevokedCredential { attributes, .. })) = self;
        1 + attributes.len()
    }

    pub fn hash(&self) -> &[u8; 32] {
        match self {
            CredentialChange::Issue(new) => &new.hash,
            CredentialChange::Revoke(revoked) => &revoked.hash,
        }
    }

    pub fn attributes(&self) -> &[Attribute] {
        match self {
            CredentialChange::Issue(new) => &new.attributes,
            CredentialChange::Revoke(revoked) => &revoked.attributes,
        }
    }
}

/// Returns true if the text is a scope that can stand in a comma-separated list.
pub fn is_scope(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

/// Returns the owner of credentials with these attributes. It is the scope of their idempotency keys and does not
/// change when a credential is rotated.
pub fn owner_of(scope: &Scope, attributes: &[Attribute]) -> Arc<str> {
    let mut sorted: Vec<String> = attributes.iter().map(Attribute::to_string).collect();
    sorted.sort_unstable();
    let mut hasher = Sha256::new();
    let parts = [scope.plugin().as_ref(), scope.tenant().as_ref()].into_iter().chain(sorted.iter().map(String::as_str));
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    format!("owner_{}", hex::encode(digest)).into()
}

/// Returns the name that the sealed copy of a signing key is bound to.
pub fn copy_name(scope: &Scope, id: &str) -> SecretName {
    SecretName {
        tenant: scope.tenant().to_string(),
        purpose: "issued-key".to_owned(),
        name: format!("{}/{id}", scope.plugin()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(text: &str) -> Attribute {
        Attribute::parse(text).unwrap()
    }

    #[test]
    fn attribute_has_a_plain_name_and_a_bounded_value() {
        assert_eq!(attribute("room=a=b").value(), "a=b");
        assert_eq!(attribute("room=7").to_string(), "room=7");
        let long = format!("room={}", "x".repeat(ATTRIBUTE_VALUE_BYTES_MAX + 1));
        for wrong in ["room", "=7", "room=", "ro om=7", "room=\n", &long] {
            assert!(Attribute::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn longest_attribute_fits_the_name_of_a_guard() {
        let [name, value] = [ATTRIBUTE_NAME_BYTES_MAX, ATTRIBUTE_VALUE_BYTES_MAX].map(|length| "x".repeat(length));
        assert!(Attribute::new(name, value).unwrap().guard().len() <= crate::limits::KEY_BYTES_MAX);
    }

    #[test]
    fn credentials_have_the_same_owner_if_and_only_if_scope_and_attributes_are_equal() {
        let scope = |tenant: &str| Scope::new("notes".into(), tenant.into()).unwrap();
        let owner = |tenant: &str, texts: &[&str]| {
            owner_of(&scope(tenant), &texts.iter().map(|text| attribute(text)).collect::<Vec<_>>())
        };
        let one = owner("acme/test", &["room=7", "floor=1"]);
        assert_eq!(one, owner("acme/test", &["floor=1", "room=7"]));
        for other in [owner("acme/live", &["room=7", "floor=1"]), owner("acme/test", &["room=7"])] {
            assert_ne!(one, other);
        }
    }
}
