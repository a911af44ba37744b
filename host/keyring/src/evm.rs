//! EVM blockchains: addresses (EIP-55), messages (EIP-191), typed data (EIP-712), transactions (EIP-1559).
//!
//! Only the chain id of a transaction identifies a blockchain.

mod address;
mod message;
mod rlp;
mod transaction;
mod typed_data;

pub use address::Address;
pub use message::{recover_message, sign_message};
pub use transaction::{AccessListEntry, SignedTransaction, TRANSACTION_BYTES_MAX, Transaction};
pub use typed_data::{TYPED_DATA_BYTES_MAX, TYPED_DATA_TYPES_MAX, TypedData};

use sha3::{Digest, Keccak256};

pub(crate) fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}
