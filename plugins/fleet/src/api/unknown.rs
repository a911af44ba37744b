//! What a caller wrote and nobody read: told in headers of the answer, never dropped without a word; refused where the
//! caller asked for that (`?strict=true`, or the header `Prefer: handling=strict`).
//!
//! Invariant: what goes into a header is bounded, and of letters, digits and a few marks alone.

use tenon_plugin::{Answer, Call, escape};

/// Of names that are told; whoever sends more learns enough from these.
const NAMES_MAX: usize = 20;
const NAME_BYTES_MAX: usize = 64;

const FIELDS_HEADER: &str = "x-unknown-fields";
const PARAMETERS_HEADER: &str = "x-unknown-parameters";

/// Request headers that a route reads whose caller may be strict.
pub const HEADERS: &[&str] = &["prefer"];
/// Where no header can be set.
pub const STRICT: &str = "strict";

/// Whether the caller would rather be refused than not be heard.
pub fn is_strict(call: &Call) -> bool {
    let prefers = |text: &str| text.split([',', ';']).any(|part| part.trim().eq_ignore_ascii_case("handling=strict"));
    call.query(STRICT).is_some_and(|value| value == "true" || value == "1")
        || call.header("prefer").is_some_and(prefers)
}

/// Names that nobody read, by their paths ("pickup.colour").
#[must_use = "what a caller wrote in vain is told"]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown {
    names: Vec<String>,
}

impl Unknown {
    /// Once each.
    pub fn of<'n>(names: impl Iterator<Item = &'n str>) -> Unknown {
        let mut unknown = Unknown::default();
        for name in names.take(1_000) {
            unknown.push(written(name));
        }
        unknown
    }

    /// Those of an object that stands in this field.
    pub fn within(mut self, field: &str) -> Unknown {
        for name in &mut self.names {
            *name = [field, ".", name].concat();
        }
        self
    }

    pub fn and(mut self, other: Unknown) -> Unknown {
        for name in other.names {
            self.push(name);
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// With commas between.
    pub fn listed(&self) -> String {
        self.names.join(", ")
    }

    /// Beside the answer to a body.
    pub fn tell(&self, answer: Answer) -> Answer {
        self.put(FIELDS_HEADER, answer)
    }

    /// Beside the answer to a query.
    pub fn tell_parameters(&self, answer: Answer) -> Answer {
        self.put(PARAMETERS_HEADER, answer)
    }

    fn put(&self, header: &str, answer: Answer) -> Answer {
        if self.is_empty() { answer } else { answer.header(header, self.listed()) }
    }

    fn push(&mut self, name: String) {
        if self.names.len() < NAMES_MAX && !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

/// As it may stand in a header and in a sentence.
fn written(name: &str) -> String {
    let mut text = escape(name);
    text.truncate(NAME_BYTES_MAX);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_once_and_fit_a_header() {
        let hostile = "x\r\nset-cookie: é".repeat(20);
        let unknown = Unknown::of(["color", "color", hostile.as_str()].into_iter());
        let told = unknown.listed();
        assert!(told.starts_with("color, x%0D%0Aset-cookie%3A%20%C3%A9"), "{told}");
        assert!(told.is_ascii() && !told.contains(char::is_control) && told.len() <= 71, "{told}");
    }

    #[test]
    fn a_caller_who_sends_a_thousand_learns_of_some() {
        let names: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        let unknown = Unknown::of(names.iter().map(String::as_str));
        assert_eq!(unknown.listed().split(", ").count(), NAMES_MAX);
    }

    #[test]
    fn names_within_a_field_have_its_path() {
        let unknown = Unknown::of(["colour"].into_iter()).within("pickup").and(Unknown::of(["size"].into_iter()));
        assert_eq!(unknown.listed(), "pickup.colour, size");
    }
}
