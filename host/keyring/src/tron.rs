//! Tron: addresses, messages, transactions.
//!
//! Keys and accounts are those of EVM. Only formats and hashes differ. This module does not build or decode
//! transactions: the caller provides their `raw_data` bytes.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use crate::{
    KeyringError, evm,
    secp256k1::{Key, PublicKey, Signature},
};

/// Prefix byte of an account, on the main network and on the test networks.
const VERSION: u8 = 0x41;

/// Number of characters of an address: 21 bytes that start with [`VERSION`] and 4 bytes of checksum always have 34.
const ADDRESS_CHARS: usize = 34;

/// The address of an account or a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address([u8; 20]);

impl Address {
    pub const fn from_bytes(bytes: [u8; 20]) -> Address {
        Address(bytes)
    }

    pub fn of(key: &PublicKey) -> Address {
        Address(key.account())
    }

    /// Returns the bytes without the version, as contracts use them.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns the hex form that nodes also use: 41 and 40 hex digits.
    pub fn to_hex(&self) -> String {
        format!("{VERSION:02x}{}", hex::encode(self.0))
    }
}

/// Formats in base58 with a checksum: T and 33 characters.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&bs58::encode(self.0).with_check_version(VERSION).into_string())
    }
}

impl FromStr for Address {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Address, KeyringError> {
        // Checked first, since the decoding time is quadratic in the length.
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

/// Returns the id of a transaction, which is also the signed digest: SHA-256 of its `raw_data`.
pub fn transaction_id(raw_data: &[u8]) -> [u8; 32] {
    Sha256::digest(raw_data).into()
}

/// Signs the `raw_data` of a transaction.
pub fn sign_transaction(key: &Key, raw_data: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&transaction_id(raw_data))
}

/// Recovers the signer of this transaction. Recovery succeeds for any transaction: compare the address with the
/// expected one.
pub fn recover_transaction(raw_data: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&transaction_id(raw_data))?))
}

/// Signs `message` with this key (TIP-191, `signMessageV2`). The prefix ensures that no message is a transaction.
pub fn sign_message(key: &Key, message: &[u8]) -> Result<Signature, KeyringError> {
    key.sign_digest(&message_digest(message))
}

/// Recovers the signer of this message. Recovery succeeds for any message: compare the address with the expected one.
pub fn recover_message(message: &[u8], signature: &Signature) -> Result<Address, KeyringError> {
    Ok(Address::of(&signature.recover(&message_digest(message))?))
}

fn message_digest(message: &[u8]) -> [u8; 32] {
    let prefix = format!("\x19TRON Signed Message:\n{}", message.len());
    evm::keccak(&[prefix.as_bytes(), message].concat())
}

#[cfg(test)]
mod tests;
