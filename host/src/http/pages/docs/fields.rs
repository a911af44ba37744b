//! The fields of a schema, one row each: `data.assets[].id`. This module produces no HTML.
//!
//! A schema comes from a plugin and may be arbitrary: it may contain itself or thousands of other schemas. Invariants:
//! no table has more than `DOCS_FIELDS_MAX` rows or more than `DOCS_DEPTH_MAX` levels, and all tables of an interface
//! together examine at most `DOCS_STEPS_MAX` schemas.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Document, list_of, members_of, shortened, text_of};
use crate::limits::{DOCS_ALTERNATIVES_MAX, DOCS_DEPTH_MAX, DOCS_FIELDS_MAX, DOCS_NAME_CHARS_MAX, DOCS_TEXT_CHARS_MAX};

/// Nesting limit of a kind: a list of lists of strings has 2 levels.
const KIND_NESTING_MAX: usize = 2;

#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Path from the outermost object. `[]` stands for each element of a list.
    pub path: String,
    pub kind: String,
    pub is_required: bool,
    pub description: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub rows: Vec<Field>,
    /// True if a limit was reached, so that the schema may have more fields than the rows.
    pub has_more: bool,
}

/// Lists the fields of a schema. `steps`: number of schemas that may still be examined.
pub fn fields_of(document: Document<'_>, schema: &Value, steps: &mut usize) -> Fields {
    let mut walk = Walk { document, steps, found: Fields::default() };
    let (inner, suffix) = walk.element(schema);
    let prefix = if suffix.is_empty() { String::new() } else { format!("{suffix}.") };
    walk.object(&prefix, inner, 1);
    walk.found
}

/// Describes the type of a schema: "string (uuid)", "list of object", "one of "a", "b"".
pub fn kind_of(document: Document<'_>, schema: &Value, steps: &mut usize) -> String {
    shortened(&kind_within(document, schema, steps, 0), DOCS_NAME_CHARS_MAX)
}

/// Takes a step. Returns true if another schema may be examined.
fn step(steps: &mut usize) -> bool {
    let left = steps.checked_sub(1);
    *steps = left.unwrap_or_default();
    left.is_some()
}

struct Walk<'d, 's> {
    document: Document<'d>,
    steps: &'s mut usize,
    found: Fields,
}

/// An object that a schema is composed of.
struct SchemaPart<'d> {
    schema: &'d Value,
    /// True for a variant of `oneOf` or `anyOf`.
    is_variant: bool,
}

