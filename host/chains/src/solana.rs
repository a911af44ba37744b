//! Transactions of Solana: transfers of SOL and of SPL tokens, and what signed ones say.
//!
//! Never builds anything but a transfer. The anchor of its terms is the hash of a recent block. A memo with the sequence tells
//! equal transfers apart. A token's transfer makes the recipient's token account where there is none, which costs its rent.
//! Only legacy messages with one signer are read; instructions that are not understood move nothing, as far as is known here.

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
use crate::{Facts, Movement, NewTransfer, Reading, SignError, Signed, Terms};

/// Bytes of a transaction with its signature: what one packet carries.
pub const TRANSACTION_BYTES_MAX: usize = 1_232;
/// For one signature, in lamports.
pub const SIGNATURE_FEE: u64 = 5_000;
/// What a token account keeps, in lamports.
pub const TOKEN_ACCOUNT_RENT: u64 = 2_039_280;

/// A signed transaction, and who signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub message: Message,
    pub instructions: Vec<Instruction>,
    pub hash: String,
    pub sender: Address,
}

/// The transaction that makes this transfer.
pub fn transfer(facts: &Facts, sender: Address, wanted: &NewTransfer<'_>, terms: &Terms) -> Result<Message, SignError> {
    let recipient: Address = wanted.recipient.parse().map_err(SignError::Recipient)?;
    let anchor: Address = terms.anchor.parse().map_err(|_| SignError::Terms)?;
    let amount = u64::try_from(wanted.amount).map_err(|_| SignError::Amount)?;
    let mut instructions = match wanted.token {
        None => vec![Instruction::Transfer { sender, recipient, amount }],
        Some(text) => {
            let mint: Address = text.parse().map_err(|_| SignError::Token)?;
            let decimals = facts.find_token(&mint.to_string()).ok_or(SignError::Token)?.decimals;
            let [source, account] = [token_account_of(&sender, &mint)?, token_account_of(&recipient, &mint)?];
            vec![
                Instruction::MakeTokenAccount { payer: sender, account, owner: recipient, mint },
                Instruction::TransferToken { source, mint, account, sender, amount, decimals },
            ]
        }
    };
    instructions.push(Instruction::Memo(wanted.sequence.to_string().into_bytes()));
    Message::of(sender, *anchor.as_bytes(), &instructions)
}

/// The message of an unsigned transaction of this sender, in base64.
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

/// A signed transaction.
pub fn read(raw: &str) -> Result<Call, SignError> {
    let bytes = read_base64(raw)?;
    let (count, rest) = bytes.split_first().ok_or(SignError::Transaction("empty"))?;
    if *count != 1 {
        return Err(SignError::Transaction("it has to have one signature"));
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
    pub fn reading(&self) -> Reading {
        Reading {
            hash: self.hash.clone(),
            sender: self.sender.to_string(),
            sequence: None,
            fee: fee_at_most(&self.instructions),
            movements: self.movements(),
        }
    }

    /// A token's recipient is the owner of the account where the transaction names him, otherwise the account.
    pub fn movements(&self) -> Vec<Movement> {
        let owner_of = |wanted: &Address| {
            let owner = self.instructions.iter().find_map(|instruction| match instruction {
                Instruction::MakeTokenAccount { account, owner, .. } if account == wanted => Some(*owner),
                _ => None,
            });
            owner.unwrap_or(*wanted)
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

/// The signature, the priority that was offered, and rent for token accounts.
pub fn fee_at_most(instructions: &[Instruction]) -> U256 {
    let is_account = |instruction: &&Instruction| matches!(instruction, Instruction::MakeTokenAccount { .. });
    let accounts = instructions.iter().filter(is_account).count() as u64;
    let rent = U256::from(accounts).saturating_mul(TOKEN_ACCOUNT_RENT.into());
    rent.saturating_add(priority_fee(instructions)).saturating_add(SIGNATURE_FEE.into())
}

/// What was offered for each unit of computing, in millionths of a lamport, for as many units as it may take.
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
    // At most 2^85: nothing overflows.
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
