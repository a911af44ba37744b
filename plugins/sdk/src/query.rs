//! The check of a query before its handler runs: the route declares each parameter, and the query gives it once.

use crate::answer::Stop;
use crate::bindings::tenon::plugin::types::Pair;

/// Bytes of an unknown name that a refusal repeats.
const NAME_BYTES_MAX: usize = 64;

/// Renders the refusal of a query.
pub type RefuseQuery = fn(&QueryFault) -> Stop;

/// Describes the parameter for which a query is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryFault {
    /// The route does not declare the parameter. `name` has at most 64 bytes: letters, digits, "-", ".", "_", "~", and "%" before
    /// the hexadecimal digits of any other byte. An empty name is two quotation marks.
    Unknown { name: String, declared: &'static [&'static str] },
    /// The query gives the parameter more than once.
    Repeated { name: &'static str },
}

impl QueryFault {
    /// Returns the name of the parameter, as a message can repeat it.
    pub fn name(&self) -> &str {
        match self {
            QueryFault::Unknown { name, .. } => name,
            QueryFault::Repeated { name } => name,
        }
    }

    /// Returns the requirement that the parameter breaks. A message is the name, a space, and this.
    pub fn requirement(&self) -> String {
        match self {
            QueryFault::Unknown { declared: [], .. } => {
                "is not a parameter of this operation, which takes none".to_owned()
            }
            QueryFault::Unknown { declared, .. } => {
                ["is not a parameter of this operation, which takes: ", &declared.join(", ")].concat()
            }
            QueryFault::Repeated { .. } => "must be given only once".to_owned(),
        }
    }
}

/// Returns the first fault of the query.
pub(crate) fn check(query: &[Pair], declared: &'static [&'static str]) -> Result<(), QueryFault> {
    for (position, pair) in query.iter().enumerate() {
        let Some(name) = declared.iter().copied().find(|name| *name == pair.name) else {
            return Err(QueryFault::Unknown { name: written(&pair.name), declared });
        };
        if query.iter().take(position).any(|earlier| earlier.name == name) {
            return Err(QueryFault::Repeated { name });
        }
    }
    Ok(())
}

/// Escapes a string for a path or a query: letters, digits, "-", ".", "_" and "~" stay, any other byte becomes "%" and two
/// hexadecimal digits.
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

/// Escapes a name that a caller chose, so that it can stand in a sentence.
fn written(name: &str) -> String {
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

    fn refuse(fault: &QueryFault) -> Stop {
        Refusal::new(400, "invalid", format!("{} {}", fault.name(), fault.requirement())).into()
    }

    fn message(target: &str) -> (u16, String) {
        let answer = TestHost::new(&PLUGIN).call(TestCall::get(target));
        (answer.status, answer.json()["message"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn route_takes_the_parameters_that_it_declares_and_no_other() {
        assert_eq!(message("/list?limit=1&after=x").0, 200);
        let unknown =
            |name: &str, takes: &str| (400, format!("{name} is not a parameter of this operation, which takes{takes}"));
        assert_eq!(message("/list?limit=1&page=2"), unknown("page", ": limit, after"));
        assert_eq!(message("/one?limit=1"), unknown("limit", " none"));
        assert_eq!(message("/one?=1"), unknown("\"\"", " none"));
    }

    #[test]
    fn parameter_is_given_once() {
        assert_eq!(message("/list?after=x&limit=1&limit=1"), (400, "limit must be given only once".to_owned()));
    }

    #[test]
    fn unchecked_queries_may_give_anything() {
        assert_eq!(message("/link?utm_source=mail&utm_source=mail").0, 200);
        assert_eq!(TestHost::new(&LENIENT).call(TestCall::get("/one?x=1")).status, 200);
    }

    #[test]
    fn unknown_name_in_a_refusal_is_short_and_plain() {
        assert_eq!(written("a b\u{1f}é"), "a%20b%1F%C3%A9");
        assert_eq!(written(&"x".repeat(1_000)).len(), NAME_BYTES_MAX);
        assert_eq!(written(&" ".repeat(1_000)), "%20".repeat(21));
    }
}
