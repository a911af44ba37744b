//! Keys on secp256k1, for EVM and Tron, and their signatures.
//!
//! Only the family modules of this crate may sign digests, because a signature over 32 arbitrary bytes can be valid for
//! any transaction. Signing uses no randomness (RFC 6979). A signature has the low `s`.

use std::fmt;

use k256::ecdsa::{RecoveryId, Signature as Ecdsa, SigningKey, VerifyingKey};
use sha3::{Digest, Keccak256};
use zeroize::Zeroizing;

use crate::{KeyringError, stack::wiped_after};

/// Offset of `v` in EVM messages and in all Tron signatures.
const V_BASE: u8 = 27;

/// A private key.
pub struct Key(Box<SigningKey>);

impl Key {
    /// Creates a key. Fails if it is zero or not below the order of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Key, KeyringError> {
        let key = wiped_after(|| SigningKey::from_bytes(bytes.into()).map(Box::new));
        key.map(Key).map_err(|_| KeyringError::PrivateKey)
    }

    /// Returns the 32 bytes of the private key, big-endian.
    pub(crate) fn expose(&self) -> Zeroizing<Vec<u8>> {
        wiped_after(|| Zeroizing::new(self.0.to_bytes().to_vec()))
    }

    pub fn public_key(&self) -> PublicKey {
        PublicKey(*self.0.verifying_key())
    }

    pub(crate) fn sign_digest(&self, digest: &[u8; 32]) -> Result<Signature, KeyringError> {
        let signed = wiped_after(|| self.0.sign_prehash_recoverable(digest));
        let (ecdsa, recovery) = signed.map_err(|_| KeyringError::PrivateKey)?;
        Signature::new(ecdsa, recovery)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("secp256k1::Key([secret])")
    }
}

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Returns the compressed form.
    pub fn to_bytes(&self) -> [u8; 33] {
        let point = self.0.to_encoded_point(true);
        let mut bytes = [0; 33];
        bytes.copy_from_slice(point.as_bytes());
        bytes
    }

    /// Returns the account of EVM and Tron: the last 20 bytes of Keccak-256 over the two coordinates.
    pub(crate) fn account(&self) -> [u8; 20] {
        let point = self.0.to_encoded_point(false);
        // The first byte marks the point as uncompressed.
        let digest = Keccak256::digest(point.as_bytes().split_at(1).1);
        let mut account = [0; 20];
        account.copy_from_slice(digest.split_at(12).1);
        account
    }
}

/// A signature from which the public key can be recovered. It has the low `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    ecdsa: Ecdsa,
    is_y_odd: bool,
}

impl Signature {
    /// Returns the bytes `r`, `s` and `v`, which is 27 or 28.
    pub fn to_bytes(&self) -> [u8; 65] {
        let mut bytes = [V_BASE + u8::from(self.is_y_odd); 65];
        bytes.split_at_mut(64).0.copy_from_slice(&self.ecdsa.to_bytes());
        bytes
    }

    /// Parses the output of [`Signature::to_bytes`]. Rejects the high `s`: anyone can compute that signature from the
    /// signature with the low `s`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Signature, KeyringError> {
        let (v, scalars) = bytes.split_last().ok_or(KeyringError::Signature)?;
        let recovery = v.checked_sub(V_BASE).and_then(RecoveryId::from_byte).ok_or(KeyringError::Signature)?;
        let ecdsa = Ecdsa::from_slice(scalars).map_err(|_| KeyringError::Signature)?;
        Signature::new(ecdsa, recovery)
    }

    pub(crate) fn from_scalars(r: [u8; 32], s: [u8; 32], is_y_odd: bool) -> Result<Signature, KeyringError> {
        let ecdsa = Ecdsa::from_scalars(r, s).map_err(|_| KeyringError::Signature)?;
        Signature::new(ecdsa, RecoveryId::new(is_y_odd, false))
    }

    /// Creates a signature. Rejects the high `s`, and a recovery id above 1 (once in 2^127), which has no encoding in
    /// the formats of the families.
    fn new(ecdsa: Ecdsa, recovery: RecoveryId) -> Result<Signature, KeyringError> {
        if recovery.is_x_reduced() || ecdsa.normalize_s().is_some() {
            return Err(KeyringError::Signature);
        }
        Ok(Signature { ecdsa, is_y_odd: recovery.is_y_odd() })
    }

    pub(crate) fn r(&self) -> [u8; 32] {
        self.ecdsa.r().to_bytes().into()
    }

    pub(crate) fn s(&self) -> [u8; 32] {
        self.ecdsa.s().to_bytes().into()
    }

    pub(crate) fn is_y_odd(&self) -> bool {
        self.is_y_odd
    }

    /// Recovers the key that signed this digest.
    pub(crate) fn recover(&self, digest: &[u8; 32]) -> Result<PublicKey, KeyringError> {
        let recovery = RecoveryId::new(self.is_y_odd, false);
        let key = VerifyingKey::recover_from_prehash(digest, &self.ecdsa, recovery);
        key.map(PublicKey).map_err(|_| KeyringError::Signature)
    }
}

/// Formats as 0x and 130 hex digits, as EVM and Tron do.
impl fmt::Display for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "0x{}", hex::encode(self.to_bytes()))
    }
}

/// Parses 0x and 130 hex digits.
impl std::str::FromStr for Signature {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Signature, KeyringError> {
        let mut bytes = [0; 65];
        let digits = text.strip_prefix("0x").ok_or(KeyringError::Signature)?;
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| KeyringError::Signature)?;
        Signature::from_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests;
