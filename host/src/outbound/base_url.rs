//! URLs below a base URL: the base is configured once, and a plugin chooses a path for each call. Pure.
//!
//! Invariant: no path changes the scheme, host, port or path prefix of the base.

use percent_encoding::percent_decode;

use super::{
    address::AddressRule,
    target::{Scheme, Target, UrlError, check_url},
};
use crate::limits::OUTBOUND_URL_BYTES_MAX;

/// Why a path cannot be appended to a base URL. The messages are for the author of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is longer than {OUTBOUND_URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("the path holds blanks, control characters or backslashes")]
    Blanks,
    #[error("the path holds a fragment (#)")]
    Fragment,
    #[error("the path holds a segment \".\" or \"..\"")]
    Climbs,
}

/// Checks a URL as [`check_url`] does. It must not have a query, because paths are appended to it.
pub fn check_base_url(text: &str, rule: &AddressRule, scheme: Scheme) -> Result<Target, UrlError> {
    let target = check_url(text, rule, scheme)?;
    if text.contains('?') { Err(UrlError::Query) } else { Ok(target) }
}

/// Appends `path` to `base`. The path may begin with a slash and contain a query. The caller must check the result.
pub fn join(base: &str, path: &str) -> Result<String, PathError> {
    if path.len() > OUTBOUND_URL_BYTES_MAX {
        return Err(PathError::TooLong);
    }
    if path.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(PathError::Blanks);
    }
    if path.contains('#') {
        return Err(PathError::Fragment);
    }
    let (before, _query) = path.split_once('?').unwrap_or((path, ""));
    check_segments(before)?;
    if before.is_empty() {
        return Ok(format!("{base}{path}"));
    }
    let base = base.strip_suffix('/').unwrap_or(base);
    Ok(format!("{base}/{}", path.strip_prefix('/').unwrap_or(path)))
}

/// Rejects control characters and the segments "." and "..", also if they are percent-encoded: some servers and proxies
/// decode a path twice before resolving it.
fn check_segments(path: &str) -> Result<(), PathError> {
    let mut bytes = path.as_bytes().to_vec();
    loop {
        if bytes.iter().any(u8::is_ascii_control) {
            return Err(PathError::Blanks);
        }
        if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(is_dots) {
            return Err(PathError::Climbs);
        }
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded.len() == bytes.len() {
            return Ok(());
        }
        bytes = decoded;
    }
}

/// Returns true for "." and "..". Some servers treat "..;x" as "..".
fn is_dots(segment: &[u8]) -> bool {
    matches!(segment.split(|byte| *byte == b';').next(), Some(b"." | b".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://api.example/v1";

    fn everywhere() -> AddressRule {
        AddressRule::everywhere()
    }

    #[test]
    fn path_is_appended_to_the_base() {
        for (base, path, expected) in [
            (BASE, "/things/7?a=b&c=%2F", "https://api.example/v1/things/7?a=b&c=%2F"),
            (BASE, "things", "https://api.example/v1/things"),
            ("https://api.example/v1/", "/things", "https://api.example/v1/things"),
            ("https://api.example", "/", "https://api.example/"),
            (BASE, "", "https://api.example/v1"),
            (BASE, "?a=..", "https://api.example/v1?a=.."),
            (BASE, "/a..b/...", "https://api.example/v1/a..b/..."),
        ] {
            assert_eq!(join(base, path).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn path_with_dot_segments_or_invalid_characters_is_rejected() {
        for path in [
            "/..",
            "/../x",
            "..",
            "/a/./b",
            "/%2e%2e/x",
            "/.%2E",
            "/%252e%252e/x",
            "/a%2f..%2fb",
            "/..%5cx",
            "/..;a=b/x",
        ] {
            assert_eq!(join(BASE, path), Err(PathError::Climbs), "{path}");
        }
        for path in ["/a b", "/a\r\nx: y", "/a\\b", "/a\u{0}", "/a%0d%0ab", "/\u{2028}"] {
            assert_eq!(join(BASE, path), Err(PathError::Blanks), "{path:?}");
        }
        assert_eq!(join(BASE, "/a#b"), Err(PathError::Fragment));
        assert_eq!(join(BASE, &"a".repeat(OUTBOUND_URL_BYTES_MAX + 1)), Err(PathError::TooLong));
    }

    #[test]
    fn base_must_not_have_a_query() {
        assert_eq!(
            check_base_url("https://api.example/?a=b", &everywhere(), Scheme::HttpOrHttps).unwrap_err(),
            UrlError::Query
        );
    }

    proptest::proptest! {
        /// Any accepted path stays on the same server and below the same path.
        #[test]
        fn no_path_escapes_its_base(path in r#"([/.;?&=@:%#\\a-z]|%2[efEF]|%5[cC]|%25|http://|\PC){0,30}"#) {
            let base = check_base_url(BASE, &everywhere(), Scheme::HttpOrHttps).unwrap();
            if let Ok(text) = join(BASE, &path)
                && let Ok(target) = check_url(&text, &everywhere(), Scheme::HttpOrHttps)
            {
                assert_eq!(target.origin(), base.origin());
                assert!(target.path().path() == "/v1" || target.path().path().starts_with("/v1/"), "{target:?}");
            }
        }
    }
}
