//! The sealed content: the entropy of the phrase, and the 64 bytes of the seed, so that no use pays for 2 048 rounds of
//! PBKDF2.
//!
//! Format (1 byte), seed (64), entropy (16 to 32).

use subtle::ConstantTimeEq;
use tenon_keyring::{Seed, SeedPhrase};
use zeroize::Zeroizing;

use super::SeedError;
use crate::secrets::SecretError;

const FORMAT: u8 = 1;
const SEED_BYTES: usize = 64;

pub(super) struct StoredSeed(Zeroizing<Vec<u8>>);

impl StoredSeed {
    pub fn new(phrase: &SeedPhrase) -> StoredSeed {
        let entropy = phrase.entropy();
        let mut bytes = Zeroizing::new(Vec::with_capacity(1 + SEED_BYTES + entropy.len()));
        bytes.push(FORMAT);
        bytes.extend_from_slice(phrase.seed("").expose());
        bytes.extend_from_slice(&entropy);
        StoredSeed(bytes)
    }

    pub fn from_bytes(bytes: Zeroizing<Vec<u8>>) -> Result<StoredSeed, SecretError> {
        match bytes.first() {
            Some(&FORMAT) if bytes.len() > 1 + SEED_BYTES => Ok(StoredSeed(bytes)),
            _ => Err(SecretError::CannotOpen),
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn seed(&self) -> Result<Seed, SeedError> {
        let seed = self.0.get(1..=SEED_BYTES).ok_or(SecretError::CannotOpen)?;
        Ok(Seed::from_bytes(seed)?)
    }

    pub fn phrase(&self) -> Result<SeedPhrase, SeedError> {
        let entropy = self.0.get(1 + SEED_BYTES..).ok_or(SecretError::CannotOpen)?;
        Ok(SeedPhrase::from_entropy(entropy)?)
    }

    pub fn is_same(&self, other: &StoredSeed) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}
