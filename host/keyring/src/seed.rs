//! A seed: the bytes from which all keys of one owner are derived.
//!
//! Keys are not cached: each is derived on request and wiped when it is dropped.

use std::fmt;

use zeroize::Zeroizing;

use crate::{KeyringError, Path, derive, ed25519, secp256k1, stack::wiped_after};

/// Allowed lengths. In BIP-32 a seed has 128 to 512 bits. The seed of a phrase has 512.
const SEED_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// The root of a tree of keys.
pub struct Seed(Zeroizing<Vec<u8>>);

impl Seed {
    /// Creates a seed from the bytes of [`Seed::expose`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Seed, KeyringError> {
        if !SEED_BYTES.contains(&bytes.len()) {
            return Err(KeyringError::SeedLength(bytes.len()));
        }
        Ok(Seed::copy_of(bytes))
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Seed {
        Seed(Zeroizing::new(bytes.to_vec()))
    }

    /// Returns the bytes, for sealing.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Derives the key at this path for EVM and Tron (BIP-32).
    pub fn secp256k1_key(&self, path: &Path) -> Result<secp256k1::Key, KeyringError> {
        wiped_after(|| derive::secp256k1(self.expose(), path)?.into_secp256k1())
    }

    /// Derives the key at this path for Solana (SLIP-0010). Every step must be hardened.
    pub fn ed25519_key(&self, path: &Path) -> Result<ed25519::Key, KeyringError> {
        wiped_after(|| Ok(derive::ed25519(self.expose(), path)?.into_ed25519()))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Seed([secret])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_of_invalid_length_is_rejected() {
        for length in [0, 15, 65, 1_000] {
            assert_eq!(Seed::from_bytes(&vec![7; length]).err(), Some(KeyringError::SeedLength(length)));
        }
        for length in [16, 32, 64] {
            assert_eq!(Seed::from_bytes(&vec![7; length]).unwrap().expose(), vec![7; length]);
        }
    }

    #[test]
    fn debug_output_hides_the_seed() {
        assert_eq!(format!("{:?}", Seed::from_bytes(&[7; 64]).unwrap()), "Seed([secret])");
    }
}
