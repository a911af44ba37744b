//! Answers kept for idempotency keys. The caller's key is the secret: the host keeps neither it nor anything that it
//! could open the answer with before the caller comes back. A copy of the database alone shows no answer, as long as
//! callers choose keys that cannot be guessed.

use zeroize::Zeroizing;

use super::{SecretError, aead};

const FORMAT: u8 = 1;

/// What an idempotency key is valid in; two of them never open each other's answers.
#[derive(Clone, Copy, Debug)]
pub struct AnswerContext<'a> {
    pub plugin: &'a str,
    /// "organization/environment".
    pub tenant: &'a str,
    /// Stable over the rotation of API keys.
    pub owner: &'a str,
}

impl AnswerContext<'_> {
    fn bound(&self) -> Vec<u8> {
        aead::bind(&["kept answer, 1", self.plugin, self.tenant, self.owner])
    }
}

/// Format (1 byte), nonce (24), ciphertext with tag.
pub fn seal_answer(idempotency_key: &str, context: AnswerContext<'_>, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
    let bound = context.bound();
    let key = aead::derive_key(idempotency_key.as_bytes(), &bound, b"sealing answers, 1")?;
    let mut out = Vec::with_capacity(1 + aead::NONCE_BYTES + plain.len() + 16);
    out.push(FORMAT);
    aead::seal_into(&mut out, &key, &bound, plain)?;
    Ok(out)
}

/// The reverse of [`seal_answer`].
pub fn open_answer(
    idempotency_key: &str,
    context: AnswerContext<'_>,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let Some((&FORMAT, sealed)) = sealed.split_first() else { return Err(SecretError::Refused) };
    let bound = context.bound();
    let key = aead::derive_key(idempotency_key.as_bytes(), &bound, b"sealing answers, 1")?;
    aead::open(sealed, &key, &bound)
}
