//! The signature in a header with a custom name: a prefix, then the HMAC of the exact body in hex.
//!
//! It covers neither the id nor the time. Receivers that must detect replays check the headers of Standard Webhooks,
//! which are always sent.

use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Sha256, Sha512};

use super::{Mismatch, SigningError};
use crate::changes::endpoint::Algorithm;

/// The name and the format of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomHeader {
    name: HeaderName,
    prefix: String,
    algorithm: Algorithm,
}

impl CustomHeader {
    pub fn new(name: &str, prefix: &str, algorithm: Algorithm) -> Result<CustomHeader, SigningError> {
        let name = HeaderName::try_from(name).map_err(|_| SigningError::HeaderName)?;
        if name.as_str().starts_with("webhook-") {
            return Err(SigningError::HeaderName);
        }
        HeaderValue::from_str(prefix).map_err(|_| SigningError::Prefix)?;
        Ok(CustomHeader { name, prefix: prefix.to_owned(), algorithm })
    }

    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Returns the header for a body.
    pub fn sign(&self, key: &[u8], body: &[u8]) -> Result<(HeaderName, HeaderValue), SigningError> {
        let text = match self.algorithm {
            Algorithm::HmacSha256 => hex::encode(mac::<Hmac<Sha256>>(key, body)?.finalize().into_bytes()),
            Algorithm::HmacSha512 => hex::encode(mac::<Hmac<Sha512>>(key, body)?.finalize().into_bytes()),
        };
        let value = HeaderValue::try_from(format!("{}{text}", self.prefix)).map_err(|_| SigningError::Prefix)?;
        Ok((self.name.clone(), value))
    }

    /// Verifies that the header signs the body with one of the keys.
    pub fn verify(&self, headers: &HeaderMap, keys: &[&[u8]], body: &[u8]) -> Result<(), Mismatch> {
        let text = super::verify::only(headers, &self.name)?;
        let malformed = || Mismatch::Malformed(self.name.clone());
        let text = text.strip_prefix(self.prefix.as_str()).ok_or_else(malformed)?;
        let signature = hex::decode(text).map_err(|_| malformed())?;
        let is_valid = keys.iter().any(|key| match self.algorithm {
            Algorithm::HmacSha256 => is_mac_of::<Hmac<Sha256>>(key, body, &signature),
            Algorithm::HmacSha512 => is_mac_of::<Hmac<Sha512>>(key, body, &signature),
        });
        if is_valid { Ok(()) } else { Err(Mismatch::WrongSignature) }
    }
}

fn mac<M: Mac + hmac::digest::KeyInit>(key: &[u8], body: &[u8]) -> Result<M, SigningError> {
    let mut mac = <M as Mac>::new_from_slice(key).map_err(|_| SigningError::Secret)?;
    mac.update(body);
    Ok(mac)
}

fn is_mac_of<M: Mac + hmac::digest::KeyInit>(key: &[u8], body: &[u8], signature: &[u8]) -> bool {
    mac::<M>(key, body).is_ok_and(|mac| mac.verify_slice(signature).is_ok())
}
