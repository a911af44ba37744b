//! Secrets that sign webhooks: one for each endpoint, derived from a root that is sealed under the master key.
//!
//! Nothing is sealed per endpoint, so a rotation of the master key changes one row, and a secret is the same in every
//! re-run of a call. Invariant: two endpoints, tenants or plugins never share a secret.

use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{
    SecretError, SecretText,
    aead::{self, KeyBytes},
};

/// Prefix of a base64 secret, as in Standard Webhooks.
pub const WEBHOOK_SECRET_PREFIX: &str = "whsec_";

/// Formats a secret for people.
pub fn webhook_secret_text(secret: &[u8]) -> SecretText {
    SecretText::new(format!("{WEBHOOK_SECRET_PREFIX}{}", *Zeroizing::new(STANDARD.encode(secret))))
}

/// 32 random bytes, generated once per database and never changed.
pub struct SigningRoot(KeyBytes);

/// Identifies the secrets of a webhook endpoint.
#[derive(Clone, Copy)]
pub struct Signer<'a> {
    pub plugin: &'a str,
    pub tenant: &'a str,
    pub endpoint: &'a str,
    /// Random, so that a new endpoint of the same name has other secrets.
    pub nonce: &'a str,
    /// Number of rotations.
    pub number: u32,
    /// Time at which the previous secret stops signing, in milliseconds since 1970.
    pub previous_until: Option<u64>,
}

impl SigningRoot {
    pub fn new(bytes: KeyBytes) -> SigningRoot {
        SigningRoot(bytes)
    }

    /// Returns the current secret.
    pub fn secret(&self, signer: &Signer<'_>) -> Result<Zeroizing<[u8; 32]>, SecretError> {
        self.derive(signer, signer.number)
    }

    /// Returns all secrets that sign at `now`, the newest first.
    pub fn secrets(&self, signer: &Signer<'_>, now: u64) -> Result<Vec<Zeroizing<[u8; 32]>>, SecretError> {
        let mut secrets = vec![self.secret(signer)?];
        let overlaps = signer.previous_until.is_some_and(|until| now < until);
        if let (true, Some(before)) = (overlaps, signer.number.checked_sub(1)) {
            secrets.push(self.derive(signer, before)?);
        }
        Ok(secrets)
    }

    /// Returns the current secret, formatted for people.
    pub fn text(&self, signer: &Signer<'_>) -> Result<SecretText, SecretError> {
        Ok(webhook_secret_text(self.secret(signer)?.as_ref()))
    }

    fn derive(&self, signer: &Signer<'_>, number: u32) -> Result<KeyBytes, SecretError> {
        let Signer { plugin, tenant, endpoint, nonce, .. } = signer;
        let name = aead::bind(&[plugin, tenant, endpoint, nonce, &number.to_string()]);
        aead::derive_key(self.0.as_ref(), b"webhook", &name)
    }
}

impl std::fmt::Debug for SigningRoot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SigningRoot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer<'a>(tenant: &'a str, endpoint: &'a str, number: u32) -> Signer<'a> {
        Signer { plugin: "notes", tenant, endpoint, nonce: "n", number, previous_until: Some(10) }
    }

    fn secret(root: u8, tenant: &str, endpoint: &str, number: u32) -> Vec<u8> {
        let root = SigningRoot::new(Zeroizing::new([root; 32]));
        root.secret(&signer(tenant, endpoint, number)).unwrap().to_vec()
    }

    #[test]
    fn secret_depends_on_root_tenant_endpoint_and_rotation() {
        let base = secret(1, "acme/test", "a", 1);
        assert_eq!(base, secret(1, "acme/test", "a", 1));
        for other in [secret(2, "acme/test", "a", 1), secret(1, "acme/live", "a", 1), secret(1, "acme/test", "b", 1)] {
            assert_ne!(base, other);
        }
        assert_ne!(base, secret(1, "acme/test", "a", 2));
    }

    #[test]
    fn previous_secret_signs_until_its_overlap_ends() {
        let root = SigningRoot::new(Zeroizing::new([1; 32]));
        let signer = signer("acme/test", "a", 2);
        let signing = |now| root.secrets(&signer, now).unwrap().len();
        assert_eq!((signing(9), signing(10)), (2, 1));
        assert_eq!(root.secrets(&signer, 9).unwrap()[1].to_vec(), secret(1, "acme/test", "a", 1));
    }
}
