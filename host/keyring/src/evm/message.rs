//! Messages that an EVM key signs (EIP-191, version 0x45: `personal_sign`).
//!
//! The prefix makes sure that no message is a transaction.

use super::{Address, keccak};
use crate::{
    KeyringError,
    secp256k1::{Key, Signature},
};

/// The signature of `message` by this key.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&digest(message))
}

/// Who signed this message. Every signature has somebody: compare the address with the one that was expected.
pub fn recover_message(message: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&digest(message))?))
}

fn digest(message: &[u8]) -> [u8; 32] {
    let prefix = format!("\x19Ethereum Signed Message:\n{}", message.len());
    keccak(&[prefix.as_bytes(), message].concat())
}
