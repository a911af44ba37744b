//! Explains TOML syntax errors to readers who may not know TOML.

use std::{
    net::{IpAddr, SocketAddr},
    ops::Range,
};

/// Explains an error. `message` is the parser's message about these bytes.
pub fn explain(text: &str, span: &Range<usize>, message: &str) -> String {
    match find_unquoted(text, span.start) {
        Some((key, value)) if is_address(value) => {
            format!("this is not TOML: an address must be a quoted string: {key} = \"{value}\".")
        }
        // The value may be a secret, and this message is logged.
        Some((key, _)) => format!("this is not TOML: a string must be in quotes: {key} = \"…\"."),
        None => format!("this is not TOML: {}.", message.replace('\n', ", ")),
    }
}

/// Returns key and value of the line at `position`, if the value looks like a string without quotes.
fn find_unquoted(text: &str, position: usize) -> Option<(&str, &str)> {
    let begin = text.get(..position)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(begin..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_plain =
        !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'[]{},".contains(&byte));
    let is_word = value.starts_with(|first: char| first.is_ascii_alphabetic() || "/.".contains(first));
    (is_key && is_plain && (is_word || is_address(value))).then_some((key, value))
}

fn is_address(value: &str) -> bool {
    value.parse::<SocketAddr>().is_ok() || value.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        let (_, errors) = toml::de::DeTable::parse_recoverable(text);
        let first = errors.iter().min_by_key(|error| error.span().map_or(0, |span| span.start)).unwrap();
        explain(text, &first.span().unwrap(), first.message())
    }

    #[test]
    fn unquoted_address_is_explained_as_one() {
        for text in ["listen = 127.0.0.1", "x = 1\nlisten = 127.0.0.1:8080 # here", "listen = 10.0.0.1:80\nx = 1"] {
            assert!(explained(text).contains("an address must be a quoted string: listen = \""), "{}", explained(text));
        }
    }

    #[test]
    fn unquoted_word_is_not_repeated() {
        let expected = "this is not TOML: a string must be in quotes: environment = \"…\".";
        assert_eq!(explained("environment = production"), expected);
        for text in ["webhook-secret = s3cret", "data-dir = /var/lib/s3cret", "x = 1\nsecret = s3cret # s3cret"] {
            assert!(explained(text).ends_with(" = \"…\".") && !explained(text).contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn other_mistakes_keep_the_message_of_the_parser() {
        for text in ["[plugins.notes\n", "x = \"abc\n", "x = 1__0", "x = [1,\n"] {
            assert!(!explained(text).contains("quotes:"), "{}", explained(text));
        }
    }
}
