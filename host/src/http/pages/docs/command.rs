//! Renders a curl command that calls an operation, for use in a shell.
//!
//! Invariant: every string from a document is in single quotes, or is a plain name (`document::is_name`).

use std::{fmt::Write as _, io};

use serde_json::{Map, Value};

use super::{
    document::{Document, members_of},
    keys::Keys,
};
use crate::limits::DOCS_EXAMPLE_BYTES_MAX;

/// Returns a command that works when pasted, except for the parameters in braces. `-g` keeps curl from expanding those
/// as a pattern.
pub fn curl<'d>(document: Document<'d>, method: &str, path: &str, operation: &'d Map<String, Value>) -> String {
    let credential = Keys::of(document, operation).curl_credential();
    let mut line = String::from(if path.contains('{') { "curl -g" } else { "curl" });
    if method != "get" {
        let _ = write!(line, " -X {}", method.to_ascii_uppercase());
    }
    let _ = write!(line, " {}", quote(&format!("{}{path}", document.base_url)));
    if let Some(name) = credential.query {
        let _ = write!(line, "\"?{name}=$KEY\"");
    }
    line.push_str(&credential.options);
    let body = operation.get("requestBody").map(|body| document.resolve(body));
    if let Some(json) = body.and_then(|body| body.pointer("/content/application~1json")) {
        let _ = write!(line, " \\\n  -H 'Content-Type: application/json' -d {}", example(document, json));
    }
    line
}

fn example<'d>(document: Document<'d>, json: &'d Value) -> String {
    let first_of_many = || document.resolve(members_of(json, "examples")?.values().next()?).get("value");
    let Some(example) = json.get("example").or_else(first_of_many) else { return "'{}'".to_owned() };
    let mut text = Limited(Vec::new());
    match serde_json::to_writer(&mut text, example) {
        Ok(()) => quote(&String::from_utf8_lossy(&text.0)),
        Err(_) => "@body.json".to_owned(),
    }
}

/// A writer that fails before an example exceeds its limit.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > DOCS_EXAMPLE_BYTES_MAX {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Quotes a string for the shell. Replaces control characters, which a terminal may interpret as key presses.
fn quote(text: &str) -> String {
    let plain = text.replace(char::is_control, " ");
    format!("'{}'", plain.replace('\'', "'\\''"))
}
