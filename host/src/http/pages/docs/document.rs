//! An OpenAPI document as the page reads it: what references stand for, and texts that have an end.
//!
//! Invariant: nothing here recurses, and no reference is followed for ever.

use serde_json::{Map, Value};

use super::super::escape;
use crate::limits::{DOCS_NAME_CHARS_MAX, DOCS_REFERENCES_MAX, DOCS_TEXT_CHARS_MAX};

/// Of one interface, and where it is served.
#[derive(Clone, Copy)]
pub struct Document<'d> {
    pub root: &'d Value,
    pub base_url: &'d str,
    /// What anchors of this interface begin with.
    pub plugin: &'d str,
}

impl<'d> Document<'d> {
    /// What a `$ref` within the document stands for; anything else is itself.
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

    /// The anchor of something in the document, where its name can be part of one.
    pub fn anchor(self, name: &str) -> Option<String> {
        is_name(name).then(|| format!("{}.{name}", self.plugin))
    }
}

/// Of a parameter, a header, a component: what can stand anywhere without being quoted.
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

/// For people, harmless and not endless.
pub fn shown(text: &str) -> String {
    escape(&shortened(text, DOCS_TEXT_CHARS_MAX))
}

/// The same for a name.
pub fn shown_name(text: &str) -> String {
    escape(&shortened(text, DOCS_NAME_CHARS_MAX))
}

pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
