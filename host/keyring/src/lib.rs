//! Keyring operations as pure functions: seed phrases, derived keys, addresses, signatures.
//!
//! The crate does no I/O, reads no clock and generates no random numbers: entropy, paths and messages are arguments.
//! Curve arithmetic comes from `k256` and `ed25519-dalek`, hashes from `sha2` and `sha3`. The host decides who may use
//! which key and how seeds are sealed at rest.
//!
//! Invariants: a secret is held on the heap, is wiped when it is dropped, and is not printed by `Debug`. The stack that
//! a computation on a secret used is overwritten before the function returns (`stack`). The same input gives the same
//! signature (RFC 6979, RFC 8032). A secp256k1 signature has the low `s`. A high `s` is rejected.
//!
//! - `phrase`: a seed phrase (BIP-39). `seed`: its seed and the keys below it. `path`, `derive`: BIP-32, SLIP-0010.
//! - `secp256k1`, `ed25519`: the two kinds of keys and their signatures.
//! - `evm`, `tron`, `solana`: addresses, messages, typed data and transactions of the three families of blockchains.
//! - `family`: the family of each blockchain.

mod derive;
pub mod ed25519;
mod error;
pub mod evm;
mod family;
mod path;
mod phrase;
#[cfg(test)]
mod published;
pub mod secp256k1;
mod seed;
pub mod solana;
mod stack;
pub mod tron;

pub use error::KeyringError;
pub use family::{BLOCKCHAINS, Family};
pub use path::{Path, STEPS_MAX, Step};
pub use phrase::SeedPhrase;
pub use seed::Seed;
