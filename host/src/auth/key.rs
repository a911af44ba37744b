//! The text of a key or token, its hash and its stored row.
//!
//! Invariant: the row holds only the hash (`signing` keeps a sealed copy of keys that sign). The text has 32 random
//! characters of 62 (190 bits), so its plain SHA-256 cannot be searched. The prefix identifies keys to people and
//! secret scanners.

use std::{fmt, sync::Arc};

use zeroize::Zeroizing;

use super::AuthAdminError;
use crate::clock::Timestamp;
pub use crate::secrets::key_text::hash_text;
use crate::{changes::credential::CredentialKind, limits::KEY_SECRET_CHARACTERS, secrets::key_text::base62};

/// Environment of a tenant. Test and live data are separate, because the environment is part of the tenant.
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

/// A key or token as stored in the database.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// "key_…" or "token_…". Logs and lists contain it.
    pub id: Arc<str>,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// "*" means every plugin.
    pub plugin: Arc<str>,
    /// Without the environment.
    pub organization: Arc<str>,
    pub environment: Environment,
    /// "owner_…". Shared by the keys of one rotation, or by the credentials that a plugin issued with the same
    /// attributes.
    pub owner: Arc<str>,
    /// Empty means unrestricted for an API key, and no scope at all for a token.
    pub scopes: Vec<String>,
    pub attributes: Vec<(String, String)>,
    pub created_at: Timestamp,
    /// The key is not valid from this time on.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Precise to the minute.
    pub last_used_at: Option<Timestamp>,
    /// True if webhooks may be signed with the key. A sealed copy of its text is then stored until it is revoked.
    pub signs: bool,
    pub kind: CredentialKind,
    /// The plugin's name for the key. `None` if an operator created it.
    pub label: Option<String>,
}

impl KeyRow {
    /// Returns the tenant: the organization and environment, "acme/test".
    pub fn tenant(&self) -> String {
        format!("{}/{}", self.organization, self.environment.name())
    }

    /// Returns true if the key is neither expired nor revoked.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

impl fmt::Debug for KeyRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyRow").field("id", &self.id).field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// Generates the text of a new key.
pub fn generate_text(environment: Environment) -> Result<Zeroizing<String>, AuthAdminError> {
    let (prefix, secret) = (CredentialKind::ApiKey.text_prefix(), random_base62(KEY_SECRET_CHARACTERS)?);
    Ok(Zeroizing::new(format!("{prefix}{}_{}", environment.name(), secret.as_str())))
}

/// Generates the secret of an OAuth client. Its prefix differs from that of a key, so the two cannot be confused.
pub(super) fn generate_secret(environment: Environment) -> Result<Zeroizing<String>, AuthAdminError> {
    let secret = random_base62(KEY_SECRET_CHARACTERS)?;
    Ok(Zeroizing::new(format!("cs_{}_{}", environment.name(), secret.as_str())))
}

/// Generates an id: `prefix` (such as "key_" or "client_") and 16 random characters.
pub(super) fn generate_id(prefix: &str) -> Result<Arc<str>, AuthAdminError> {
    Ok(Arc::from(format!("{prefix}{}", random_base62(16)?.as_str())))
}

/// Returns the kind of credential that a text has by its form. Saves a database lookup for malformed credentials.
pub fn credential_kind(text: &str) -> Option<CredentialKind> {
    let is_secret =
        |secret: &str| secret.len() == KEY_SECRET_CHARACTERS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    CredentialKind::ALL.into_iter().find(|kind| {
        let rest = text.strip_prefix(kind.text_prefix()).and_then(|rest| rest.split_once('_'));
        rest.is_some_and(|(environment, secret)| Environment::parse(environment).is_some() && is_secret(secret))
    })
}

fn random_base62(characters: usize) -> Result<Zeroizing<String>, AuthAdminError> {
    base62(characters, |bytes| getrandom::fill(bytes).map_err(|_| AuthAdminError::Random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_text_is_a_key_and_unique() {
        let one = generate_text(Environment::Test).unwrap();
        let two = generate_text(Environment::Test).unwrap();
        assert!(one.starts_with("tk_test_") && credential_kind(&one) == Some(CredentialKind::ApiKey));
        assert!(generate_text(Environment::Live).unwrap().starts_with("tk_live_"));
        assert_ne!(*one, *two);
    }

    #[test]
    fn token_is_distinguished_from_a_key_by_its_prefix() {
        let token = format!("tok_live_{}", "a".repeat(KEY_SECRET_CHARACTERS));
        assert_eq!(credential_kind(&token), Some(CredentialKind::Token));
    }

    #[test]
    fn malformed_texts_have_no_kind() {
        let long = "a".repeat(KEY_SECRET_CHARACTERS + 1);
        for text in
            ["", "tk_test_", "tk_test_short", &format!("tk_test_{long}"), &format!("tk_prod_{}", "a".repeat(32))]
        {
            assert_eq!(credential_kind(text), None, "{text}");
        }
        assert_eq!(credential_kind(&format!("tk_live_{}", "é".repeat(16))), None);
    }
}
