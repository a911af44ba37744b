//! Finding the credential in a request, and taking it out of the query and the path.
//!
//! Knows the four places: `Authorization: Bearer` always; Basic with the key as user name, a header, a query parameter
//! where the manifest says so. Never judges a key. Invariant: the query and the path that leave here hold no credential.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use super::Denied;

/// Where a key may stand besides `Authorization: Bearer`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'m> {
    /// `Authorization: Basic` with the key as user name and an empty password.
    pub basic_user: bool,
    /// A header that carries the bare key, in lower case.
    pub header: Option<&'m str>,
    /// A query parameter that carries the bare key.
    pub query: Option<&'m str>,
}

/// The text that the caller shows as a key; `None` where nothing was shown.
///
/// # Errors
/// `Ambiguous` for two different ones (the same one in two places is one), `Malformed` for an `Authorization` header
/// that is none of the accepted forms.
pub fn find_credential(
    headers: &HeaderMap,
    raw_query: &str,
    places: Places<'_>,
) -> Result<Option<Zeroizing<String>>, Denied> {
    let mut found = None;
    for value in headers.get_all(header::AUTHORIZATION) {
        let value = value.to_str().map_err(|_| Denied::Malformed)?;
        note(&mut found, read_authorization(value, places)?)?;
    }
    if let Some(name) = places.header {
        for value in headers.get_all(name) {
            let value = value.to_str().map_err(|_| Denied::Malformed)?;
            note(&mut found, Zeroizing::new(value.trim().to_owned()))?;
        }
    }
    if let Some(name) = places.query {
        for (_, value) in pairs(raw_query).filter(|(key, _)| is_named(key, name)) {
            let value = percent_decode_str(value).decode_utf8().map_err(|_| Denied::Malformed)?;
            note(&mut found, Zeroizing::new(value.into_owned()))?;
        }
    }
    Ok(found)
}

/// Whether the request shows something as `Authorization: Bearer`.
pub fn is_bearer(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let scheme = value.and_then(|value| value.split_once(' ')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

/// The query without the parameter that carries the key, otherwise as it was sent.
pub fn strip_credential<'q>(raw_query: &'q str, places: Places<'_>) -> Cow<'q, str> {
    let Some(name) = places.query else { return Cow::Borrowed(raw_query) };
    if !pairs(raw_query).any(|(key, _)| is_named(key, name)) {
        return Cow::Borrowed(raw_query);
    }
    let kept = raw_query.split('&').filter(|pair| !is_named(split(pair).0, name));
    Cow::Owned(kept.collect::<Vec<_>>().join("&"))
}

/// The path with `shown` in the place of the parameter `name`. `pattern` is the end of the path, as it was declared.
pub fn hide_parameter(path: &str, pattern: &str, name: &str, shown: &str) -> String {
    let is_it = |segment: &str| segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name);
    let from_end = pattern.rsplit('/').position(is_it);
    let mut segments: Vec<&str> = path.rsplit('/').collect();
    if let Some(segment) = from_end.and_then(|position| segments.get_mut(position)) {
        *segment = shown;
    }
    segments.reverse();
    segments.join("/")
}

fn read_authorization(value: &str, places: Places<'_>) -> Result<Zeroizing<String>, Denied> {
    let (scheme, credentials) = value.split_once(' ').ok_or(Denied::Malformed)?;
    let credentials = credentials.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Ok(Zeroizing::new(credentials.to_owned()));
    }
    if !places.basic_user || !scheme.eq_ignore_ascii_case("basic") {
        return Err(Denied::Malformed);
    }
    let decoded = Zeroizing::new(STANDARD.decode(credentials).map_err(|_| Denied::Malformed)?);
    let text = str::from_utf8(&decoded).map_err(|_| Denied::Malformed)?;
    match text.split_once(':') {
        Some((user, "")) => Ok(Zeroizing::new(user.to_owned())),
        _ => Err(Denied::Malformed),
    }
}

fn note(found: &mut Option<Zeroizing<String>>, text: Zeroizing<String>) -> Result<(), Denied> {
    match found {
        Some(earlier) if **earlier != *text => Err(Denied::Ambiguous),
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

/// A name that is spelled with percent signs is the same name: it must not carry a key past us.
fn is_named(raw_key: &str, name: &str) -> bool {
    raw_key == name || percent_decode_str(raw_key).eq(name.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYWHERE: Places<'static> = Places { basic_user: true, header: Some("x-api-key"), query: Some("api_key") };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn find(pairs: &[(&'static str, &str)], query: &str) -> Result<Option<String>, Denied> {
        find_credential(&headers(pairs), query, EVERYWHERE).map(|found| found.map(|text| text.to_string()))
    }

    #[test]
    fn a_key_is_found_in_all_four_places() {
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
    fn places_that_the_manifest_does_not_name_are_not_looked_at() {
        let nowhere = Places::default();
        let headers = headers(&[("x-api-key", "abc")]);
        assert_eq!(find_credential(&headers, "api_key=abc", nowhere), Ok(None));
        let basic = self::headers(&[("authorization", "Basic YWJjOg==")]);
        assert_eq!(find_credential(&basic, "", nowhere), Err(Denied::Malformed));
    }

    #[test]
    fn two_different_credentials_are_refused() {
        assert_eq!(find(&[("authorization", "Bearer abc"), ("x-api-key", "abd")], ""), Err(Denied::Ambiguous));
        assert_eq!(find(&[("x-api-key", "abc")], "api_key=abd"), Err(Denied::Ambiguous));
        assert_eq!(find(&[], "api_key=abc&api_key=abd"), Err(Denied::Ambiguous));
        assert_eq!(find(&[("x-api-key", "abc")], "api_key=abc"), Ok(Some("abc".to_owned())));
    }

    #[test]
    fn other_schemes_and_passwords_are_refused() {
        for value in ["Digest abc", "abc", "Basic YWJjOnB3", "Basic ???", "Basic YWJj"] {
            assert_eq!(find(&[("authorization", value)], ""), Err(Denied::Malformed), "{value}");
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
        // The buffers of hyper are not wiped; these are.
        let query = Zeroizing::new(["api_key=", text.as_str()].concat());
        let value = Zeroizing::new(["Bearer ", text.as_str()].concat().into_bytes());
        let value = http::HeaderValue::from_maybe_shared(bytes::Bytes::from_owner(value)).unwrap();
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        let found = find_credential(&headers, &query, EVERYWHERE).unwrap();
        assert_eq!(found, Some(text));
        drop((headers, query));
        assert!(count_copies(&needle) > 0, "the credential that was found");
        drop(found);
        assert_eq!(count_copies(&needle), 0);
    }

    #[test]
    fn the_path_is_left_without_the_token_whatever_stands_around_it() {
        let hide = |path: &str| hide_parameter(path, "/v1/pages/{ticket}/state", "ticket", "token_1");
        assert_eq!(hide("/v1/pages/tok%5Ftest_abc/state"), "/v1/pages/token_1/state");
        assert_eq!(hide("/mounted/v1/pages/abc/state"), "/mounted/v1/pages/token_1/state");
    }

    #[test]
    fn the_query_is_left_without_the_key_and_otherwise_as_it_was() {
        let strip = |query: &'static str| strip_credential(query, EVERYWHERE).into_owned();
        assert_eq!(strip("a=1&api_key=abc&b=%20"), "a=1&b=%20");
        assert_eq!(strip("%61pi_key=abc"), "");
        assert_eq!(strip("a=1&&b"), "a=1&&b");
    }
}
