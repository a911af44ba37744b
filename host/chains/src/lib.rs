//! Blockchains behind one trait: queries, submissions, and the encoding and decoding of transactions.
//!
//! The crate stores no keys, does not decide what is sent or when, and reads no clock: time is an argument. Untrusted
//! bytes are parsed strictly and within limits. Nothing here panics.
//!
//! - `chain`: the trait and its result types. `error`: its errors.
//! - `signing`: signs transfers and foreign transactions. `evm`, `tron`, `solana`: transactions of the three families.
//! - `simulated`: the adapter for simulated blockchains, which need no network.

pub mod chain;
mod error;
pub mod evm;
pub mod signing;
pub mod simulated;
pub mod solana;
#[cfg(test)]
mod testing;
pub mod tron;

pub use chain::{
    Block, BlockPosition, Chain, ChainFuture, Facts, FaucetRequest, Head, Movement, State, Submission, Terms, Token,
    Transaction, Transfer, TransferPage, TransferQuery,
};
pub use error::{ChainError, SignError};
pub use signing::{DecodedTransaction, NewTransfer, Signed, read_signed, sign_transaction, sign_transfer};
