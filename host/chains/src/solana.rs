//! Transactions of Solana: transfers of SOL and of SPL tokens, and decoding of signed transactions.
//!
//! This module builds only transfers. The anchor of the terms is the hash of a recent block. A memo with the sequence
//! distinguishes equal transfers. A token transfer creates the recipient's token account if it is missing, which costs
//! its rent. The decoder accepts only legacy messages with one signer. Unknown instructions are treated as moving
//! nothing.

mod instruction;
mod message;
mod token_account;

use base64::{Engine, prelude::BASE64_STANDARD};
use ethnum::U256;
use tenon_keyring::{
    Path, Seed, ed25519,
    solana::{Address, sign_transaction, verify, write_signature},
};

pub use self::instruction::Instruction;
pub use self::message::Message;
pub use self::token_account::token_account_of;
use crate::{DecodedTransaction, Facts, Movement, NewTransfer, SignError, Signed, Terms};

/// Maximum size of a signed transaction in bytes: one packet.
pub const TRANSACTION_BYTES_MAX: usize = 1_232;
/// Fee for one signature, in lamports.
pub const SIGNATURE_FEE: u64 = 5_000;
/// Rent of a token account, in lamports.
pub const TOKEN_ACCOUNT_RENT: u64 = 2_039_280;

/// A signed transaction and its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub message: Message,
    pub instructions: Vec<Instruction>,
    pub hash: String,
    pub sender: Address,
}

/// Builds the message for this transfer.
pub fn transfer(
    facts: &Facts,
    sender: Address,
    transfer: &NewTransfer<'_>,
    terms: &Terms,
) -> Result<Message, SignError> {
    let recipient: Address = transfer.recipient.parse().map_err(SignError::Recipient)?;
    let anchor: Address = terms.anchor.parse().map_err(|_| SignError::Terms)?;
    let amount = u64::try_from(transfer.amount).map_err(|_| SignError::Amount)?;
    let mut instructions = match transfer.token {
        None => vec![Instruction::Transfer { sender, recipient, amount }],
        Some(text) => {
            let mint: Address = text.parse().map_err(|_| SignError::Token)?;
            let decimals = facts.find_token(&mint.to_string()).ok_or(SignError::Token)?.decimals;
            let [source, account] = [token_account_of(&sender, &mint)?, token_account_of(&recipient, &mint)?];
            vec![
                Instruction::CreateTokenAccount { party: sender, account, owner: recipient, mint },
                Instruction::TransferToken { source, mint, account, sender, amount, decimals },
            ]
        }
    };
    instructions.push(Instruction::Memo(transfer.sequence.to_string().into_bytes()));
    Message::compile(sender, *anchor.as_bytes(), &instructions)
}

/// Decodes the message of an unsigned transaction of this sender from base64.
pub fn read_unsigned(unsigned: &str, sender: Address) -> Result<Message, SignError> {
    let message = Message::from_bytes(&read_base64(unsigned)?)?;
    match message.sender() == Some(sender) {
        true => Ok(message),
        false => Err(SignError::OtherSender),
    }
}

pub fn address_at(seed: &Seed, path: &Path) -> Result<Address, SignError> {
    Ok(Address::of(&seed.ed25519_key(path)?))
}

pub fn sign(seed: &Seed, path: &Path, message: &Message) -> Result<Signed, SignError> {
    let key = seed.ed25519_key(path)?;
    let bytes = message.to_bytes();
    let signature = sign_transaction(&key, &bytes)?;
    let transaction = [&[1], &signature.to_bytes()[..], &bytes].concat();
    if transaction.len() > TRANSACTION_BYTES_MAX {
        return Err(SignError::Length(TRANSACTION_BYTES_MAX));
    }
    Ok(Signed {
        raw: BASE64_STANDARD.encode(transaction),
        hash: write_signature(&signature),
        sender: Address::of(&key).to_string(),
        fee: fee_at_most(&message.instructions()),
    })
}

