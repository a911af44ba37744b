//! Transactions of Tron: transfers of TRX and of TRC-20 tokens, and decoding of signed transactions.
//!
//! This module builds only transfers. The anchor of the terms is a block: 64 hex digits of its id, a "/" and its time
//! in milliseconds. A transaction can be submitted for [`LIFETIME_MS`] after that time. Its timestamp is the anchor's
//! time plus the sequence in milliseconds, which distinguishes equal transfers. Decoding is strict: one contract, one
//! signature, no unknown fields.

mod protobuf;
mod raw_data;

use ethnum::U256;
use tenon_keyring::{
    Path, Seed,
    secp256k1::Signature,
    tron::{Address, recover_transaction, sign_transaction, transaction_id},
};

use self::protobuf::{Fields, write_bytes};
pub use self::raw_data::{Contract, RawData};
use crate::{DecodedTransaction, Facts, Movement, NewTransfer, SignError, Signed, Terms, evm};

/// Maximum size of a transaction in bytes. Its hex form has twice as many characters.
pub const TRANSACTION_BYTES_MAX: usize = 64 << 10;

/// Time for which a transaction can be submitted: two hours, more than the 50 minutes of a usual retry series. Nodes
/// accept up to a day.
pub const LIFETIME_MS: u64 = 2 * 60 * 60 * 1_000;

/// Fee for each byte in sun.
const SUN_PER_BYTE: u64 = 1_000;
/// Bytes that a node adds to a transaction.
const RESULT_BYTES: u64 = 64;
/// Additional fee of the first transfer to an address.
const ACTIVATION: u64 = 1_100_000;
/// Maximum fee for the bytes of a token transfer in sun: the part of its fee that does not pay for energy.
pub(crate) const BYTES_FEE_MAX: u64 = 500_000;

/// A signed transaction and its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub raw_data: RawData,
    pub hash: String,
    pub sender: Address,
    /// Fee for its bytes.
    pub bytes_fee: u64,
}

/// Builds the transaction for this transfer.
pub fn transfer(
    facts: &Facts,
    sender: Address,
    transfer: &NewTransfer<'_>,
    terms: &Terms,
) -> Result<RawData, SignError> {
    let recipient: Address = transfer.recipient.parse().map_err(SignError::Recipient)?;
    let (id, time_ms) = read_anchor(&terms.anchor).ok_or(SignError::Terms)?;
    let (contract, fee_limit) = match transfer.token {
        None => {
            let amount = u64::try_from(transfer.amount).ok().filter(|sun| *sun <= i64::MAX as u64);
            (Contract::Transfer { recipient, amount: amount.ok_or(SignError::Amount)? }, 0)
        }
        Some(token) => {
            let token: Address = token.parse().map_err(|_| SignError::Token)?;
            facts.find_token(&token.to_string()).ok_or(SignError::Token)?;
            let data = evm::write_token_transfer(recipient.as_bytes(), transfer.amount);
            let fee = u64::try_from(terms.token_fee).map_err(|_| SignError::Terms)?;
            (Contract::Trigger { contract: token, value: 0, data }, fee.saturating_sub(BYTES_FEE_MAX))
        }
    };
    let later = |by: u64| time_ms.checked_add(by).filter(|time| *time <= i64::MAX as u64).ok_or(SignError::Terms);
    Ok(RawData {
        block_bytes: [id[6], id[7]],
        block_hash: std::array::from_fn(|at| id.get(8 + at).copied().unwrap_or_default()),
        expiration_ms: later(LIFETIME_MS)?,
        timestamp_ms: later(transfer.sequence)?,
        memo: Vec::new(),
        fee_limit,
        sender,
        contract,
    })
}

/// Formats the anchor of terms from a block's id and time.
pub fn write_anchor(id: &[u8; 32], time_ms: u64) -> String {
    format!("{}/{time_ms}", hex::encode(id))
}

fn read_anchor(anchor: &str) -> Option<([u8; 32], u64)> {
    let (id, time_ms) = anchor.split_once('/')?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(id, &mut bytes).ok()?;
    Some((bytes, time_ms.parse().ok()?))
}

