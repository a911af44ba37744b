//! What proves that a callback is the provider's: HMAC-SHA256 over the time, a full stop and the exact body.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Lower-case hex. `timestamp_s`: seconds since 1970.
pub fn sign(secret: &str, timestamp_s: u64, body: &str) -> String {
    // A key of any length is one: this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(timestamp_s.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    hex(&mac.finalize().into_bytes())
}

pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf '1778142602.{"a":1}' | openssl dgst -sha256 -hmac secret`
    #[test]
    fn a_signature_is_the_one_that_openssl_makes() {
        let expected = "2e94ddf47c017006468aeb060b1f5752a5dedcd58e41e3a542698511a58c9970";
        assert_eq!(sign("secret", 1_778_142_602, r#"{"a":1}"#), expected);
    }
}
