//! Solana: addresses, messages, transactions.
//!
//! Neither a transaction nor a message has a prefix when it is signed, so only the content distinguishes them. A
//! transaction that a key can authorise contains the public key. So bytes that contain the public key are never signed
//! as a message, and other bytes are never signed as a transaction.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::{
    KeyringError,
    ed25519::{self, Key, Signature},
};

/// Number of characters of 32 bytes in base58.
const ADDRESS_CHARS: RangeInclusive<usize> = 32..=44;

/// A public key, or an address that a program derived, which has no private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address([u8; 32]);

impl Address {
    pub const fn from_bytes(bytes: [u8; 32]) -> Address {
        Address(bytes)
    }

    pub fn of(key: &Key) -> Address {
        Address(key.public_key())
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns whether the address can have a private key.
    ///
    /// An address without a private key can also receive payments: vaults of several owners belong to a program. But
    /// token accounts have no private key either, and coins sent to a token account are usually lost. A sender should
    /// call this function first.
    pub fn is_on_curve(&self) -> bool {
        ed25519::is_on_curve(&self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&bs58::encode(self.0).into_string())
    }
}

impl FromStr for Address {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Address, KeyringError> {
        // Checked first, since the decoding time is quadratic in the length.
        if !ADDRESS_CHARS.contains(&text.len()) {
            return Err(KeyringError::SolanaAddress);
        }
        let mut bytes = [0; 32];
        match bs58::decode(text).onto(&mut bytes) {
            Ok(32) => Ok(Address(bytes)),
            _ => Err(KeyringError::SolanaAddress),
        }
    }
}

/// Formats a signature in base58, as Solana does.
pub fn write_signature(signature: &Signature) -> String {
    bs58::encode(signature.to_bytes()).into_string()
}

/// Parses the output of [`write_signature`].
pub fn read_signature(text: &str) -> Result<Signature, KeyringError> {
    let mut bytes = [0; 64];
    // 64 bytes have at most 88 characters.
    match text.len() <= 88 && bs58::decode(text).onto(&mut bytes) == Ok(64) {
        true => Ok(Signature::from_bytes(bytes)),
        false => Err(KeyringError::Signature),
    }
}

/// Signs the message bytes of a transaction, which must contain this public key.
pub fn sign_transaction(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    if !contains(message, &key.public_key()) {
        return Err(KeyringError::NotSigner);
    }
    Ok(key.sign(message))
}

/// Signs a message, which must not contain this public key.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    if contains(message, &key.public_key()) {
        return Err(KeyringError::MessageLikeTransaction);
    }
    Ok(key.sign(message))
}

/// Checks that the key of this address signed exactly these bytes.
pub fn verify(address: &Address, bytes: &[u8], signature: &Signature) -> Result<(), KeyringError> {
    signature.verify(&address.0, bytes)
}

fn contains(bytes: &[u8], public_key: &[u8; 32]) -> bool {
    bytes.windows(32).any(|window| window == public_key)
}

#[cfg(test)]
mod tests;
