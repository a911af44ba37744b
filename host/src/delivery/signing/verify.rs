//! What a receiver does: `tenon listen` and the tests.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::Mac;
use http::{HeaderMap, HeaderName};

use super::{Message, SigningSecret, VERSION, WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, message_id};
use crate::limits::{SIGNATURE_AGE_SECONDS_MAX, SIGNATURES_CHECKED_MAX};

/// Why a message is not to be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("the header {0} is missing")]
    Missing(HeaderName),
    #[error("the header {0} is there more than once")]
    Repeated(HeaderName),
    #[error("the header {0} cannot be read")]
    Malformed(HeaderName),
    #[error("the message was sent {0} seconds ago, which is too long")]
    TooOld(u64),
    #[error("the message will be sent in {0} seconds, which is too far ahead")]
    TooNew(u64),
    #[error("there is no signature of version {VERSION}")]
    NoSignature,
    #[error("no signature is that of this message under the secret")]
    WrongSignature,
}

/// Whether the headers of Standard Webhooks are those of this body, by one of the secrets, and not from another time.
pub fn verify(headers: &HeaderMap, body: &[u8], secrets: &[SigningSecret], now_seconds: u64) -> Result<(), Mismatch> {
    let id = only(headers, &WEBHOOK_ID)?;
    if message_id(id).is_none() {
        return Err(Mismatch::Malformed(WEBHOOK_ID));
    }
    let timestamp = parse_timestamp(only(headers, &WEBHOOK_TIMESTAMP)?)?;
    let signatures = only(headers, &WEBHOOK_SIGNATURE)?;
    check_age(timestamp, now_seconds)?;
    let message = Message { id, timestamp, body };
    let mut found = false;
    for signature in signatures.split(' ').filter_map(of_version).take(SIGNATURES_CHECKED_MAX) {
        found = true;
        let Ok(signature) = STANDARD.decode(signature) else { continue };
        if secrets.iter().any(|secret| secret.mac(&message).is_ok_and(|mac| mac.verify_slice(&signature).is_ok())) {
            return Ok(());
        }
    }
    Err(if found { Mismatch::WrongSignature } else { Mismatch::NoSignature })
}

/// The one value of a header. Of two, each reader might take another.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Mismatch> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| Mismatch::Missing(name.clone()))?;
    if values.next().is_some() {
        return Err(Mismatch::Repeated(name.clone()));
    }
    value.to_str().map_err(|_| Mismatch::Malformed(name.clone()))
}

/// As it was signed: digits, and none that could be left out.
fn parse_timestamp(text: &str) -> Result<u64, Mismatch> {
    let number = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    number.ok_or(Mismatch::Malformed(WEBHOOK_TIMESTAMP))
}

fn check_age(timestamp: u64, now: u64) -> Result<(), Mismatch> {
    let (age, ahead) = (now.saturating_sub(timestamp), timestamp.saturating_sub(now));
    if age > SIGNATURE_AGE_SECONDS_MAX {
        return Err(Mismatch::TooOld(age));
    }
    if ahead > SIGNATURE_AGE_SECONDS_MAX {
        return Err(Mismatch::TooNew(ahead));
    }
    Ok(())
}

fn of_version(signature: &str) -> Option<&str> {
    signature.split_once(',').filter(|(version, _)| *version == VERSION).map(|(_, signature)| signature)
}
