//! Signatures of messages by EVM keys (EIP-191, version 0x45: `personal_sign`).
//!
//! The prefix ensures that no message is a transaction.

use super::{Address, keccak};
use crate::{
    KeyringError,
    secp256k1::{Key, Signature},
};

/// Signs `message` with this key.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&digest(message))
}

/// Recovers the signer of this message. Recovery succeeds for any message: compare the address with the expected one.
pub fn recover_message(message: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&digest(message))?))
}

fn digest(message: &[u8]) -> [u8; 32] {
    let prefix = format!("\x19Ethereum Signed Message:\n{}", message.len());
    keccak(&[prefix.as_bytes(), message].concat())
}
