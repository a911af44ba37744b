//! Seals secrets that are stored inside records. The keys are derived from one root, which is sealed under the master
//! key.
//!
//! A rotation of the master key therefore changes one row and no records. Invariant: a secret sealed under one name
//! opens under no other.

use zeroize::Zeroizing;

use super::{
    SecretError, SecretName,
    aead::{self, KeyBytes},
};

const FORMAT: u8 = 1;

/// 32 random bytes, generated once per database and never changed.
pub struct SealingRoot(KeyBytes);

impl SealingRoot {
    pub fn new(bytes: KeyBytes) -> SealingRoot {
        SealingRoot(bytes)
    }

    /// Seals a secret: format (1 byte), nonce (24), ciphertext with tag (16 bytes more than the plaintext).
    pub fn seal(&self, name: &SecretName, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        let bound = bound(name);
        let mut out = Vec::with_capacity(1 + aead::NONCE_BYTES + plain.len() + 16);
        out.push(FORMAT);
        aead::seal_into(&mut out, &self.key(&bound)?, &bound, plain)?;
        Ok(out)
    }

    /// Opens the output of [`SealingRoot::seal`] under the same name.
    pub fn open(&self, name: &SecretName, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let Some((&FORMAT, sealed)) = sealed.split_first() else { return Err(SecretError::CannotOpen) };
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
    fn sealed_secret_opens_only_under_its_name_and_root() {
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
    fn sealing_the_same_secret_twice_gives_different_bytes() {
        let root = SealingRoot::new(Zeroizing::new([1; 32]));
        let seal = || root.seal(&name("acme/test", "bank"), b"secret").unwrap();
        assert_ne!(seal(), seal());
    }
}
