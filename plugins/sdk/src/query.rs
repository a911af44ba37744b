//! Checks a query before the handler runs: the route must declare each parameter, and the query must not repeat one.

use crate::answer::Stop;
use crate::bindings::tenon::plugin::types::Pair;

/// Maximum bytes of an unknown name in a message.
const NAME_BYTES_MAX: usize = 64;

/// Renders the refusal of an invalid query.
pub type RenderQueryError = fn(&QueryError) -> Stop;

/// Reason why a query is invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryError {
    /// The route does not declare the parameter. `name` has at most 64 bytes: letters, digits, "-", ".", "_", "~", and
    /// "%" before the hexadecimal digits of any other byte. An empty name is two quotation marks.
    Unknown { name: String, declared: &'static [&'static str] },
    /// The query repeats the parameter.
    Repeated { name: &'static str },
}

impl QueryError {
    /// Returns the name of the parameter, escaped for a message.
    pub fn name(&self) -> &str {
        match self {
            QueryError::Unknown { name, .. } => name,
            QueryError::Repeated { name } => name,
        }
    }

    /// Returns the requirement that the parameter violates. A message is the name, a space, and this text.
    pub fn requirement(&self) -> String {
        match self {
            QueryError::Unknown { declared: [], .. } => {
                "is not a parameter of this operation, which takes none".to_owned()
            }
            QueryError::Unknown { declared, .. } => {
                ["is not a parameter of this operation, which takes: ", &declared.join(", ")].concat()
            }
            QueryError::Repeated { .. } => "must be given only once".to_owned(),
        }
    }
}

/// Returns the first error of the query.
pub(crate) fn check(query: &[Pair], declared: &'static [&'static str]) -> Result<(), QueryError> {
    for (position, pair) in query.iter().enumerate() {
        let Some(name) = declared.iter().copied().find(|name| *name == pair.name) else {
            return Err(QueryError::Unknown { name: escape_name(&pair.name), declared });
        };
        if query.iter().take(position).any(|earlier| earlier.name == name) {
            return Err(QueryError::Repeated { name });
        }
    }
    Ok(())
}

/// Escapes a string for a path or a query. ASCII letters, digits, "-", ".", "_" and "~" stay. Any other byte becomes
/// "%" and two hexadecimal digits.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    text.bytes().for_each(|byte| push_escaped(&mut escaped, byte));
    escaped
}

fn push_escaped(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |half: u8| DIGITS.get(usize::from(half)).map_or('0', |byte| char::from(*byte));
    match byte {
        _ if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => text.push(char::from(byte)),
        _ => text.extend(['%', digit(byte >> 4), digit(byte & 15)]),
    }
}

/// Escapes a name that a caller chose, so that it can be part of a message.
fn escape_name(name: &str) -> String {
    if name.is_empty() {
        return "\"\"".to_owned();
    }
    let mut text = String::new();
    for byte in name.bytes() {
        let end = text.len();
        push_escaped(&mut text, byte);
        if text.len() > NAME_BYTES_MAX {
            text.truncate(end);
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{TestCall, TestHost};
    use crate::{Answer, Call, Outcome, Plugin, Refusal, Route, get};

    const DECLARED: &[&str] = &["limit", "after"];

    #[test]
    fn reserved_and_non_ascii_bytes_are_escaped() {
        assert_eq!(escape("a/b c?é~"), "a%2Fb%20c%3F%C3%A9~");
    }

    const ROUTES: &[Route] = &[
        get("/list", "list", answer).query(DECLARED),
        get("/one", "read-one", answer),
        get("/link", "open-link", answer).any_query(),
    ];

    static PLUGIN: Plugin = Plugin::new("queries", "0.1.0").routes(ROUTES).strict_queries(refuse);
    static LENIENT: Plugin = Plugin::new("queries", "0.1.0").routes(ROUTES);

    fn answer(_: &Call) -> Outcome {
        Ok(Answer::ok("{}".to_owned()))
    }

    fn refuse(error: &QueryError) -> Stop {
        Refusal::new(400, "invalid", format!("{} {}", error.name(), error.requirement())).into()
    }

    fn message(target: &str) -> (u16, String) {
        let answer = TestHost::new(&PLUGIN).call(TestCall::get(target));
        (answer.status, answer.json()["message"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn route_accepts_declared_parameters_only() {
        assert_eq!(message("/list?limit=1&after=x").0, 200);
        let unknown =
            |name: &str, known: &str| (400, format!("{name} is not a parameter of this operation, which takes{known}"));
        assert_eq!(message("/list?limit=1&page=2"), unknown("page", ": limit, after"));
        assert_eq!(message("/one?limit=1"), unknown("limit", " none"));
        assert_eq!(message("/one?=1"), unknown("\"\"", " none"));
    }

    #[test]
    fn repeated_parameter_is_refused() {
        assert_eq!(message("/list?after=x&limit=1&limit=1"), (400, "limit must be given only once".to_owned()));
    }

    #[test]
    fn unchecked_query_may_contain_any_parameter() {
        assert_eq!(message("/link?utm_source=mail&utm_source=mail").0, 200);
        assert_eq!(TestHost::new(&LENIENT).call(TestCall::get("/one?x=1")).status, 200);
    }

    #[test]
    fn unknown_name_in_a_message_is_escaped_and_truncated() {
        assert_eq!(escape_name("a b\u{1f}é"), "a%20b%1F%C3%A9");
        assert_eq!(escape_name(&"x".repeat(1_000)).len(), NAME_BYTES_MAX);
        assert_eq!(escape_name(&" ".repeat(1_000)), "%20".repeat(21));
    }
}
