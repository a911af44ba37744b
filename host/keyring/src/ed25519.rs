//! Keys on Ed25519, for Solana, and their signatures.
//!
//! Only the family module of this crate may sign bytes, since it defines their meaning. Signing uses no randomness (RFC
//! 8032).

use std::fmt;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::{KeyringError, stack::wiped_after};

/// A private key.
pub struct Key(Box<SigningKey>);

impl Key {
    /// Creates a key. Any 32 bytes are valid.
    pub fn from_bytes(bytes: &[u8; 32]) -> Key {
        Key(wiped_after(|| Box::new(SigningKey::from_bytes(bytes))))
    }

    /// Returns the 32 bytes of the private key, followed by the 32 bytes of the public key.
    pub(crate) fn expose(&self) -> Zeroizing<Vec<u8>> {
        wiped_after(|| Zeroizing::new(self.0.to_keypair_bytes().to_vec()))
    }

    pub fn public_key(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Signature {
        Signature(wiped_after(|| self.0.sign(bytes).to_bytes()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ed25519::Key([secret])")
    }
}

/// A signature: 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    pub fn from_bytes(bytes: [u8; 64]) -> Signature {
        Signature(bytes)
    }

    pub fn to_bytes(&self) -> [u8; 64] {
        self.0
    }

    /// Checks that this public key signed these bytes. Strict: rejects keys of small order, for which one signature is
    /// valid for many messages.
    pub(crate) fn verify(&self, public_key: &[u8; 32], bytes: &[u8]) -> Result<(), KeyringError> {
        let key = VerifyingKey::from_bytes(public_key).map_err(|_| KeyringError::NotSigned)?;
        let signature = ed25519_dalek::Signature::from_bytes(&self.0);
        key.verify_strict(bytes, &signature).map_err(|_| KeyringError::NotSigned)
    }
}

/// Returns whether these bytes are a point of the curve, so that a private key may exist for them.
pub(crate) fn is_on_curve(bytes: &[u8; 32]) -> bool {
    VerifyingKey::from_bytes(bytes).is_ok()
}

#[cfg(test)]
mod tests;
