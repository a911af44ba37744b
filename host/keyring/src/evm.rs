//! EVM blockchains: addresses (EIP-55), messages (EIP-191), transactions (EIP-1559).
//!
//! Never knows a blockchain but by the chain id that a transaction carries.

mod address;
mod message;
mod rlp;
mod transaction;

pub use address::Address;
pub use message::{recover_message, sign_message};
pub use transaction::{AccessListEntry, SignedTransaction, TRANSACTION_BYTES_MAX, Transaction};

use sha3::{Digest, Keccak256};

pub(crate) fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}
