//! Random text of keys and tokens, and the hash that identifies them.
//!
//! The source of randomness is an argument. Invariant: all characters are equally likely.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns random letters and digits. `fill` supplies random bytes.
///
/// # Errors
/// Returns the error of `fill`.
pub fn base62<E>(characters: usize, mut fill: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Zeroizing<String>, E> {
    let mut text = Zeroizing::new(String::with_capacity(characters));
    let mut bytes = Zeroizing::new([0u8; 64]);
    while text.len() < characters {
        fill(bytes.as_mut_slice())?;
        // 248 is the largest multiple of 62 in a byte: values from 248 would favour the first characters.
        let unbiased = bytes.iter().filter(|byte| **byte < 248);
        let characters_left = characters - text.len();
        text.extend(
            unbiased
                .filter_map(|byte| BASE62.get(usize::from(byte % 62)))
                .take(characters_left)
                .map(|b| char::from(*b)),
        );
    }
    Ok(text)
}

/// Hashes a string with SHA-256. The string must be too random to be guessed from its hash.
pub fn hash_text(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
