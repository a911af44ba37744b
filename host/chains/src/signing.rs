//! Signs transfers and foreign transactions, and reads signed ones: one border for the three families.
//!
//! Keys are derived for one signature and wiped (`tenon_keyring`). Never asks a blockchain: what a transaction refers to and
//! costs are arguments.

use ethnum::U256;
use tenon_keyring::{Family, Path, Seed};

use crate::{Facts, Movement, SignError, Terms, evm, solana, tron};

/// What is to be transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewTransfer<'a> {
    pub recipient: &'a str,
    /// The address of its contract; `None`: the coin.
    pub token: Option<&'a str>,
    pub amount: U256,
    /// Of the sender; it also tells two equal transfers apart.
    pub sequence: u64,
}

/// A transaction that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// As `Chain::submit` takes it: 0x and hex (EVM), hex (Tron), base64 (Solana).
    pub raw: String,
    pub hash: String,
    pub sender: String,
    /// What it costs at most, in base units of the coin.
    pub fee: U256,
}

/// What a signed transaction says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub hash: String,
    pub sender: String,
    /// Of EVM transactions.
    pub sequence: Option<u64>,
    /// What it costs at most.
    pub fee: U256,
    /// What it moves if it does not fail.
    pub movements: Vec<Movement>,
}

/// Makes and signs a transfer from the address of the key at `path`.
pub fn sign_transfer(
    facts: &Facts,
    seed: &Seed,
    path: &Path,
    wanted: &NewTransfer<'_>,
    terms: &Terms,
) -> Result<Signed, SignError> {
    // Nothing at all, to oneself, is how a sender uses up a sequence that others wait for.
    let fills_a_gap = facts.family == Family::Evm && wanted.token.is_none();
    if wanted.amount == 0 && !fills_a_gap {
        return Err(SignError::Amount);
    }
    match facts.family {
        Family::Evm => evm::sign(seed, path, evm::transfer(facts, wanted, terms)?),
        Family::Tron => {
            let raw_data = tron::transfer(facts, tron::address_at(seed, path)?, wanted, terms)?;
            tron::sign(seed, path, &raw_data, &raw_data.to_bytes())
        }
        Family::Solana => {
            let message = solana::transfer(facts, solana::address_at(seed, path)?, wanted, terms)?;
            solana::sign(seed, path, &message)
        }
    }
}

/// Signs what somebody else made, unsigned: hex of an EIP-1559 transaction, hex of a Tron transaction's raw data, base64 of
/// a Solana message. The key at `path` has to be its only sender.
pub fn sign_transaction(facts: &Facts, seed: &Seed, path: &Path, unsigned: &str) -> Result<Signed, SignError> {
    match facts.family {
        Family::Evm => evm::sign(seed, path, evm::read_unsigned(facts, unsigned)?),
        Family::Tron => {
            let (raw_data, bytes) = tron::read_unsigned(unsigned, tron::address_at(seed, path)?)?;
            tron::sign(seed, path, &raw_data, &bytes)
        }
        Family::Solana => {
            let message = solana::read_unsigned(unsigned, solana::address_at(seed, path)?)?;
            solana::sign(seed, path, &message)
        }
    }
}

/// Reads what [`Signed::raw`] is, and checks its signature.
pub fn read_signed(facts: &Facts, raw: &str) -> Result<Reading, SignError> {
    Ok(match facts.family {
        Family::Evm => evm::read(facts, raw)?.reading(facts),
        Family::Tron => tron::read(raw)?.reading(facts),
        Family::Solana => solana::read(raw)?.reading(),
    })
}
