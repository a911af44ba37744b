//! Transactions with a priority fee (EIP-1559, type 2): encoding, signing and decoding.
//!
//! The caller and the chain check fees, nonce and balance.
//! Decoding is strict: canonical encoding only, no trailing bytes, the low `s`.

use alloy_rlp::{Decodable, Encodable, Header};

use super::{Address, keccak, rlp};
use crate::{
    KeyringError,
    secp256k1::{Key, Signature},
};

/// Prefix byte of a transaction of this type.
const TYPE: u8 = 2;

/// Maximum size of a signed transaction that nodes accept into their pools.
pub const TRANSACTION_BYTES_MAX: usize = 128 << 10;

/// An unsigned transaction. Fees and value are in wei.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub chain_id: u64,
    pub nonce: u64,
    pub max_priority_fee_per_gas: u128,
    pub max_fee_per_gas: u128,
    pub gas_limit: u64,
    /// `None` creates a contract from `data`.
    pub to: Option<Address>,
    pub value: u128,
    pub data: Vec<u8>,
    pub access_list: Vec<AccessListEntry>,
}

/// An account and its storage slots that a transaction declares to use (EIP-2930).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessListEntry {
    pub address: Address,
    pub slots: Vec<[u8; 32]>,
}

/// A signed transaction, ready to be submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    pub transaction: Transaction,
    pub signature: Signature,
}

impl Transaction {
    /// Encodes the bytes that are hashed and signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        self.encode_fields(&mut fields);
        [&[TYPE], rlp::list(&fields).as_slice()].concat()
    }

    /// Decodes the output of [`Transaction::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Transaction, KeyringError> {
        let mut fields = encoded_fields(bytes)?;
        let transaction = decode_fields(&mut fields).map_err(|_| KeyringError::Transaction)?;
        if fields.is_empty() { Ok(transaction) } else { Err(KeyringError::Transaction) }
    }

    pub fn sign(self, key: &Key) -> Result<SignedTransaction, KeyringError> {
        let signature = key.sign_digest(&keccak(&self.to_bytes()))?;
        let signed = SignedTransaction { transaction: self, signature };
        if signed.to_bytes().len() > TRANSACTION_BYTES_MAX {
            return Err(KeyringError::TransactionLength);
        }
        Ok(signed)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        self.chain_id.encode(out);
        self.nonce.encode(out);
        self.max_priority_fee_per_gas.encode(out);
        self.max_fee_per_gas.encode(out);
        self.gas_limit.encode(out);
        self.to.as_ref().map_or(&[] as &[u8], |to| to.as_bytes()).encode(out);
        self.value.encode(out);
        self.data.as_slice().encode(out);
        let entries = self.access_list.iter().map(|entry| {
            let mut fields = Vec::new();
            entry.address.as_bytes().encode(&mut fields);
            entry.slots.encode(&mut fields);
            rlp::list(&fields)
        });
        out.extend(rlp::list(&entries.collect::<Vec<_>>().concat()));
    }
}

impl SignedTransaction {
    /// Encodes the bytes to submit.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        self.transaction.encode_fields(&mut fields);
        self.signature.is_y_odd().encode(&mut fields);
        rlp::digits(&self.signature.r()).encode(&mut fields);
        rlp::digits(&self.signature.s()).encode(&mut fields);
        [&[TYPE], rlp::list(&fields).as_slice()].concat()
    }

    /// Decodes the output of [`SignedTransaction::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<SignedTransaction, KeyringError> {
        let mut fields = encoded_fields(bytes)?;
        let (transaction, is_y_odd, r, s) = decode_signed(&mut fields).map_err(|_| KeyringError::Transaction)?;
        if !fields.is_empty() {
            return Err(KeyringError::Transaction);
        }
        let signature = Signature::from_scalars(r, s, is_y_odd)?;
        Ok(SignedTransaction { transaction, signature })
    }

    /// Returns the hash that identifies this transaction on its blockchain.
    pub fn hash(&self) -> [u8; 32] {
        keccak(&self.to_bytes())
    }

    /// Recovers the sender. Recovery succeeds for any transaction: compare the address with the expected one.
    pub fn sender(&self) -> Result<Address, KeyringError> {
        Ok(Address::of(&self.signature.recover(&keccak(&self.transaction.to_bytes()))?))
    }
}

fn decode_fields(fields: &mut &[u8]) -> alloy_rlp::Result<Transaction> {
    Ok(Transaction {
        chain_id: u64::decode(fields)?,
        nonce: u64::decode(fields)?,
        max_priority_fee_per_gas: u128::decode(fields)?,
        max_fee_per_gas: u128::decode(fields)?,
        gas_limit: u64::decode(fields)?,
        to: decode_recipient(fields)?,
        value: u128::decode(fields)?,
        data: Header::decode_bytes(fields, false)?.to_vec(),
        access_list: decode_access_list(fields)?,
    })
}

fn decode_signed(fields: &mut &[u8]) -> alloy_rlp::Result<(Transaction, bool, [u8; 32], [u8; 32])> {
    Ok((decode_fields(fields)?, bool::decode(fields)?, rlp::decode_digits(fields)?, rlp::decode_digits(fields)?))
}

fn decode_recipient(fields: &mut &[u8]) -> alloy_rlp::Result<Option<Address>> {
    let bytes = Header::decode_bytes(fields, false)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let bytes: [u8; 20] = bytes.try_into().map_err(|_| alloy_rlp::Error::UnexpectedLength)?;
    Ok(Some(Address::from_bytes(bytes)))
}

fn decode_access_list(fields: &mut &[u8]) -> alloy_rlp::Result<Vec<AccessListEntry>> {
    let mut entries = Header::decode_bytes(fields, true)?;
    let mut list = Vec::new();
    while !entries.is_empty() {
        let mut entry = Header::decode_bytes(&mut entries, true)?;
        let address = Address::from_bytes(Decodable::decode(&mut entry)?);
        let slots = Decodable::decode(&mut entry)?;
        if !entry.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength);
        }
        list.push(AccessListEntry { address, slots });
    }
    Ok(list)
}

/// Returns the encoded fields of a transaction of this type. Rejects trailing bytes.
fn encoded_fields(bytes: &[u8]) -> Result<&[u8], KeyringError> {
    if bytes.len() > TRANSACTION_BYTES_MAX {
        return Err(KeyringError::TransactionLength);
    }
    let (kind, mut list) = bytes.split_first().ok_or(KeyringError::Transaction)?;
    let fields = Header::decode_bytes(&mut list, true).map_err(|_| KeyringError::Transaction)?;
    if *kind != TYPE || !list.is_empty() {
        return Err(KeyringError::Transaction);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests;