impl<'d> Walk<'d, '_> {
    fn object(&mut self, prefix: &str, schema: &'d Value, depth: usize) {
        let mut parts = Vec::new();
        self.collect(SchemaPart { schema, is_variant: false }, &mut parts, 0);
        let always = parts.iter().filter(|part| !part.is_variant);
        let required = always.flat_map(|part| list_of(part.schema, "required").iter().take(DOCS_FIELDS_MAX));
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        for part in &parts {
            for (name, schema) in members_of(part.schema, "properties").into_iter().flatten() {
                if self.found.rows.len() >= DOCS_FIELDS_MAX || !step(self.steps) {
                    self.found.has_more = true;
                    return;
                }
                let is_required = !part.is_variant && required.contains(name.as_str());
                let path = shortened(&format!("{prefix}{name}"), DOCS_NAME_CHARS_MAX);
                self.field(path, schema, is_required);
                self.within(prefix, name, schema, depth);
            }
        }
    }

    /// Collects the object and the parts that it is composed of.
    fn collect(&mut self, part: SchemaPart<'d>, parts: &mut Vec<SchemaPart<'d>>, nesting: usize) {
        if nesting > DOCS_DEPTH_MAX || parts.len() >= DOCS_FIELDS_MAX || !step(self.steps) {
            self.found.has_more = true;
            return;
        }
        let SchemaPart { schema, is_variant } = part;
        let schema = self.document.resolve(schema);
        parts.push(SchemaPart { schema, is_variant });
        for part in list_of(schema, "allOf").iter().take(DOCS_FIELDS_MAX) {
            self.collect(SchemaPart { schema: part, is_variant }, parts, nesting.saturating_add(1));
        }
        for part in list_of(schema, "oneOf").iter().chain(list_of(schema, "anyOf")).take(DOCS_FIELDS_MAX) {
            self.collect(SchemaPart { schema: part, is_variant: true }, parts, nesting.saturating_add(1));
        }
    }

    /// Adds a row. A field of several parts is one row with all of its kinds.
    fn field(&mut self, path: String, schema: &Value, is_required: bool) {
        let kind = kind_of(self.document, schema, self.steps);
        if let Some(row) = self.found.rows.iter_mut().find(|row| row.path == path) {
            row.is_required |= is_required;
            if !row.kind.split(" or ").any(|one| one == kind) {
                row.kind = shortened(&format!("{} or {kind}", row.kind), DOCS_NAME_CHARS_MAX);
            }
            return;
        }
        let own = text_of(schema, "description");
        let description = if own.is_empty() { text_of(self.document.resolve(schema), "description") } else { own };
        let description = shortened(description, DOCS_TEXT_CHARS_MAX);
        self.found.rows.push(Field { path, kind, is_required, description });
    }

    fn within(&mut self, prefix: &str, name: &str, schema: &'d Value, depth: usize) {
        let (inner, suffix) = self.element(schema);
        if depth >= DOCS_DEPTH_MAX {
            self.found.has_more |= inner.get("properties").is_some();
            return;
        }
        let prefix = shortened(&format!("{prefix}{name}{suffix}."), DOCS_NAME_CHARS_MAX);
        self.object(&prefix, inner, depth.saturating_add(1));
    }

    /// Returns the element schema of a list, or of nested lists, with the path suffix. Returns any other schema itself,
    /// with an empty suffix.
    fn element(&mut self, schema: &'d Value) -> (&'d Value, String) {
        let (mut inner, mut suffix) = (self.document.resolve(schema), String::new());
        for _ in 0..DOCS_DEPTH_MAX {
            let Some(items) = inner.get("items") else { break };
            inner = self.document.resolve(items);
            suffix.push_str("[]");
        }
        (inner, suffix)
    }
}

fn kind_within(document: Document<'_>, schema: &Value, steps: &mut usize, nesting: usize) -> String {
    let schema = document.resolve(schema);
    if nesting > KIND_NESTING_MAX || !step(steps) {
        return "…".to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return literal(constant);
    }
    let values = list_of(schema, "enum");
    if !values.is_empty() {
        return format!("one of {}", joined(values.iter().map(literal), ", "));
    }
    let alternatives = list_of(schema, "oneOf").iter().chain(list_of(schema, "anyOf"));
    let kinds = alternatives.map(|one| kind_within(document, one, steps, nesting.saturating_add(1)));
    let kinds = joined(kinds, " or ");
    if !kinds.is_empty() {
        return kinds;
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let kinds = joined(named.into_iter().map(|name| typed(document, (schema, name), steps, nesting)), " or ");
    match kinds.is_empty() {
        false => kinds,
        true if schema.get("properties").or(schema.get("allOf")).is_some() => "object".to_owned(),
        true => "anything".to_owned(),
    }
}

fn typed(document: Document<'_>, (schema, name): (&Value, &str), steps: &mut usize, nesting: usize) -> String {
    let nesting = nesting.saturating_add(1);
    let format = text_of(schema, "format");
    match (name, schema.get("items"), schema.get("additionalProperties")) {
        ("array", Some(items), _) => format!("list of {}", kind_within(document, items, steps, nesting)),
        ("array", None, _) => "list".to_owned(),
        ("object", _, Some(values @ Value::Object(_))) if schema.get("properties").is_none() => {
            format!("object of {}", kind_within(document, values, steps, nesting))
        }
        _ if format.is_empty() => shortened(name, DOCS_NAME_CHARS_MAX),
        _ => shortened(&format!("{name} ({format})"), DOCS_NAME_CHARS_MAX),
    }
}

/// Joins the distinct values among the first `DOCS_ALTERNATIVES_MAX` + 1. "…" replaces the last of these if all others
/// are distinct.
fn joined(all: impl Iterator<Item = String>, between: &str) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for one in all.take(DOCS_ALTERNATIVES_MAX.saturating_add(1)) {
        if distinct.len() >= DOCS_ALTERNATIVES_MAX {
            distinct.push("…".to_owned());
        } else if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct.join(between)
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", shortened(text, DOCS_NAME_CHARS_MAX)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    }
}
