//! Free-form JSON of a caller's own, which is stored and shown as it came.
//!
//! Owns what it must be so that everybody who reads it next reads the same: whole texts, finite numbers, no member twice.

use tenon_plugin::json;

use crate::rules::invalid::Invalid;

/// An object.
pub fn check_object(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Invalid> {
    if !text.trim_start().starts_with('{') {
        return Err(Invalid::Not { field, kind: "an object" });
    }
    check(field, text, bytes_max, "an object of Unicode texts and finite numbers")
}

/// Anything.
pub fn check_json(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Invalid> {
    check(field, text, bytes_max, "JSON of Unicode texts and finite numbers")
}

fn check(field: &'static str, text: &str, bytes_max: usize, kind: &'static str) -> Result<(), Invalid> {
    if text.len() > bytes_max {
        return Err(Invalid::ObjectTooLarge { field, bytes_max });
    }
    // Of a part of a form nobody has looked yet how deep it nests.
    if !json::nests_within(text, json::DEPTH_MAX) || !json::is_readable(text) {
        return Err(Invalid::Not { field, kind });
    }
    if json::is_ambiguous(text) { Err(Invalid::Ambiguous.within(field)) } else { Ok(()) }
}

/// Whether one is the other but for blanks: a client that sends back what it has read writes them in its own way.
pub fn is_same(one: &str, other: &str) -> bool {
    bare(one).eq(bare(other))
}

/// The bytes without the blanks between them.
fn bare(text: &str) -> impl Iterator<Item = u8> {
    let (mut in_text, mut escaped) = (false, false);
    text.bytes().filter(move |byte| {
        let keeps = in_text || !byte.is_ascii_whitespace();
        if *byte == b'"' && !escaped {
            in_text = !in_text;
        }
        escaped = in_text && !escaped && *byte == b'\\';
        keeps
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_between_are_no_difference_and_those_within_a_text_are() {
        assert!(is_same(r#"{"a b": [1, "\"x y"]}"#, "{\"a b\":\n[1,\"\\\"x y\"]}"));
        for (one, other) in
            [(r#"{"a b":1}"#, r#"{"ab":1}"#), (r#"["\" x"]"#, r#"["\"x"]"#), ("[1,2]", "[12]"), ("[1]", "[1")]
        {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn no_object_at_any_depth_has_a_member_twice() {
        for text in [r#"{"a":1,"b":{"a":1}}"#, r#" {"a":[{"b":1},{"b":1}],"b":"{\"a\":1,\"a\":1}"}"#, "{}"] {
            assert_eq!(check_object("meta", text, 100), Ok(()), "{text}");
        }
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":{"b":[{"c":1,"\u0063":2}]}}"#, r#"{"a":1, "b":2, "a":null}"#] {
            let fault = check_object("meta", text, 100).unwrap_err();
            assert_eq!(fault.sentence(), "The meta field must have each of its members once.", "{text}");
        }
        // More members than anybody reads.
        let text = ["{", &"\"a\":1,".repeat(json::MEMBERS_MAX), "\"a\":1}"].concat();
        assert_eq!(check_object("meta", &text, 64 << 10), Err(Invalid::Ambiguous.within("meta")));
    }

    #[test]
    fn what_is_no_object_or_cannot_be_read_is_refused() {
        for text in [
            "[]",
            "5",
            "",
            r#"{"a":1e999}"#,
            r#"{"a":"\ud800"}"#,
            &["{\"a\":", &"[".repeat(40), &"]".repeat(40), "}"].concat(),
        ] {
            assert!(matches!(check_object("meta", text, 100), Err(Invalid::Not { .. })), "{text}");
        }
        assert!(check_json("raw_data", "[5]", 3).is_ok() && check_json("raw_data", "[55]", 3).is_err());
    }
}
