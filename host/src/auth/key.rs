//! The text of a key or token, its hash, and the row that is kept of it.
//!
//! Invariant: the row holds the hash alone (`signing` keeps a sealed copy of keys that sign). The text has 32 random characters of 62 (190 bits), so its plain SHA-256 cannot be
//! searched; the prefix tells people and secret scanners what they look at.

use std::{fmt, sync::Arc};

use zeroize::Zeroizing;

use super::AuthError;
use crate::clock::Timestamp;
pub use crate::secrets::key_text::hash_text;
use crate::{changes::credential::CredentialKind, limits::KEY_SECRET_CHARACTERS, secrets::key_text::base62};

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
    pub kind: CredentialKind,
    /// What its plugin calls it. `None`: an operator made it.
    pub label: Option<String>,
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
    let (prefix, secret) = (CredentialKind::ApiKey.text_prefix(), random_base62(KEY_SECRET_CHARACTERS)?);
    Ok(Zeroizing::new(format!("{prefix}{}_{}", environment.name(), secret.as_str())))
}

/// A new text for the secret of a client of OAuth; looks like no key, so that neither is taken for the other.
pub(super) fn generate_secret(environment: Environment) -> Result<Zeroizing<String>, AuthError> {
    let secret = random_base62(KEY_SECRET_CHARACTERS)?;
    Ok(Zeroizing::new(format!("cs_{}_{}", environment.name(), secret.as_str())))
}

/// "key_" or "owner_" and 16 random characters.
pub(super) fn generate_id(prefix: &str) -> Result<Arc<str>, AuthError> {
    Ok(Arc::from(format!("{prefix}{}", random_base62(16)?.as_str())))
}

/// What a text can be by its form alone, `None` for nothing: spares the database what cannot be a key or token.
pub fn kind_of_text(text: &str) -> Option<CredentialKind> {
    let is_secret =
        |secret: &str| secret.len() == KEY_SECRET_CHARACTERS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    CredentialKind::ALL.into_iter().find(|kind| {
        let rest = text.strip_prefix(kind.text_prefix()).and_then(|rest| rest.split_once('_'));
        rest.is_some_and(|(environment, secret)| Environment::parse(environment).is_some() && is_secret(secret))
    })
}

fn random_base62(characters: usize) -> Result<Zeroizing<String>, AuthError> {
    base62(characters, |bytes| getrandom::fill(bytes).map_err(|_| AuthError::Random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_text_is_a_key_text_and_never_the_same_twice() {
        let one = generate_text(Environment::Test).unwrap();
        let two = generate_text(Environment::Test).unwrap();
        assert!(one.starts_with("tk_test_") && kind_of_text(&one) == Some(CredentialKind::ApiKey));
        assert!(generate_text(Environment::Live).unwrap().starts_with("tk_live_"));
        assert_ne!(*one, *two);
    }

    #[test]
    fn a_token_is_told_from_a_key_by_its_text() {
        let token = format!("tok_live_{}", "a".repeat(KEY_SECRET_CHARACTERS));
        assert_eq!(kind_of_text(&token), Some(CredentialKind::Token));
    }

    #[test]
    fn other_texts_are_no_keys() {
        let long = "a".repeat(KEY_SECRET_CHARACTERS + 1);
        for text in
            ["", "tk_test_", "tk_test_short", &format!("tk_test_{long}"), &format!("tk_prod_{}", "a".repeat(32))]
        {
            assert_eq!(kind_of_text(text), None, "{text}");
        }
        assert_eq!(kind_of_text(&format!("tk_live_{}", "é".repeat(16))), None);
    }
}
