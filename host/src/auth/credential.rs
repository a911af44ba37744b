//! Extracts the credential of a request, and removes it from the query and the path.
//!
//! A credential is accepted in `Authorization: Bearer`, and, if the manifest allows it, as the user name of Basic, in a
//! header or in a query parameter. Keys are not checked here. Invariant: the returned query and path contain no
//! credential.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use super::CredentialError;

/// Sources of a credential that a plugin accepts in addition to `Authorization: Bearer`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CredentialSources<'m> {
    /// `Authorization: Basic` with the key as user name and an empty password.
    pub basic_user: bool,
    /// Lower-case name of a header that carries the bare key.
    pub header: Option<&'m str>,
    /// Name of a query parameter that carries the bare key.
    pub query: Option<&'m str>,
}

/// Returns the credential of a request, or `None` if the request has none.
///
/// # Errors
/// `Ambiguous` if the request has two different credentials. The same credential in two sources is accepted.
/// `Malformed` if an `Authorization` header has none of the accepted forms, or if a source is not valid text.
pub fn find_credential(
    headers: &HeaderMap,
    raw_query: &str,
    sources: CredentialSources<'_>,
) -> Result<Option<Zeroizing<String>>, CredentialError> {
    let mut found = None;
    for value in headers.get_all(header::AUTHORIZATION) {
        let value = value.to_str().map_err(|_| CredentialError::Malformed)?;
        add(&mut found, read_authorization(value, sources)?)?;
    }
    if let Some(name) = sources.header {
        for value in headers.get_all(name) {
            let value = value.to_str().map_err(|_| CredentialError::Malformed)?;
            add(&mut found, Zeroizing::new(value.trim().to_owned()))?;
        }
    }
    if let Some(name) = sources.query {
        for (_, value) in pairs(raw_query).filter(|(key, _)| is_named(key, name)) {
            let value = percent_decode_str(value).decode_utf8().map_err(|_| CredentialError::Malformed)?;
            add(&mut found, Zeroizing::new(value.into_owned()))?;
        }
    }
    Ok(found)
}

/// Returns true if the request has an `Authorization: Bearer` header.
pub fn is_bearer(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let scheme = value.and_then(|value| value.split_once(' ')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

/// Returns the query without the parameter that carries the key. The rest is unchanged.
pub fn strip_credential<'q>(raw_query: &'q str, sources: CredentialSources<'_>) -> Cow<'q, str> {
    let Some(name) = sources.query else { return Cow::Borrowed(raw_query) };
    if !pairs(raw_query).any(|(key, _)| is_named(key, name)) {
        return Cow::Borrowed(raw_query);
    }
    let rest = raw_query.split('&').filter(|pair| !is_named(split(pair).0, name));
    Cow::Owned(rest.collect::<Vec<_>>().join("&"))
}

/// Returns the path with the value of parameter `name` replaced. `pattern` is the declared path, which matches the end
/// of `path`.
pub fn hide_parameter(path: &str, pattern: &str, name: &str, replacement: &str) -> String {
    let is_it = |segment: &str| segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name);
    let from_end = pattern.rsplit('/').position(is_it);
    let mut segments: Vec<&str> = path.rsplit('/').collect();
    if let Some(segment) = from_end.and_then(|position| segments.get_mut(position)) {
        *segment = replacement;
    }
    segments.reverse();
    segments.join("/")
}

fn read_authorization(value: &str, sources: CredentialSources<'_>) -> Result<Zeroizing<String>, CredentialError> {
    let (scheme, credentials) = value.split_once(' ').ok_or(CredentialError::Malformed)?;
    let credentials = credentials.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Ok(Zeroizing::new(credentials.to_owned()));
    }
    if !sources.basic_user || !scheme.eq_ignore_ascii_case("basic") {
        return Err(CredentialError::Malformed);
    }
    let decoded = Zeroizing::new(STANDARD.decode(credentials).map_err(|_| CredentialError::Malformed)?);
    let text = str::from_utf8(&decoded).map_err(|_| CredentialError::Malformed)?;
    match text.split_once(':') {
        Some((user, "")) => Ok(Zeroizing::new(user.to_owned())),
        _ => Err(CredentialError::Malformed),
    }
}

fn add(found: &mut Option<Zeroizing<String>>, text: Zeroizing<String>) -> Result<(), CredentialError> {
    match found {
        Some(earlier) if **earlier != *text => Err(CredentialError::Ambiguous),
        _ => {
            *found = Some(text);
            Ok(())
        }
    }
}

fn pairs(raw_query: &str) -> impl Iterator<Item = (&str, &str)> {
    raw_query.split('&').map(split)
}

