//! Reads the expiry date of a certificate from its DER (RFC 5280, 4.1).
//!
//! Parses only the ASN.1 that precedes the date. TLS validates certificates. The date is only reported to operators.
//! Any bytes give a date or `None`.

use jiff::{civil::DateTime, tz::TimeZone};
use rustls::pki_types::CertificateDer;

const SEQUENCE: u8 = 0x30;
/// `[0] EXPLICIT`, which precedes the version.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the expiry date in seconds since 1970.
pub fn expires_at(certificate: &CertificateDer<'_>) -> Option<u64> {
    let (tag, certificate, _) = take(certificate.as_ref())?;
    let (SEQUENCE, signed, _) = take(Some(certificate).filter(|_| tag == SEQUENCE)?)? else { return None };
    let mut rest = signed;
    if rest.first() == Some(&VERSION) {
        rest = take(rest)?.2;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        rest = take(rest)?.2;
    }
    let (_, validity, _) = take(rest)?;
    let (_, _not_before, rest) = take(validity)?;
    let (tag, not_after, _) = take(rest)?;
    parse_time(tag, std::str::from_utf8(not_after).ok()?)
}

/// Splits off one element: tag, content, and the remaining bytes.
fn take(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ 0..=0x7f => (usize::from(short), rest),
        // Four bytes can hold the length of any certificate.
        long @ 0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Parses "YYMMDDHHMMSSZ" (years from 1950 to 2049) or "YYYYMMDDHHMMSSZ".
fn parse_time(tag: u8, text: &str) -> Option<u64> {
    let text = match tag {
        UTC_TIME => format!("{}{text}", if text.get(..2)? < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", &text).ok()?;
    u64::try_from(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(year: i32) -> CertificateDer<'static> {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 3, 4);
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn expiry_date_is_read_in_both_formats() {
        assert_eq!(expires_at(&certificate(2030)), Some(1_898_812_800));
        assert_eq!(expires_at(&certificate(2060)), Some(2_845_584_000));
    }

    #[test]
    fn bytes_that_are_not_a_certificate_have_no_date() {
        let whole = certificate(2030);
        for length in 0..whole.len().min(200) {
            assert_eq!(expires_at(&CertificateDer::from(whole[..length].to_vec())), None, "{length}");
        }
        assert_eq!(expires_at(&CertificateDer::from(vec![0x30, 0xff, 0xff, 0xff])), None);
    }
}
