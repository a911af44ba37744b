//! The text of an API key, its hash, and the row that is kept of it.
//!
//! Invariant: the row holds the hash alone (`signing` keeps a sealed copy of keys that sign). The text has 32 random characters of 62 (190 bits), so its plain SHA-256 cannot be
//! searched; the prefix tells people and secret scanners what they look at.

use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::AuthError;
use crate::{changes::change_set::Timestamp, limits::KEY_SECRET_CHARACTERS};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Test and live never meet: the environment is part of the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    Test,
    Live,
}

impl Environment {
    pub fn name(self) -> &'static str {
        match self {
            Environment::Test => "test",
            Environment::Live => "live",
        }
    }

    pub fn parse(name: &str) -> Option<Environment> {
        [Environment::Test, Environment::Live].into_iter().find(|environment| environment.name() == name)
    }

    fn prefix(self) -> &'static str {
        match self {
            Environment::Test => "tk_test_",
            Environment::Live => "tk_live_",
        }
    }
}

/// A key as the database keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// "key_…"; what logs and lists show.
    pub id: Arc<str>,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// "*" opens every plugin.
    pub plugin: Arc<str>,
    /// Without the environment.
    pub organization: Arc<str>,
    pub environment: Environment,
    /// "owner_…"; shared by the keys of one rotation.
    pub owner: Arc<str>,
    /// Empty: everything.
    pub scopes: Vec<String>,
    pub attributes: Vec<(String, String)>,
    pub created_at: Timestamp,
    /// From this moment on it opens nothing.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
    /// Webhooks may be signed with it: a sealed copy of its text is kept until it is revoked.
    pub signs: bool,
}

impl KeyRow {
    /// "acme/test".
    pub fn tenant(&self) -> String {
        format!("{}/{}", self.organization, self.environment.name())
    }

    /// Neither expired nor revoked.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

impl fmt::Debug for KeyRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyRow").field("id", &self.id).field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// A new text for a key. Wiped when it is dropped.
pub fn generate_text(environment: Environment) -> Result<Zeroizing<String>, AuthError> {
    let secret = Zeroizing::new(random_base62(KEY_SECRET_CHARACTERS)?);
    Ok(Zeroizing::new(format!("{}{}", environment.prefix(), secret.as_str())))
}

/// A new text for the secret of a client of OAuth; looks like no key, so that neither is taken for the other.
pub(super) fn generate_secret(environment: Environment) -> Result<Zeroizing<String>, AuthError> {
    let secret = Zeroizing::new(random_base62(KEY_SECRET_CHARACTERS)?);
    Ok(Zeroizing::new(format!("cs_{}_{}", environment.name(), secret.as_str())))
}

/// "key_" or "owner_" and 16 random characters.
pub(super) fn generate_id(prefix: &str) -> Result<Arc<str>, AuthError> {
    Ok(Arc::from(format!("{prefix}{}", random_base62(16)?)))
}

/// Whether a text can be a key at all: spares the database what cannot.
pub fn is_key_text(text: &str) -> bool {
    [Environment::Test, Environment::Live]
        .into_iter()
        .filter_map(|environment| text.strip_prefix(environment.prefix()))
        .any(|secret| secret.len() == KEY_SECRET_CHARACTERS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

pub fn hash_text(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn random_base62(characters: usize) -> Result<String, AuthError> {
    let mut text = String::with_capacity(characters);
    let mut bytes = Zeroizing::new([0u8; 64]);
    while text.len() < characters {
        getrandom::fill(bytes.as_mut_slice()).map_err(|_| AuthError::Random)?;
        // 248 is the largest multiple of 62 in a byte: what lies above would favour the first characters.
        let fair = bytes.iter().filter(|byte| **byte < 248);
        let characters_left = characters - text.len();
        text.extend(
            fair.filter_map(|byte| BASE62.get(usize::from(byte % 62))).take(characters_left).map(|b| char::from(*b)),
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_text_is_a_key_text_and_never_the_same_twice() {
        let one = generate_text(Environment::Test).unwrap();
        let two = generate_text(Environment::Test).unwrap();
        assert!(one.starts_with("tk_test_") && is_key_text(&one));
        assert!(generate_text(Environment::Live).unwrap().starts_with("tk_live_"));
        assert_ne!(*one, *two);
    }

    #[test]
    fn other_texts_are_no_keys() {
        let long = "a".repeat(KEY_SECRET_CHARACTERS + 1);
        for text in
            ["", "tk_test_", "tk_test_short", &format!("tk_test_{long}"), &format!("tk_prod_{}", "a".repeat(32))]
        {
            assert!(!is_key_text(text), "{text}");
        }
        assert!(!is_key_text(&format!("tk_live_{}", "é".repeat(16))));
    }
}
