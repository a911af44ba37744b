//! An OpenAPI document: resolves references and truncates strings.
//!
//! Invariant: nothing here recurses, and every chain of references is bounded.

use serde_json::{Map, Value};

use super::super::escape;
use crate::limits::{DOCS_NAME_CHARS_MAX, DOCS_REFERENCES_MAX, DOCS_TEXT_CHARS_MAX};

/// The document of one interface, and its base URL.
#[derive(Clone, Copy)]
pub struct Document<'d> {
    pub root: &'d Value,
    pub base_url: &'d str,
    /// Prefix of the anchors of this interface.
    pub plugin: &'d str,
}

impl<'d> Document<'d> {
    /// Resolves a `$ref` within the document. Returns any other value unchanged.
    pub fn resolve(self, value: &'d Value) -> &'d Value {
        let mut at = value;
        for _ in 0..DOCS_REFERENCES_MAX {
            let Some(found) = self.follow(at) else { break };
            at = found;
        }
        at
    }

    fn follow(self, value: &'d Value) -> Option<&'d Value> {
        let pointer = value.get("$ref")?.as_str()?.strip_prefix('#')?;
        if pointer.len() > DOCS_NAME_CHARS_MAX { None } else { self.root.pointer(pointer) }
    }

    /// Returns the anchor of an element, if its name can be part of one.
    pub fn anchor(self, name: &str) -> Option<String> {
        is_name(name).then(|| format!("{}.{name}", self.plugin))
    }
}

/// Returns true if a name of a parameter, header or component is safe without quotes.
pub fn is_name(name: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= DOCS_NAME_CHARS_MAX && name.bytes().all(is_safe)
}

pub fn text_of<'d>(value: &'d Value, member: &str) -> &'d str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

pub fn members_of<'d>(value: &'d Value, member: &str) -> Option<&'d Map<String, Value>> {
    value.get(member).and_then(Value::as_object)
}

pub fn list_of<'d>(value: &'d Value, member: &str) -> &'d [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Escapes and truncates a description.
pub fn render_text(text: &str) -> String {
    escape(&shortened(text, DOCS_TEXT_CHARS_MAX))
}

/// Escapes and truncates a name.
pub fn render_name(text: &str) -> String {
    escape(&shortened(text, DOCS_NAME_CHARS_MAX))
}

pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
