//! Tron: addresses, messages, transactions.
//!
//! Keys and accounts are those of EVM; only what is written and hashed differs. Never builds a transaction or reads one:
//! it signs the `raw_data` bytes that somebody else has made and understood.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use crate::{
    KeyringError, evm,
    secp256k1::{Key, PublicKey, Signature},
};

/// The byte in front of an account, on the main network and on the test networks.
const VERSION: u8 = 0x41;

/// Characters of an address: 21 bytes and 4 of checksum that begin with [`VERSION`] always come to 34.
const ADDRESS_CHARS: usize = 34;

/// An account or a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address([u8; 20]);

impl Address {
    pub const fn from_bytes(bytes: [u8; 20]) -> Address {
        Address(bytes)
    }

    pub fn of(key: &PublicKey) -> Address {
        Address(key.account())
    }

    /// As contracts see it: without the version.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// The other form that nodes use: 41 and 40 hex digits.
    pub fn to_hex(&self) -> String {
        format!("{VERSION:02x}{}", hex::encode(self.0))
    }
}

/// base58 with a checksum: T and 33 characters.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&bs58::encode(self.0).with_check_version(VERSION).into_string())
    }
}

impl FromStr for Address {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Address, KeyringError> {
        // Decoding takes time with the square of the length.
        if text.len() != ADDRESS_CHARS {
            return Err(KeyringError::TronAddress);
        }
        let decoded = bs58::decode(text).with_check(Some(VERSION)).into_vec().map_err(|error| match error {
            bs58::decode::Error::InvalidChecksum { .. } => KeyringError::AddressChecksum,
            _ => KeyringError::TronAddress,
        })?;
        let account = decoded.split_first().and_then(|(_, account)| <[u8; 20]>::try_from(account).ok());
        account.map(Address).ok_or(KeyringError::TronAddress)
    }
}

/// The name of a transaction on the blockchain, which is also what is signed: SHA-256 of its `raw_data`.
pub fn transaction_id(raw_data: &[u8]) -> [u8; 32] {
    Sha256::digest(raw_data).into()
}

/// The signature that goes beside `raw_data`.
pub fn sign_transaction(key: &Key, raw_data: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&transaction_id(raw_data))
}

/// Who signed this transaction. Every signature has somebody: compare the address with the one that was expected.
pub fn recover_transaction(raw_data: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&transaction_id(raw_data))?))
}

/// The signature of `message` by this key (TIP-191, `signMessageV2`). The prefix makes sure that it is no transaction.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&message_digest(message))
}

/// Who signed this message. Every signature has somebody: compare the address with the one that was expected.
pub fn recover_message(message: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&message_digest(message))?))
}

fn message_digest(message: &[u8]) -> [u8; 32] {
    let prefix = format!("\x19TRON Signed Message:\n{}", message.len());
    evm::keccak(&[prefix.as_bytes(), message].concat())
}

#[cfg(test)]
mod tests;
