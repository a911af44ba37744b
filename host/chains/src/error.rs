//! Errors of queries and of signing. No message contains part of a secret.

use tenon_keyring::KeyringError;

/// Why a chain request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The outcome is unknown: a submission may have been accepted.
    #[error("timeout")]
    Timeout,
    /// `cause` is for the log.
    #[error("unavailable")]
    Unavailable { cause: String },
    #[error("not-an-address")]
    NotAnAddress,
    #[error("not-a-token")]
    NotAToken,
    #[error("no-faucet")]
    NoFaucet,
    /// The request names more hashes, addresses or blocks than allowed.
    #[error("too-many")]
    TooMany { max: u64 },
}

/// Why a transaction cannot be signed or decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("the recipient is not an address of this blockchain: {0}")]
    Recipient(KeyringError),
    #[error("this blockchain has no such token")]
    Token,
    #[error("the amount must be above 0 (except for an EVM coin) and fit into a transaction of this blockchain")]
    Amount,
    #[error("the terms are not valid for this blockchain")]
    Terms,
    #[error("not a valid transaction: {0}")]
    Transaction(&'static str),
    #[error("a transaction has at most {0} bytes")]
    Length(usize),
    #[error("the transaction belongs to chain {found}, not to {expected}")]
    OtherNetwork { expected: u64, found: u64 },
    #[error("the transaction has a different sender")]
    OtherSender,
    #[error("the signature is invalid")]
    Signature,
    #[error("{0}")]
    Keyring(#[from] KeyringError),
}