fn split(pair: &str) -> (&str, &str) {
    pair.split_once('=').unwrap_or((pair, ""))
}

/// Compares parameter names after percent-decoding: an encoded name must not carry a key past `strip_credential`.
fn is_named(raw_key: &str, name: &str) -> bool {
    raw_key == name || percent_decode_str(raw_key).eq(name.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_SOURCES: CredentialSources<'static> =
        CredentialSources { basic_user: true, header: Some("x-api-key"), query: Some("api_key") };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn find(pairs: &[(&'static str, &str)], query: &str) -> Result<Option<String>, CredentialError> {
        find_credential(&headers(pairs), query, ALL_SOURCES).map(|found| found.map(|text| text.to_string()))
    }

    #[test]
    fn key_is_found_in_all_four_sources() {
        let expected = Ok(Some("abc".to_owned()));
        assert_eq!(find(&[("authorization", "Bearer abc")], ""), expected);
        assert_eq!(find(&[("authorization", "bearer  abc")], ""), expected);
        assert_eq!(find(&[("authorization", "Basic YWJjOg==")], ""), expected);
        assert_eq!(find(&[("x-api-key", "abc")], ""), expected);
        assert_eq!(find(&[], "a=1&api_key=abc"), expected);
        assert_eq!(find(&[], "api%5Fkey=%61bc"), expected);
        assert_eq!(find(&[], "a=1"), Ok(None));
    }

    #[test]
    fn sources_that_the_manifest_does_not_name_are_ignored() {
        let no_sources = CredentialSources::default();
        let headers = headers(&[("x-api-key", "abc")]);
        assert_eq!(find_credential(&headers, "api_key=abc", no_sources), Ok(None));
        let basic = self::headers(&[("authorization", "Basic YWJjOg==")]);
        assert_eq!(find_credential(&basic, "", no_sources), Err(CredentialError::Malformed));
    }

    #[test]
    fn two_different_credentials_are_rejected() {
        assert_eq!(find(&[("authorization", "Bearer abc"), ("x-api-key", "abd")], ""), Err(CredentialError::Ambiguous));
        assert_eq!(find(&[("x-api-key", "abc")], "api_key=abd"), Err(CredentialError::Ambiguous));
        assert_eq!(find(&[], "api_key=abc&api_key=abd"), Err(CredentialError::Ambiguous));
        assert_eq!(find(&[("x-api-key", "abc")], "api_key=abc"), Ok(Some("abc".to_owned())));
    }

    #[test]
    fn other_schemes_and_passwords_are_rejected() {
        for value in ["Digest abc", "abc", "Basic YWJjOnB3", "Basic ???", "Basic YWJj"] {
            assert_eq!(find(&[("authorization", value)], ""), Err(CredentialError::Malformed), "{value}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn credentials_of_requests_leave_no_copy_in_freed_memory() {
        use crate::secrets::{
            new_key_text,
            wiped::tests::{SEARCHING, count_copies, masked},
        };

        let _alone = SEARCHING.lock();
        let text = new_key_text().unwrap();
        let needle = masked(text.as_bytes());
        // The buffers of hyper are not wiped. These buffers are.
        let query = Zeroizing::new(["api_key=", text.as_str()].concat());
        let value = Zeroizing::new(["Bearer ", text.as_str()].concat().into_bytes());
        let value = http::HeaderValue::from_maybe_shared(bytes::Bytes::from_owner(value)).unwrap();
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        let found = find_credential(&headers, &query, ALL_SOURCES).unwrap();
        assert_eq!(found, Some(text));
        drop((headers, query));
        assert!(count_copies(&needle) > 0, "the credential that was found");
        drop(found);
        assert_eq!(count_copies(&needle), 0);
    }

    #[test]
    fn path_has_no_token_in_any_position() {
        let hide = |path: &str| hide_parameter(path, "/v1/pages/{ticket}/state", "ticket", "token_1");
        assert_eq!(hide("/v1/pages/tok%5Ftest_abc/state"), "/v1/pages/token_1/state");
        assert_eq!(hide("/mounted/v1/pages/abc/state"), "/mounted/v1/pages/token_1/state");
    }

    #[test]
    fn query_has_no_key_and_is_otherwise_unchanged() {
        let strip = |query: &'static str| strip_credential(query, ALL_SOURCES).into_owned();
        assert_eq!(strip("a=1&api_key=abc&b=%20"), "a=1&b=%20");
        assert_eq!(strip("%61pi_key=abc"), "");
        assert_eq!(strip("a=1&&b"), "a=1&&b");
    }
}
