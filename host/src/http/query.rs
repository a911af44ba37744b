//! Decodes queries and forms. Rejects input that is not UTF-8.

use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use crate::limits::QUERY_PARAMETERS_MAX;

/// Returns the pairs in their order. "+" is a space, as forms encode it. Returns `None` if the query is not UTF-8 or
/// has too many parameters.
pub(super) fn parse_query(raw_query: &str) -> Option<Vec<(String, String)>> {
    parse(raw_query, decode)
}

/// Decodes a form that may contain a secret.
pub(super) fn parse_secret_form(form: &str) -> Option<Vec<(Zeroizing<String>, Zeroizing<String>)>> {
    parse(form, decode_secret)
}

fn parse<T>(text: &str, decode: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, T)>> {
    let mut pairs = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if pairs.len() == QUERY_PARAMETERS_MAX {
            return None;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((decode(name)?, decode(value)?));
    }
    Some(pairs)
}

fn decode(text: &str) -> Option<String> {
    if !text.contains('+') {
        return Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8().ok()?.into_owned())
}

/// Decodes one string of a form in one allocation, because a growing buffer would leave copies behind.
pub(super) fn decode_secret(text: &str) -> Option<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(Vec::<u8>::with_capacity(text.len()));
    for (position, part) in text.split('+').enumerate() {
        if position > 0 {
            bytes.push(b' ');
        }
        bytes.extend(percent_decode_str(part));
    }
    // `String::from_utf8` would return the bytes in its error.
    str::from_utf8(bytes.as_slice()).ok()?;
    String::from_utf8(std::mem::take(&mut *bytes)).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_in_order() {
        let pairs = parse_query("b=1&a=x%20y+z&&b=%2B&flag&=v").unwrap();
        let expected = [("b", "1"), ("a", "x y z"), ("b", "+"), ("flag", ""), ("", "v")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn secrets_are_decoded_in_one_allocation() {
        for text in ["", "abc", "a+b%2B%20c", "%", "%4", "%+41", "+", "%C3%A9", "%FF", "a%zz+"] {
            let decoded = decode_secret(text);
            assert_eq!(decoded.as_ref().map(|decoded| decoded.as_str()), decode(text).as_deref(), "{text}");
            assert!(decoded.is_none_or(|decoded| decoded.capacity() == text.len()), "{text}");
        }
        assert!(parse_secret_form("a=1&b=%FF").is_none());
    }

    #[test]
    fn invalid_or_oversized_query_is_rejected() {
        assert_eq!(parse_query("a=%FF"), None);
        assert_eq!(parse_query(&"a&".repeat(QUERY_PARAMETERS_MAX + 1)), None);
    }
}
