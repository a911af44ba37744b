//! Why there is no answer, and why something is not signed. No text holds a part of a secret.

use tenon_keyring::KeyringError;

/// Why a blockchain did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Whatever was asked for may have happened or not.
    #[error("timeout")]
    Timeout,
    /// The cause is for the log.
    #[error("unavailable")]
    Unavailable { cause: String },
    #[error("not-an-address")]
    NotAnAddress,
    #[error("not-a-token")]
    NotAToken,
    #[error("no-faucet")]
    NoFaucet,
    /// More hashes, addresses or blocks than may be asked for at once.
    #[error("too-many")]
    TooMany { max: u64 },
}

/// Why something is not signed, or not read as a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("the recipient is no address of this blockchain: {0}")]
    Recipient(KeyringError),
    #[error("this blockchain has no such token")]
    Token,
    #[error(
        "the amount has to be above 0 (an EVM coin excepted) and within what a transaction of this blockchain can carry"
    )]
    Amount,
    #[error("these are no terms of this blockchain")]
    Terms,
    #[error("this is not such a transaction: {0}")]
    Transaction(&'static str),
    #[error("a transaction has at most {0} bytes")]
    Length(usize),
    #[error("the transaction belongs to chain {found}, not to {expected}")]
    OtherNetwork { expected: u64, found: u64 },
    #[error("the transaction is another sender's")]
    OtherSender,
    #[error("the signature does not fit")]
    Signature,
    #[error("{0}")]
    Keyring(#[from] KeyringError),
}
