//! Parses `Retry-After`: seconds or a date. Pure.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, header};

use crate::limits::RETRY_AFTER_MS_MAX;

/// Returns the pause in milliseconds that the server requests, counted from `now_ms` and at most `RETRY_AFTER_MS_MAX`.
/// Returns `None` without a valid header.
pub fn retry_after_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Parsing fails only if there are too many digits.
        text.parse::<u64>().map_or(RETRY_AFTER_MS_MAX, |seconds| seconds.saturating_mul(1_000))
    } else {
        let now = UNIX_EPOCH.checked_add(Duration::from_millis(now_ms))?;
        let until = httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default();
        u64::try_from(until.as_millis()).unwrap_or(RETRY_AFTER_MS_MAX)
    };
    Some(wait.min(RETRY_AFTER_MS_MAX))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// 1994-11-06T08:49:37Z
    const NOW_MS: u64 = 784_111_777_000;

    fn check(value: &str, expected: Option<u64>) {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(retry_after_ms(&headers, NOW_MS), expected, "{value:?}");
    }

    #[test]
    fn seconds_and_all_three_forms_of_a_date_are_read() {
        check("0", Some(0));
        check("120", Some(120_000));
        check(" 7 ", Some(7_000));
        check("Sun, 06 Nov 1994 08:50:37 GMT", Some(60_000));
        check("Sunday, 06-Nov-94 08:50:37 GMT", Some(60_000));
        check("Sun Nov  6 08:50:37 1994", Some(60_000));
    }

    #[test]
    fn past_date_requests_no_wait() {
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
    }

    #[test]
    fn wait_is_bounded() {
        check("31536000", Some(RETRY_AFTER_MS_MAX));
        check("99999999999999999999999999", Some(RETRY_AFTER_MS_MAX));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(RETRY_AFTER_MS_MAX));
    }

    #[test]
    fn invalid_header_is_ignored() {
        for value in ["", "soon", "-1", "1.5", "1 minute", "Sun, 99 Nov 1994 08:50:37 GMT"] {
            check(value, None);
        }
        assert_eq!(retry_after_ms(&HeaderMap::new(), NOW_MS), None);
    }
}
