//! Blockchains behind one trait: what a host asks of them, what it sends to them, and how transactions are made and read.
//!
//! Never keeps a key, never decides what is sent and when, reads no clock: time is an argument. Bytes from outside are read
//! strictly and within limits; nothing here panics.
//!
//! - `chain`: the trait, and what its answers are made of. `error`: why there is none.
//! - `signing`: transfers and foreign transactions, signed. `evm`, `tron`, `solana`: transactions of the three families.
//! - `simulated`: the adapter for blockchains that need no network.

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
    Answer, Block, Chain, Facts, Head, Movement, Place, State, Submission, Terms, Token, Transaction, Transfer,
    TransferPage, TransferQuestion, Wish,
};
pub use error::{ChainError, SignError};
pub use signing::{NewTransfer, Reading, Signed, read_signed, sign_transaction, sign_transfer};
