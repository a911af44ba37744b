//! What seals secrets that stand inside of records: keys derived from one root, which is itself sealed under the master key.
//!
//! So a rotation of the master key touches one row, and records are left alone. Invariant: what was sealed under one name
//! opens under no other.

use zeroize::Zeroizing;

use super::{
    SecretError, SecretName,
    aead::{self, KeyBytes},
};

const FORMAT: u8 = 1;

/// 32 random bytes, made once for a database and kept for ever.
pub struct SealingRoot(KeyBytes);

impl SealingRoot {
    pub fn new(bytes: KeyBytes) -> SealingRoot {
        SealingRoot(bytes)
    }

    /// Format (1 byte), nonce (24), ciphertext with tag (16 more than the text).
    pub fn seal(&self, name: &SecretName, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        let bound = bound(name);
        let mut out = Vec::with_capacity(1 + aead::NONCE_BYTES + plain.len() + 16);
        out.push(FORMAT);
        aead::seal_into(&mut out, &self.key(&bound)?, &bound, plain)?;
        Ok(out)
    }

    /// The reverse of [`SealingRoot::seal`], under the same name.
    pub fn open(&self, name: &SecretName, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let Some((&FORMAT, sealed)) = sealed.split_first() else { return Err(SecretError::Refused) };
        let bound = bound(name);
        aead::open(sealed, &self.key(&bound)?, &bound)
    }

    fn key(&self, bound: &[u8]) -> Result<KeyBytes, SecretError> {
        aead::derive_key(self.0.as_ref(), b"sealing records, 1", bound)
    }
}

fn bound(name: &SecretName) -> Vec<u8> {
    aead::bind(&[&name.tenant, &name.purpose, &name.name])
}

impl std::fmt::Debug for SealingRoot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SealingRoot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(tenant: &str, name: &str) -> SecretName {
        SecretName { tenant: tenant.into(), purpose: "destination".into(), name: name.into() }
    }

    #[test]
    fn what_was_sealed_opens_under_its_own_name_and_root_only() {
        let root = SealingRoot::new(Zeroizing::new([1; 32]));
        let sealed = root.seal(&name("acme/test", "bank"), b"secret").unwrap();
        assert_eq!(root.open(&name("acme/test", "bank"), &sealed).unwrap().as_slice(), b"secret");
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert!(root.open(&name("acme/live", "bank"), &sealed).is_err());
        assert!(root.open(&name("acme/test", "other"), &sealed).is_err());
        assert!(SealingRoot::new(Zeroizing::new([2; 32])).open(&name("acme/test", "bank"), &sealed).is_err());
        assert!(root.open(&name("acme/test", "bank"), &sealed[..20]).is_err());
    }

    #[test]
    fn the_same_secret_is_never_sealed_to_the_same_bytes() {
        let root = SealingRoot::new(Zeroizing::new([1; 32]));
        let seal = || root.seal(&name("acme/test", "bank"), b"secret").unwrap();
        assert_ne!(seal(), seal());
    }
}
