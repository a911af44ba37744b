//! Signs transfers and foreign transactions, and decodes signed ones: one interface for the three families.
//!
//! Keys are derived for one signature and wiped (`tenon_keyring`). Nothing here queries a blockchain: the anchor and
//! the fees of a transaction are arguments.

use ethnum::U256;
use tenon_keyring::{Family, Path, Seed};

use crate::{Facts, Movement, SignError, Terms, evm, solana, tron};

/// A transfer to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewTransfer<'a> {
    pub recipient: &'a str,
    /// Address of the token's contract; `None` for the coin.
    pub token: Option<&'a str>,
    pub amount: U256,
    /// Sequence of the sender. It also distinguishes two equal transfers.
    pub sequence: u64,
}

/// A signed transaction, ready to be submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The form that `Chain::submit` accepts: 0x and hex (EVM), hex (Tron), base64 (Solana).
    pub raw: String,
    pub hash: String,
    pub sender: String,
    /// Maximum fee in base units of the coin.
    pub fee: U256,
}

/// The content of a signed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedTransaction {
    pub hash: String,
    pub sender: String,
    /// Nonce of EVM transactions; `None` for other families.
    pub sequence: Option<u64>,
    /// Maximum fee.
    pub fee: U256,
    /// Movements if the transaction succeeds.
    pub movements: Vec<Movement>,
}

/// Builds and signs a transfer from the address of the key at `path`.
pub fn sign_transfer(
    facts: &Facts,
    seed: &Seed,
    path: &Path,
    transfer: &NewTransfer<'_>,
    terms: &Terms,
) -> Result<Signed, SignError> {
    // An empty EVM transfer is valid: a sender uses it to fill a gap in its sequences.
    let fills_a_gap = facts.family == Family::Evm && transfer.token.is_none();
    if transfer.amount == 0 && !fills_a_gap {
        return Err(SignError::Amount);
    }
    match facts.family {
        Family::Evm => evm::sign(seed, path, evm::transfer(facts, transfer, terms)?),
        Family::Tron => {
            let raw_data = tron::transfer(facts, tron::address_at(seed, path)?, transfer, terms)?;
            tron::sign(seed, path, &raw_data, &raw_data.to_bytes())
        }
        Family::Solana => {
            let message = solana::transfer(facts, solana::address_at(seed, path)?, transfer, terms)?;
            solana::sign(seed, path, &message)
        }
    }
}

/// Signs a transaction that was built elsewhere. The key at `path` must be its only sender.
///
/// `unsigned` is hex of an EIP-1559 transaction, hex of a Tron transaction's raw data, or base64 of a Solana message.
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

/// Decodes a transaction in the form of [`Signed::raw`] and verifies its signature.
pub fn read_signed(facts: &Facts, raw: &str) -> Result<DecodedTransaction, SignError> {
    Ok(match facts.family {
        Family::Evm => evm::read(facts, raw)?.decoded(facts),
        Family::Tron => tron::read(raw)?.decoded(facts),
        Family::Solana => solana::read(raw)?.decoded(),
    })
}
