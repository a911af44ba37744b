//! The token account of an owner: an address without a private key, derived from owner and mint.

use sha2::{Digest, Sha256};
use tenon_keyring::solana::Address;

use super::instruction::{ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM};
use crate::SignError;

/// Derives the address that holds the owner's tokens of this mint: the first of 256 candidates that is not on the
/// curve.
pub fn token_account_of(owner: &Address, mint: &Address) -> Result<Address, SignError> {
    let candidates = (0..=u8::MAX).rev().map(|bump| {
        let seeds = [owner.as_bytes(), TOKEN_PROGRAM.as_bytes(), mint.as_bytes()];
        let hash = seeds.into_iter().fold(Sha256::new(), |hash, seed| hash.chain_update(seed));
        let hash = hash.chain_update([bump]).chain_update(ASSOCIATED_TOKEN_PROGRAM.as_bytes());
        Address::from_bytes(hash.chain_update("ProgramDerivedAddress").finalize().into())
    });
    // Each candidate is off the curve with a probability of one half.
    candidates.into_iter().find(|address| !address.is_on_curve()).ok_or(SignError::Token)
}
