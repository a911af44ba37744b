//! XChaCha20-Poly1305 and HKDF-SHA256: encryption and key derivation for secrets. Collisions of random nonces of 24
//! bytes are negligible.

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::SecretError;

pub const NONCE_BYTES: usize = 24;
pub type KeyBytes = Zeroizing<[u8; 32]>;

/// Derives a key for one purpose. 32 bytes are always within the output limit of HKDF.
pub fn derive_key(material: &[u8], salt: &[u8], purpose: &[u8]) -> Result<KeyBytes, SecretError> {
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(salt), material).expand(purpose, key.as_mut()).map_err(|_| SecretError::CannotOpen)?;
    Ok(key)
}

/// Appends nonce and ciphertext to `out`. `bound` is authenticated and must be the same when opening.
pub fn seal_into(out: &mut Vec<u8>, key: &KeyBytes, bound: &[u8], plain: &[u8]) -> Result<(), SecretError> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(SecretError::Random)?;
    let cipher = XChaCha20Poly1305::new(key.as_ref().into());
    let payload = Payload { msg: plain, aad: bound };
    let sealed = cipher.encrypt(XNonce::from_slice(&nonce), payload).map_err(|_| SecretError::CannotOpen)?;
    out.extend_from_slice(&nonce);
    out.extend_from_slice(&sealed);
    Ok(())
}

/// Opens the output of [`seal_into`].
pub fn open(sealed: &[u8], key: &KeyBytes, bound: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let (nonce, text) = sealed.split_at_checked(NONCE_BYTES).ok_or(SecretError::CannotOpen)?;
    let cipher = XChaCha20Poly1305::new(key.as_ref().into());
    let payload = Payload { msg: text, aad: bound };
    cipher.decrypt(XNonce::from_slice(nonce), payload).map(Zeroizing::new).map_err(|_| SecretError::CannotOpen)
}

/// Concatenates strings, each with its length as prefix, so that different lists give different bytes.
pub fn bind(parts: &[&str]) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part.as_bytes());
    }
    out
}
