//! Signatures of webhooks: those of Standard Webhooks 1.0.0, and the one in a header that an interface names itself. Pure.
//!
//! Owns the form of signing secrets. Never reads the time, never logs or shows a secret. Invariants: what is signed is the
//! very bytes that go out; a signature is compared in a time that does not depend on where it differs.

mod own_header;
mod verify;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;
use zeroize::Zeroizing;

pub use own_header::OwnHeader;
pub use verify::{Mismatch, verify};

use crate::{
    limits::{SIGNING_SECRET_BYTES_MAX, SIGNING_SECRET_BYTES_MIN},
    secrets::{SecretText, WEBHOOK_SECRET_PREFIX, webhook_secret_text},
};

pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Names the algorithm, HMAC-SHA256, in front of each signature.
const VERSION: &str = "v1";

/// What goes out, and when.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The same for all attempts.
    pub id: &'a str,
    /// Of this attempt, in seconds since 1970-01-01T00:00:00Z.
    pub timestamp: u64,
    pub body: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    #[error(
        "a signing secret is \"whsec_\" and the base64 of {SIGNING_SECRET_BYTES_MIN} to {SIGNING_SECRET_BYTES_MAX} bytes"
    )]
    Secret,
    #[error("the id of a message is made of visible ASCII characters without a full stop")]
    MessageId,
    #[error("there is no secret to sign with")]
    NoSecret,
    #[error("a header with this name cannot carry a signature")]
    HeaderName,
    #[error("the text in front of the signature cannot stand in a header")]
    Prefix,
}

/// The key that a sender and a receiver share. Wiped when dropped.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

impl SigningSecret {
    /// From random bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<SigningSecret, SigningError> {
        if !(SIGNING_SECRET_BYTES_MIN..=SIGNING_SECRET_BYTES_MAX).contains(&bytes.len()) {
            return Err(SigningError::Secret);
        }
        Ok(SigningSecret(Zeroizing::new(bytes.to_vec())))
    }

    /// From the text that people pass on.
    pub fn parse(text: &str) -> Result<SigningSecret, SigningError> {
        let encoded = text.strip_prefix(WEBHOOK_SECRET_PREFIX).ok_or(SigningError::Secret)?;
        let bytes = Zeroizing::new(STANDARD.decode(encoded).map_err(|_| SigningError::Secret)?);
        SigningSecret::from_bytes(&bytes)
    }

    pub fn text(&self) -> SecretText {
        webhook_secret_text(&self.0)
    }

    fn mac(&self, message: &Message<'_>) -> Result<Hmac<Sha256>, SigningError> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).map_err(|_| SigningError::Secret)?;
        mac.update(message.id.as_bytes());
        mac.update(b".");
        mac.update(message.timestamp.to_string().as_bytes());
        mac.update(b".");
        mac.update(message.body);
        Ok(mac)
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

/// The three headers of Standard Webhooks, with a signature for each secret: during a rotation the receiver may have either.
pub fn sign(message: &Message<'_>, secrets: &[SigningSecret]) -> Result<[(HeaderName, HeaderValue); 3], SigningError> {
    if secrets.is_empty() {
        return Err(SigningError::NoSecret);
    }
    let id = message_id(message.id).ok_or(SigningError::MessageId)?;
    let mut signatures = String::new();
    for secret in secrets {
        if !signatures.is_empty() {
            signatures.push(' ');
        }
        signatures.push_str(VERSION);
        signatures.push(',');
        STANDARD.encode_string(secret.mac(message)?.finalize().into_bytes(), &mut signatures);
    }
    let signatures = HeaderValue::try_from(signatures).map_err(|_| SigningError::Secret)?;
    Ok([(WEBHOOK_ID, id), (WEBHOOK_TIMESTAMP, message.timestamp.into()), (WEBHOOK_SIGNATURE, signatures)])
}

/// A full stop in the id would let parts of a message change places.
fn message_id(id: &str) -> Option<HeaderValue> {
    let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.');
    HeaderValue::from_str(id).ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests;
