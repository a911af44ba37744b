//! Answers stored for idempotency keys. The caller's key is the secret: the host stores neither the key nor anything
//! else that could open the answer before the caller repeats the request. A copy of the database alone reveals no
//! answer, as long as callers choose keys that cannot be guessed.

use zeroize::Zeroizing;

use super::{SecretError, aead};

const FORMAT: u8 = 1;

/// Scope of an idempotency key. A key never opens an answer of another scope.
#[derive(Clone, Copy, Debug)]
pub struct AnswerContext<'a> {
    pub plugin: &'a str,
    /// "organization/environment".
    pub tenant: &'a str,
    /// Does not change when an API key is rotated.
    pub owner: &'a str,
}

impl AnswerContext<'_> {
    fn bound(&self) -> Vec<u8> {
        aead::bind(&["kept answer, 1", self.plugin, self.tenant, self.owner])
    }
}

/// Seals an answer: format (1 byte), nonce (24), ciphertext with tag.
pub fn seal_answer(idempotency_key: &str, context: AnswerContext<'_>, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
    let bound = context.bound();
    let key = aead::derive_key(idempotency_key.as_bytes(), &bound, b"sealing answers, 1")?;
    let mut out = Vec::with_capacity(1 + aead::NONCE_BYTES + plain.len() + 16);
    out.push(FORMAT);
    aead::seal_into(&mut out, &key, &bound, plain)?;
    Ok(out)
}

/// Opens the output of [`seal_answer`].
pub fn open_answer(
    idempotency_key: &str,
    context: AnswerContext<'_>,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let Some((&FORMAT, sealed)) = sealed.split_first() else { return Err(SecretError::CannotOpen) };
    let bound = context.bound();
    let key = aead::derive_key(idempotency_key.as_bytes(), &bound, b"sealing answers, 1")?;
    aead::open(sealed, &key, &bound)
}