/// Decodes the raw data of an unsigned transaction of this sender from hex. Returns the bytes too: they are signed
/// unchanged.
pub fn read_unsigned(unsigned: &str, sender: Address) -> Result<(RawData, Vec<u8>), SignError> {
    let bytes = read_hex(unsigned)?;
    let raw_data = RawData::from_bytes(&bytes)?;
    match raw_data.sender == sender {
        true => Ok((raw_data, bytes)),
        false => Err(SignError::OtherSender),
    }
}

pub fn address_at(seed: &Seed, path: &Path) -> Result<Address, SignError> {
    Ok(Address::of(&seed.secp256k1_key(path)?.public_key()))
}

/// Signs `bytes`, which must be the encoding of `raw_data`.
pub fn sign(seed: &Seed, path: &Path, raw_data: &RawData, bytes: &[u8]) -> Result<Signed, SignError> {
    let signature = sign_transaction(&seed.secp256k1_key(path)?, bytes)?;
    let mut transaction = Vec::new();
    write_bytes(&mut transaction, 1, bytes);
    write_bytes(&mut transaction, 2, &signature.to_bytes());
    if transaction.len() > TRANSACTION_BYTES_MAX {
        return Err(SignError::Length(TRANSACTION_BYTES_MAX));
    }
    let fee = fee_at_most(raw_data, bytes_fee(transaction.len()));
    let hash = hex::encode(transaction_id(bytes));
    Ok(Signed { raw: hex::encode(transaction), hash, sender: raw_data.sender.to_string(), fee })
}

/// Decodes a signed transaction and verifies its signature.
pub fn read(raw: &str) -> Result<Call, SignError> {
    let bytes = read_hex(raw)?;
    let mut fields = Fields::read(&bytes)?;
    let (raw_bytes, signature) = (fields.take_bytes(1)?, fields.take_bytes(2)?);
    fields.finish()?;
    let raw_data = RawData::from_bytes(raw_bytes)?;
    let signature = Signature::from_bytes(signature).map_err(|_| SignError::Signature)?;
    match recover_transaction(raw_bytes, &signature) {
        Ok(sender) if sender == raw_data.sender => {
            let hash = hex::encode(transaction_id(raw_bytes));
            Ok(Call { raw_data, hash, sender, bytes_fee: bytes_fee(bytes.len()) })
        }
        _ => Err(SignError::Signature),
    }
}

impl Call {
    pub fn decoded(&self, facts: &Facts) -> DecodedTransaction {
        DecodedTransaction {
            hash: self.hash.clone(),
            sender: self.sender.to_string(),
            sequence: None,
            fee: fee_at_most(&self.raw_data, self.bytes_fee),
            movements: self.movement(facts).into_iter().collect(),
        }
    }

    pub fn movement(&self, facts: &Facts) -> Option<Movement> {
        let (recipient, token, amount) = match &self.raw_data.contract {
            Contract::Transfer { recipient, amount } => (*recipient, None, U256::from(*amount)),
            Contract::Trigger { contract, value, data } => match facts.find_token(&contract.to_string()) {
                Some(_) if *value > 0 => return None,
                Some(token) => {
                    let (recipient, amount) = evm::read_token_transfer(data)?;
                    (Address::from_bytes(recipient), Some(token.address.clone()), amount)
                }
                None => (*contract, None, U256::from(*value)),
            },
        };
        let (sender, recipient) = (self.sender.to_string(), recipient.to_string());
        (amount > 0).then_some(Movement { position: 0, sender, recipient, token, amount })
    }
}

fn bytes_fee(transaction_bytes: usize) -> u64 {
    (transaction_bytes as u64).saturating_add(RESULT_BYTES).saturating_mul(SUN_PER_BYTE)
}

fn fee_at_most(raw_data: &RawData, bytes_fee: u64) -> U256 {
    let more = match raw_data.contract {
        Contract::Transfer { .. } => ACTIVATION,
        Contract::Trigger { .. } => raw_data.fee_limit,
    };
    U256::from(bytes_fee).saturating_add(more.into())
}

fn read_hex(text: &str) -> Result<Vec<u8>, SignError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.len() > 2 * TRANSACTION_BYTES_MAX {
        return Err(SignError::Length(TRANSACTION_BYTES_MAX));
    }
    hex::decode(digits).map_err(|_| SignError::Transaction("not hex"))
}

#[cfg(test)]
mod tests;
