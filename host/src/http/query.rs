//! The query, decoded. Refuses what is not UTF-8, instead of guessing.

use percent_encoding::percent_decode_str;

use crate::limits::QUERY_PARAMETERS_MAX;

/// Pairs in the order of the address; "+" is a space, as forms write it. `None` if it is not UTF-8 or too long.
pub(super) fn parse_query(raw_query: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for pair in raw_query.split('&').filter(|pair| !pair.is_empty()) {
        if pairs.len() == QUERY_PARAMETERS_MAX {
            return None;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((decode(name)?, decode(value)?));
    }
    Some(pairs)
}

/// One text of a form.
pub(super) fn decode(text: &str) -> Option<String> {
    if !text.contains('+') {
        return Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8().ok()?.into_owned())
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
    fn what_cannot_be_text_is_refused() {
        assert_eq!(parse_query("a=%FF"), None);
        assert_eq!(parse_query(&"a&".repeat(QUERY_PARAMETERS_MAX + 1)), None);
    }
}
