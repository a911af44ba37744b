//! Solana: addresses, messages, transactions.
//!
//! A transaction is signed as it is, without a prefix, and so is a message: only what the bytes hold tells them apart.
//! A transaction that a key can authorise names that key. So what names the key is never signed as a message, and what
//! does not is never signed as a transaction.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::{
    KeyringError,
    ed25519::{self, Key, Signature},
};

/// Characters of 32 bytes in base58.
const ADDRESS_CHARS: RangeInclusive<usize> = 32..=44;

/// A public key, or an address that a program derived and that nobody has a key for.
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

    /// Whether somebody may have a key for it. Both kinds are addresses that can be paid: vaults of several owners belong to
    /// a program. But a token account is one too, and coins sent to it are mostly lost: who pays asks this first.
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
        // Decoding takes time with the square of the length.
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

/// base58, as Solana writes signatures.
pub fn write_signature(signature: &Signature) -> String {
    bs58::encode(signature.to_bytes()).into_string()
}

/// Reads what [`write_signature`] writes.
pub fn read_signature(text: &str) -> Result<Signature, KeyringError> {
    let mut bytes = [0; 64];
    // 64 bytes come to 88 characters at most.
    match text.len() <= 88 && bs58::decode(text).onto(&mut bytes) == Ok(64) {
        true => Ok(Signature::from_bytes(bytes)),
        false => Err(KeyringError::Signature),
    }
}

/// The signature of a transaction's message bytes, which have to name this key.
pub fn sign_transaction(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    if !names(message, &key.public_key()) {
        return Err(KeyringError::NotSigner);
    }
    Ok(key.sign(message))
}

/// The signature of a text or of other bytes, which must not name this key.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    if names(message, &key.public_key()) {
        return Err(KeyringError::MessageLikeTransaction);
    }
    Ok(key.sign(message))
}

/// Refused unless the key of this address signed exactly these bytes.
pub fn verify(address: &Address, bytes: &[u8], signature: &Signature) -> Result<(), KeyringError> {
    signature.verify(&address.0, bytes)
}

fn names(bytes: &[u8], public_key: &[u8; 32]) -> bool {
    bytes.windows(32).any(|window| window == public_key)
}

#[cfg(test)]
mod tests;
