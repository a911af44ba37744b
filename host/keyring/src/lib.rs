//! What a keyring does with keys, as pure functions: seed phrases, derived keys, addresses, signatures.
//!
//! Never reads or writes anything, asks no clock, makes no random numbers: entropy, paths and messages are arguments.
//! Never computes on a curve itself: the arithmetic is that of `k256` and `ed25519-dalek`, the hashes are those of
//! `sha2` and `sha3`. Who may use which key, and how seeds are sealed at rest, is the host's business.
//!
//! What always holds: a secret lies on the heap, is wiped when it is dropped and shows nothing in `Debug`; the stack that
//! a computation on a secret used is overwritten before the caller goes on (`stack`); the same input gives the same
//! signature (RFC 6979, RFC 8032); a secp256k1 signature has its low `s`, and one with a high `s` is refused.
//!
//! - `phrase`: a seed phrase (BIP-39). `seed`: what it becomes, and the keys below it. `path`, `derive`: BIP-32, SLIP-0010.
//! - `secp256k1`, `ed25519`: the two kinds of keys, and their signatures.
//! - `evm`, `tron`, `solana`: addresses, messages, typed data and transactions of the three families of blockchains.
//! - `family`: which blockchain belongs to which family.

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
