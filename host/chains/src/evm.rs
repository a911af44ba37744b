//! Transactions of EVM blockchains: transfers of the coin and of ERC-20 tokens, and decoding of signed transactions.
//!
//! This module builds only transfers. The anchor of the terms is the tip for each unit of gas, in decimal digits. Gas
//! limits are the fees of the terms divided by the price. A call of a contract that is not a known token is treated as
//! moving its value and costing its fee.

use ethnum::U256;
use tenon_keyring::{
    Path, Seed,
    evm::{Address, SignedTransaction, TRANSACTION_BYTES_MAX, Transaction},
};

use crate::{DecodedTransaction, Facts, Movement, NewTransfer, SignError, Signed, Terms};

/// `transfer(address,uint256)`.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

/// A signed transaction and its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub transaction: Transaction,
    pub hash: String,
    pub sender: Address,
}

/// Builds the transaction for this transfer.
pub fn transfer(facts: &Facts, transfer: &NewTransfer<'_>, terms: &Terms) -> Result<Transaction, SignError> {
    let recipient: Address = transfer.recipient.parse().map_err(SignError::Recipient)?;
    let price = u128::try_from(terms.price).ok().filter(|price| *price > 0).ok_or(SignError::Terms)?;
    let tip: u128 = terms.anchor.parse().map_err(|_| SignError::Terms)?;
    let fee = if transfer.token.is_some() { terms.token_fee } else { terms.coin_fee };
    let gas_limit = u64::try_from(fee / terms.price).map_err(|_| SignError::Terms)?;
    let (to, value, data) = match transfer.token {
        None => (recipient, u128::try_from(transfer.amount).map_err(|_| SignError::Amount)?, Vec::new()),
        Some(token) => (read_token(facts, token)?, 0, write_token_transfer(recipient.as_bytes(), transfer.amount)),
    };
    Ok(Transaction {
        chain_id: facts.chain_id,
        nonce: transfer.sequence,
        max_priority_fee_per_gas: tip.min(price),
        max_fee_per_gas: price,
        gas_limit,
        to: Some(to),
        value,
        data,
        access_list: Vec::new(),
    })
}

fn read_token(facts: &Facts, text: &str) -> Result<Address, SignError> {
    let token: Address = text.parse().map_err(|_| SignError::Token)?;
    facts.find_token(&token.to_string()).map(|_| token).ok_or(SignError::Token)
}

/// Decodes an unsigned transaction of this network from hex.
pub fn read_unsigned(facts: &Facts, unsigned: &str) -> Result<Transaction, SignError> {
    let transaction = Transaction::from_bytes(&read_hex(unsigned)?)?;
    check_network(facts, &transaction)?;
    Ok(transaction)
}

pub fn sign(seed: &Seed, path: &Path, transaction: Transaction) -> Result<Signed, SignError> {
    let key = seed.secp256k1_key(path)?;
    let sender = Address::of(&key.public_key()).to_string();
    let fee = fee_at_most(&transaction);
    let signed = transaction.sign(&key)?;
    Ok(Signed { raw: write_hex(&signed.to_bytes()), hash: write_hex(&signed.hash()), sender, fee })
}

/// Decodes a signed transaction of this network and recovers its sender.
pub fn read(facts: &Facts, raw: &str) -> Result<Call, SignError> {
    let signed = SignedTransaction::from_bytes(&read_hex(raw)?)?;
    check_network(facts, &signed.transaction)?;
    let sender = signed.sender().map_err(|_| SignError::Signature)?;
    Ok(Call { hash: write_hex(&signed.hash()), sender, transaction: signed.transaction })
}

impl Call {
    pub fn decoded(&self, facts: &Facts) -> DecodedTransaction {
        DecodedTransaction {
            hash: self.hash.clone(),
            sender: self.sender.to_string(),
            sequence: Some(self.transaction.nonce),
            fee: fee_at_most(&self.transaction),
            movements: self.movement(facts).into_iter().collect(),
        }
    }

    /// Returns the movement that the transaction makes if it succeeds.
    ///
    /// A call of a token's contract moves tokens if it is a transfer without a value. Any other call of the contract
    /// moves nothing. The creation of a contract moves nothing. Any other transaction moves its value.
    pub fn movement(&self, facts: &Facts) -> Option<Movement> {
        let (to, value) = (self.transaction.to?.to_string(), U256::from(self.transaction.value));
        let (recipient, token, amount) = match facts.find_token(&to) {
            Some(_) if value > 0 => return None,
            Some(token) => {
                let (recipient, amount) = read_token_transfer(&self.transaction.data)?;
                (Address::from_bytes(recipient).to_string(), Some(token.address.clone()), amount)
            }
            None => (to, None, value),
        };
        let movement = Movement { position: 0, sender: self.sender.to_string(), recipient, token, amount };
        (amount > 0).then_some(movement)
    }
}

fn check_network(facts: &Facts, transaction: &Transaction) -> Result<(), SignError> {
    match transaction.chain_id == facts.chain_id {
        true => Ok(()),
        false => Err(SignError::OtherNetwork { expected: facts.chain_id, found: transaction.chain_id }),
    }
}

pub fn fee_at_most(transaction: &Transaction) -> U256 {
    U256::from(transaction.gas_limit).saturating_mul(transaction.max_fee_per_gas.into())
}

/// Encodes the data of a call that transfers a token. Tron's contracts use the same encoding.
pub(crate) fn write_token_transfer(recipient: &[u8; 20], amount: U256) -> Vec<u8> {
    [&TRANSFER[..], &[0; 12], recipient, &amount.to_be_bytes()].concat()
}

/// Decodes the output of [`write_token_transfer`]. Returns `None` for any other data, such as an address of more than
/// 20 bytes.
pub(crate) fn read_token_transfer(data: &[u8]) -> Option<([u8; 20], U256)> {
    let words = data.strip_prefix(&TRANSFER)?;
    let (recipient, amount) = words.split_first_chunk::<32>()?;
    let (padding, account) = recipient.split_first_chunk::<12>()?;
    let recipient: [u8; 20] = account.try_into().ok().filter(|_| *padding == [0; 12])?;
    Some((recipient, U256::from_be_bytes(amount.try_into().ok()?)))
}

fn write_hex(bytes: &[u8]) -> String {
    ["0x", &hex::encode(bytes)].concat()
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
