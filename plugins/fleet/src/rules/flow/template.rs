//! Texts with {placeholders}, filled from the fields of an order (research/fleet 3: `_resolved_status`,
//! `_resolved_details`).

use super::Fields;

/// Of one value: a long note does not make a long title.
const VALUE_CHARS_MAX: usize = 200;

/// A placeholder that nothing is known of vanishes. Values are not looked into again; braces around anything but a path
/// stay.
pub fn resolve(text: &str, fields: &Fields<'_>) -> String {
    let mut resolved = String::new();
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once('{') {
        resolved.push_str(before);
        match opened.split_once('}').filter(|(path, _)| is_path(path)) {
            Some((path, after)) => {
                resolved.extend(fields(path).unwrap_or_default().chars().take(VALUE_CHARS_MAX));
                rest = after;
            }
            None => {
                resolved.push('{');
                rest = opened;
            }
        }
    }
    resolved.push_str(rest);
    resolved
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(field: &str) -> Option<String> {
        match field {
            "driver.name" => Some("Ada".to_owned()),
            "notes" => Some("{driver.name}".to_owned()),
            "long" => Some("x".repeat(1_000)),
            _ => None,
        }
    }

    #[test]
    fn placeholders_are_filled_once() {
        let table = [
            ("{driver.name} is on the way", "Ada is on the way"),
            ("by {driver.name}{driver.name}", "by AdaAda"),
            ("{notes}", "{driver.name}"),
            ("to {nowhere}!", "to !"),
            ("{", "{"),
            ("a } b { c", "a } b { c"),
            ("{not a path} {driver.name}", "{not a path} Ada"),
            ("{{driver.name}}", "{Ada}"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(resolve(text, &order), expected, "{text}");
        }
    }

    #[test]
    fn a_value_has_a_bound() {
        assert_eq!(resolve("{long}", &order).len(), VALUE_CHARS_MAX);
    }

    proptest! {
        #[test]
        fn a_text_without_braces_stays_as_it_is(text in "[^{]{0,64}") {
            prop_assert_eq!(resolve(&text, &order), text);
        }
    }
}
