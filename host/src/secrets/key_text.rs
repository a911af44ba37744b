//! The letters and digits of keys and tokens, and the hash that they are recognised by.
//!
//! Never knows where randomness comes from. Invariant: each character is as likely as any other.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// So many letters and digits; `fill` gives random bytes.
///
/// # Errors
/// That of `fill`.
pub fn base62<E>(characters: usize, mut fill: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Zeroizing<String>, E> {
    let mut text = Zeroizing::new(String::with_capacity(characters));
    let mut bytes = Zeroizing::new([0u8; 64]);
    while text.len() < characters {
        fill(bytes.as_mut_slice())?;
        // 248 is the largest multiple of 62 in a byte: what lies above would favour the first characters.
        let fair = bytes.iter().filter(|byte| **byte < 248);
        let characters_left = characters - text.len();
        text.extend(
            fair.filter_map(|byte| BASE62.get(usize::from(byte % 62))).take(characters_left).map(|b| char::from(*b)),
        );
    }
    Ok(text)
}

/// Of a text with so much randomness that its plain SHA-256 cannot be searched.
pub fn hash_text(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
