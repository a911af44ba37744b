//! Count of the deliveries and calls between Tenon hosts that led to a request: a header that ends loops.
//!
//! Every webhook and every call to a destination carries the count of the request that caused it, plus one. A host that
//! receives a count above the limit rejects the request, so that every loop through a host ends. A caller that forges a
//! high count has its own request rejected. A caller that removes the header starts again at 0.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limits::HOPS_MAX;

pub const HOPS_HEADER: HeaderName = HeaderName::from_static("tenon-hops");

/// Why the hop count of a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopsError {
    TooMany,
    Malformed,
}

/// Returns the count of a request: the highest value of the header, or 0 without the header.
pub fn read_hops(headers: &HeaderMap) -> Result<u8, HopsError> {
    let mut highest = 0;
    for value in headers.get_all(HOPS_HEADER) {
        let digits =
            value.to_str().ok().filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        let digits = digits.ok_or(HopsError::Malformed)?;
        // A number that is too large for u8 exceeds the limit as well.
        highest = highest.max(digits.parse().unwrap_or(u8::MAX));
    }
    if highest > HOPS_MAX { Err(HopsError::TooMany) } else { Ok(highest) }
}

/// Returns the value of the header for a delivery or call that a request with this count caused.
pub fn next_hops(hops: u8) -> HeaderValue {
    HeaderValue::from(u16::from(hops) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<u8, HopsError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HOPS_HEADER, value.parse().unwrap());
        }
        read_hops(&headers)
    }

    #[test]
    fn highest_of_several_counts_is_read() {
        assert_eq!(read(&[]), Ok(0));
        assert_eq!(read(&["3"]), Ok(3));
        assert_eq!(read(&["0", "5", "2"]), Ok(5));
        assert_eq!(read(&[&HOPS_MAX.to_string()]), Ok(HOPS_MAX));
    }

    #[test]
    fn count_above_the_limit_or_malformed_is_rejected() {
        for many in [&*(HOPS_MAX + 1).to_string(), "255", "256", "99999999999999999999"] {
            assert_eq!(read(&[many]), Err(HopsError::TooMany), "{many}");
        }
        assert_eq!(read(&["0", "255"]), Err(HopsError::TooMany));
        for wrong in ["", "-1", "+1", "1.5", "one", "1, 2"] {
            assert_eq!(read(&[wrong]), Err(HopsError::Malformed), "{wrong}");
        }
    }

    #[test]
    fn next_count_is_one_more() {
        assert_eq!(next_hops(0), "1");
        assert_eq!(next_hops(u8::MAX), "256");
    }
}
