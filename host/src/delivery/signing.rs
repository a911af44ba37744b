//! Signatures of webhooks: Standard Webhooks 1.0.0, and optionally a header with a custom name. Pure.
//!
//! Owns the format of signing secrets. Never reads the time, and never logs or displays a secret. Invariants: the
//! signature covers exactly the bytes that are sent. Signatures are compared in constant time.

mod custom_header;
mod verify;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;
use zeroize::Zeroizing;

pub use custom_header::CustomHeader;
pub use verify::{Mismatch, verify};

use crate::{
    limits::{SIGNING_SECRET_BYTES_MAX, SIGNING_SECRET_BYTES_MIN},
    secrets::{SecretText, WEBHOOK_SECRET_PREFIX, webhook_secret_text},
};

pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The prefix of each signature. Identifies the algorithm HMAC-SHA256.
const VERSION: &str = "v1";

/// A message to sign or to verify.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The id of the event, the same for all attempts.
    pub id: &'a str,
    /// The time of this attempt in seconds since 1970-01-01T00:00:00Z.
    pub timestamp: u64,
    pub body: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    #[error(
        "a signing secret must be \"whsec_\" and the base64 of {SIGNING_SECRET_BYTES_MIN} to {SIGNING_SECRET_BYTES_MAX} bytes"
    )]
    Secret,
    #[error("the id of a message must consist of visible ASCII characters without a full stop")]
    MessageId,
    #[error("a signature requires at least one secret")]
    NoSecret,
    #[error("the name of the signature header must be a valid header name that does not start with \"webhook-\"")]
    HeaderName,
    #[error("the prefix of the signature must be a valid header value")]
    Prefix,
}

/// The key that a sender and a receiver share. Zeroed when dropped.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

impl SigningSecret {
    /// Creates a secret from random bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<SigningSecret, SigningError> {
        if !(SIGNING_SECRET_BYTES_MIN..=SIGNING_SECRET_BYTES_MAX).contains(&bytes.len()) {
            return Err(SigningError::Secret);
        }
        Ok(SigningSecret(Zeroizing::new(bytes.to_vec())))
    }

    /// Parses the text form: "whsec_" and the base64 of the bytes.
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

/// Returns the three headers of Standard Webhooks, with a signature for each secret, because the receiver may have
/// either secret during a rotation.
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

/// Returns the id as a header value, or `None` if it is empty or contains anything but visible ASCII characters. Also
/// rejects a full stop, which separates the parts of a signed message.
fn message_id(id: &str) -> Option<HeaderValue> {
    let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.');
    HeaderValue::from_str(id).ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests;