/// Decodes a signed transaction and verifies its signature.
pub fn read(raw: &str) -> Result<Call, SignError> {
    let bytes = read_base64(raw)?;
    let (count, rest) = bytes.split_first().ok_or(SignError::Transaction("empty"))?;
    if *count != 1 {
        return Err(SignError::Transaction("it must have exactly one signature"));
    }
    let (signature, bytes) = rest.split_first_chunk::<64>().ok_or(SignError::Signature)?;
    let message = Message::from_bytes(bytes)?;
    let sender = message.sender().ok_or(SignError::OtherSender)?;
    let signature = ed25519::Signature::from_bytes(*signature);
    verify(&sender, bytes, &signature).map_err(|_| SignError::Signature)?;
    let instructions = message.instructions();
    Ok(Call { message, instructions, hash: write_signature(&signature), sender })
}

impl Call {
    pub fn decoded(&self) -> DecodedTransaction {
        DecodedTransaction {
            hash: self.hash.clone(),
            sender: self.sender.to_string(),
            sequence: None,
            fee: fee_at_most(&self.instructions),
            movements: self.movements(),
        }
    }

    /// Returns the movements that the transaction makes if it succeeds.
    ///
    /// The recipient of a token is the owner of the token account if the transaction names the owner, otherwise the
    /// account.
    pub fn movements(&self) -> Vec<Movement> {
        let owner_of = |recipient: &Address| {
            let owner = self.instructions.iter().find_map(|instruction| match instruction {
                Instruction::CreateTokenAccount { account, owner, .. } if account == recipient => Some(*owner),
                _ => None,
            });
            owner.unwrap_or(*recipient)
        };
        let moves = self.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Transfer { sender, recipient, amount } => Some((*sender, *recipient, None, *amount)),
            Instruction::TransferToken { mint, account, sender, amount, .. } => {
                Some((*sender, owner_of(account), Some(mint.to_string()), *amount))
            }
            _ => None,
        });
        let movement = |(position, (sender, recipient, token, amount)): (u32, (Address, Address, _, u64))| Movement {
            position,
            sender: sender.to_string(),
            recipient: recipient.to_string(),
            token,
            amount: amount.into(),
        };
        (0..).zip(moves.filter(|(.., amount)| *amount > 0)).map(movement).collect()
    }
}

/// Returns the maximum fee: for the signature, the offered priority, and the rent of token accounts.
pub fn fee_at_most(instructions: &[Instruction]) -> U256 {
    let is_account = |instruction: &&Instruction| matches!(instruction, Instruction::CreateTokenAccount { .. });
    let accounts = instructions.iter().filter(is_account).count() as u64;
    let rent = U256::from(accounts).saturating_mul(TOKEN_ACCOUNT_RENT.into());
    rent.saturating_add(priority_fee(instructions)).saturating_add(SIGNATURE_FEE.into())
}

/// Returns the priority fee: the offered price of a compute unit, in millionths of a lamport, times the unit limit.
pub fn priority_fee(instructions: &[Instruction]) -> U256 {
    const UNITS_MAX: u32 = 1_400_000;
    let price = instructions.iter().find_map(|instruction| match instruction {
        Instruction::UnitPrice(price) => Some(*price),
        _ => None,
    });
    let units = instructions.iter().find_map(|instruction| match instruction {
        Instruction::UnitLimit(units) => Some(*units),
        _ => None,
    });
    let millionths = U256::from(price.unwrap_or_default()) * U256::from(units.unwrap_or(UNITS_MAX).min(UNITS_MAX));
    // At most 2^85, so it cannot overflow.
    (millionths + 999_999) / 1_000_000
}

fn read_base64(text: &str) -> Result<Vec<u8>, SignError> {
    if text.len() > TRANSACTION_BYTES_MAX.div_ceil(3) * 4 {
        return Err(SignError::Length(TRANSACTION_BYTES_MAX));
    }
    let bytes = BASE64_STANDARD.decode(text).map_err(|_| SignError::Transaction("not base64"))?;
    if bytes.len() > TRANSACTION_BYTES_MAX { Err(SignError::Length(TRANSACTION_BYTES_MAX)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
