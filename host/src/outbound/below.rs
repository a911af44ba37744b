//! Addresses that calls go below: a base that somebody named once, and a path that a plugin says for each call. Pure.
//!
//! Invariant: whatever the path is, scheme, host, port and the path of the base stay what they are.

use percent_encoding::percent_decode;

use super::{
    address::AddressRule,
    target::{Scheme, Target, UrlRefusal, check_url},
};
use crate::limits::OUTBOUND_URL_BYTES_MAX;

/// Why this cannot be put below an address. The words are for the author of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathRefusal {
    #[error("the path is longer than {OUTBOUND_URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("the path holds blanks, control characters or backslashes")]
    Blanks,
    #[error("the path holds a fragment (#)")]
    Fragment,
    #[error("the path holds a segment \".\" or \"..\"")]
    Climbs,
}

/// As [`check_url`], and without a query: paths come after it.
pub fn check_base_url(text: &str, rule: &AddressRule, scheme: Scheme) -> Result<Target, UrlRefusal> {
    let target = check_url(text, rule, scheme)?;
    if text.contains('?') { Err(UrlRefusal::Query) } else { Ok(target) }
}

/// The address of `path` below `base`, still to be checked. The path may begin with a slash, and carry a query.
pub fn join(base: &str, path: &str) -> Result<String, PathRefusal> {
    if path.len() > OUTBOUND_URL_BYTES_MAX {
        return Err(PathRefusal::TooLong);
    }
    if path.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(PathRefusal::Blanks);
    }
    if path.contains('#') {
        return Err(PathRefusal::Fragment);
    }
    let (before, _query) = path.split_once('?').unwrap_or((path, ""));
    check_segments(before)?;
    if before.is_empty() {
        return Ok(format!("{base}{path}"));
    }
    let base = base.strip_suffix('/').unwrap_or(base);
    Ok(format!("{base}/{}", path.strip_prefix('/').unwrap_or(path)))
}

/// Servers and proxies decode percents, some of them twice, before they look at dots.
fn check_segments(path: &str) -> Result<(), PathRefusal> {
    let mut bytes = path.as_bytes().to_vec();
    loop {
        if bytes.iter().any(u8::is_ascii_control) {
            return Err(PathRefusal::Blanks);
        }
        if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(is_dots) {
            return Err(PathRefusal::Climbs);
        }
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded.len() == bytes.len() {
            return Ok(());
        }
        bytes = decoded;
    }
}

/// Some servers take "..;x" for "..".
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
    fn a_path_comes_below_the_base() {
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
    fn a_path_that_climbs_or_hides_something_is_refused() {
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
            assert_eq!(join(BASE, path), Err(PathRefusal::Climbs), "{path}");
        }
        for path in ["/a b", "/a\r\nx: y", "/a\\b", "/a\u{0}", "/a%0d%0ab", "/\u{2028}"] {
            assert_eq!(join(BASE, path), Err(PathRefusal::Blanks), "{path:?}");
        }
        assert_eq!(join(BASE, "/a#b"), Err(PathRefusal::Fragment));
        assert_eq!(join(BASE, &"a".repeat(OUTBOUND_URL_BYTES_MAX + 1)), Err(PathRefusal::TooLong));
    }

    #[test]
    fn a_base_has_no_query() {
        assert_eq!(
            check_base_url("https://api.example/?a=b", &everywhere(), Scheme::HttpToo).unwrap_err(),
            UrlRefusal::Query
        );
    }

    proptest::proptest! {
        /// Whatever a plugin says, it is the same server, below the same path.
        #[test]
        fn no_path_leaves_its_base(path in r#"([/.;?&=@:%#\\a-z]|%2[efEF]|%5[cC]|%25|http://|\PC){0,30}"#) {
            let base = check_base_url(BASE, &everywhere(), Scheme::HttpToo).unwrap();
            if let Ok(text) = join(BASE, &path)
                && let Ok(target) = check_url(&text, &everywhere(), Scheme::HttpToo)
            {
                assert_eq!(target.place(), base.place());
                assert!(target.path().path() == "/v1" || target.path().path().starts_with("/v1/"), "{target:?}");
            }
        }
    }
}
