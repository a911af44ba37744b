//! Verifies received webhooks, for `tenon listen` and the tests.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::Mac;
use http::{HeaderMap, HeaderName};

use super::{Message, SigningSecret, VERSION, WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, message_id};
use crate::limits::{SIGNATURE_AGE_SECONDS_MAX, SIGNATURES_CHECKED_MAX};

/// The reason why a message is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("the header {0} is missing")]
    Missing(HeaderName),
    #[error("the header {0} is present more than once")]
    Repeated(HeaderName),
    #[error("the header {0} is malformed")]
    Malformed(HeaderName),
    #[error("the timestamp is {0} seconds old, which exceeds the tolerance")]
    TooOld(u64),
    #[error("the timestamp is {0} seconds in the future, which exceeds the tolerance")]
    TooNew(u64),
    #[error("there is no signature of version {VERSION}")]
    NoSignature,
    #[error("no signature matches this message and the secret")]
    WrongSignature,
}

/// Verifies that the headers of Standard Webhooks sign the body with one of the secrets, and that the timestamp is
/// current.
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
    for signature in signatures.split(' ').filter_map(signature_of_version).take(SIGNATURES_CHECKED_MAX) {
        found = true;
        let Ok(signature) = STANDARD.decode(signature) else { continue };
        if secrets.iter().any(|secret| secret.mac(&message).is_ok_and(|mac| mac.verify_slice(&signature).is_ok())) {
            return Ok(());
        }
    }
    Err(if found { Mismatch::WrongSignature } else { Mismatch::NoSignature })
}

/// Returns the value of a header. Rejects repeated headers, because receivers may interpret them differently.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Mismatch> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| Mismatch::Missing(name.clone()))?;
    if values.next().is_some() {
        return Err(Mismatch::Repeated(name.clone()));
    }
    value.to_str().map_err(|_| Mismatch::Malformed(name.clone()))
}

/// Parses the timestamp in the exact form that is signed: decimal digits without leading zeros.
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

fn signature_of_version(signature: &str) -> Option<&str> {
    signature.split_once(',').filter(|(version, _)| *version == VERSION).map(|(_, signature)| signature)
}
