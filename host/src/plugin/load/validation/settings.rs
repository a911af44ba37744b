//! Checks the plugin's settings in plugins.toml against the JSON Schema of its manifest.
//!
//! Pure. Supports the keywords that describe a table of settings. A schema with another keyword is rejected by name, so
//! that no plugin relies on a rule that the host does not check. Invariant: the time of a check and the length of its
//! messages are bounded for any schema, even if it refers to itself.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt::{self, Display, Write},
};

use serde_json::{Map, Value};

/// Depth of nested schemas, including `$ref`. It bounds a schema that refers to itself.
const DEPTH_MAX: usize = 32;
/// Steps of one check of the settings: a schema takes one step, and each entry of its lists takes another.
const STEPS_MAX: usize = 100_000;
/// Bytes of a schema value that a message quotes.
const EXCERPT_BYTES: usize = 160;
/// Bytes of a `$ref`. Following it copies the string.
const REFERENCE_BYTES_MAX: usize = 256;
/// Values that a message lists.
const JOINED_MAX: usize = 64;
/// Mistakes of the schema that are reported.
const FINDINGS_MAX: usize = 100;
/// Keywords that describe and do not restrict.
const NOTES: [&str; 8] = ["$schema", "$defs", "$comment", "title", "description", "default", "examples", "format"];

/// Adds all mistakes in the settings of `plugin`, or in their schema.
pub fn check(plugin: &str, schema: &Value, settings: &BTreeMap<String, Value>, problems: &mut Vec<String>) {
    let root = Root { schema, steps: Cell::new(STEPS_MAX), is_overrun: Cell::new(false) };
    let mut unsupported = Vec::new();
    root.check_schema(schema, 0, &mut unsupported);
    if !unsupported.is_empty() {
        problems.extend(unsupported.into_iter().map(|why| format!("the schema of its settings {why}")));
        return;
    }
    let settings = Value::Object(settings.clone().into_iter().collect());
    let mut wrong = Vec::new();
    root.check_value(schema, (&settings, 0), &format!("plugins.{plugin}.settings"), &mut wrong);
    match root.is_overrun.get() {
        true => {
            problems.push("the schema of its settings takes too many steps to check, or refers to itself".to_owned())
        }
        false => problems.append(&mut wrong),
    }
}

struct Root<'a> {
    schema: &'a Value,
    /// Steps left for the check of the settings.
    steps: Cell<usize>,
    /// True if the check ended early.
    is_overrun: Cell<bool>,
}

impl<'a> Root<'a> {
    /// Returns the schema to which a chain of `$ref` leads. Returns `None` if a `$ref` has no target or is too long, or
    /// if the chain has `DEPTH_MAX` or more. Each `$ref` takes a step.
    fn resolve(&self, schema: &'a Value) -> Option<&'a Value> {
        let mut schema = schema;
        for _ in 0..DEPTH_MAX {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            if reference.len() > REFERENCE_BYTES_MAX {
                return None;
            }
            self.steps.set(self.steps.get().saturating_sub(1));
            schema = self.schema.pointer(reference.strip_prefix('#')?)?;
        }
        None
    }

    fn check_schema(&self, schema: &'a Value, depth: usize, problems: &mut Vec<String>) {
        if depth > DEPTH_MAX {
            problems.push(format!("is nested more than {DEPTH_MAX} deep"));
            return;
        }
        let members = match schema {
            Value::Bool(_) => return,
            Value::Object(members) => members,
            other => return problems.push(format!("has {} instead of a schema", excerpt(other))),
        };
        if self.resolve(schema).is_none() {
            let reference = excerpt(schema.get("$ref").unwrap_or(&Value::Null));
            let problem = format!("has no target, or leads through one of more than {REFERENCE_BYTES_MAX} bytes");
            problems.push(format!("has a $ref that {problem}: {reference}"));
        }
        for (keyword, value) in members {
            if problems.len() >= FINDINGS_MAX {
                return;
            }
            if let Some(subschemas) = subschemas(keyword, value) {
                subschemas.into_iter().for_each(|part| self.check_schema(part, depth.saturating_add(1), problems));
            } else if !is_supported(keyword, value) {
                let (keyword, value) = (excerpt(keyword), excerpt(value));
                problems.push(format!("has the keyword {keyword} with {value}, which the host does not check"));
            }
        }
    }

    /// Takes steps at a depth. Returns false if the check must end.
    fn take_steps(&self, steps: usize, depth: usize) -> bool {
        let left = self.steps.get().checked_sub(steps).filter(|_| depth <= DEPTH_MAX && !self.is_overrun.get());
        self.is_overrun.set(left.is_none());
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Checks a value. `schema` has passed [`Root::check_schema`]. `depth`: number of nested schemas that apply to the
    /// same value.
    fn check_value(&self, schema: &'a Value, (value, depth): (&Value, usize), path: &str, problems: &mut Vec<String>) {
        let entries = ["enum", "required", "type"].iter().map(|keyword| list(schema.get(keyword)).len());
        if !self.take_steps(entries.sum::<usize>().saturating_add(1), depth) {
            return;
        }
        let Some(schema) = self.resolve(schema) else { return };
        let Value::Object(keywords) = schema else {
            if *schema == Value::Bool(false) {
                problems.push(format!("`{path}` is not a setting of this plugin"));
            }
            return;
        };
        if let Some(expected) = keywords.get("type")
            && !types(expected).any(|name| is_of_type(name, value))
        {
            let names: Vec<&str> = types(expected).filter(|name| *name != "null").map(type_name).collect();
            return problems.push(format!("`{path}` must be {}", names.join(" or ")));
        }
        if let Some(must) = restriction(keywords, value) {
            problems.push(format!("`{path}` {must}"));
        }
        for part in list(keywords.get("allOf")) {
            self.check_value(part, (value, depth.saturating_add(1)), path, problems);
        }
        for keyword in ["anyOf", "oneOf"] {
            let subschemas = list(keywords.get(keyword));
            self.check_alternatives((keyword, subschemas), (value, depth.saturating_add(1)), path, problems);
        }
        if let (Some(items), Value::Array(values)) = (keywords.get("items"), value) {
            for (at, item) in values.iter().enumerate() {
                self.check_value(items, (item, depth), &format!("{path}[{at}]"), problems);
            }
        }
        if let Value::Object(members) = value {
            self.check_members(keywords, (members, depth), path, problems);
        }
    }

    /// Requires that at least one schema matches, and for `oneOf` no second one. If none matches, lists the constants,
    /// or reports the requirement of the first schema.
    fn check_alternatives(
        &self,
        (keyword, subschemas): (&str, &'a [Value]),
        (value, depth): (&Value, usize),
        path: &str,
        problems: &mut Vec<String>,
    ) {
        let (mut first, mut is_matched) = (None, false);
        for part in subschemas {
            let mut reasons = Vec::new();
            self.check_value(part, (value, depth), path, &mut reasons);
            if !reasons.is_empty() {
                first.get_or_insert(reasons);
                continue;
            }
            if keyword == "anyOf" {
                return;
            }
            if is_matched {
                return problems.push(format!("`{path}` matches more than one schema of `oneOf`"));
            }
            is_matched = true;
        }
        if is_matched {
            return;
        }
        let constants: Option<Vec<&Value>> = subschemas.iter().map(|part| self.resolve(part)?.get("const")).collect();
        match constants.filter(|constants| !constants.is_empty()) {
            Some(constants) => problems.push(format!("`{path}` must be one of: {}", join(&constants))),
            None => problems.extend(first.unwrap_or_default()),
        }
    }

    fn check_members(
        &self,
        keywords: &'a Map<String, Value>,
        (members, depth): (&Map<String, Value>, usize),
        path: &str,
        problems: &mut Vec<String>,
    ) {
        let properties = keywords.get("properties").and_then(Value::as_object);
        for name in list(keywords.get("required")).iter().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                problems.push(format!("`{path}.{}` is required", excerpt(name)));
            }
        }
        for (name, member) in members {
            let known = properties.and_then(|properties| properties.get(name));
            if let Some(schema) = known.or_else(|| keywords.get("additionalProperties")) {
                self.check_value(schema, (member, depth), &format!("{path}.{name}"), problems);
            }
        }
    }
}

/// Returns the schemas within a keyword. Returns `None` if the keyword contains no schemas.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Option<Vec<&'a Value>> {
    match (keyword, value) {
        ("$defs" | "properties", Value::Object(schemas)) => Some(schemas.values().collect()),
        ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => Some(schemas.iter().collect()),
        ("items" | "additionalProperties", schema) => Some(vec![schema]),
        _ => None,
    }
}

fn is_supported(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => types(value).count() > 0 && types(value).all(|name| TYPES.iter().any(|(known, _)| *known == name)),
        "enum" => value.is_array(),
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
        "const" => true,
        "$ref" => value.is_string(),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        _ => NOTES.contains(&keyword),
    }
}

/// Returns the first requirement that a value violates. Checks the keywords that restrict a single value.
fn restriction(keywords: &Map<String, Value>, value: &Value) -> Option<String> {
    let number = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
    let count = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
    let limit = |keyword: &str| keywords.get(keyword).map(excerpt).unwrap_or_default();
    if let Some(allowed) = keywords.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Some(format!("must be one of: {}", join(&allowed.iter().collect::<Vec<_>>())));
    }
    if keywords.get("const").is_some_and(|expected| expected != value) {
        return Some(format!("must be {}", limit("const")));
    }
    match value {
        Value::Number(given) => {
            let given = given.as_f64()?;
            if number("minimum").is_some_and(|min| given < min) {
                return Some(format!("must be at least {}", limit("minimum")));
            }
            let above = number("maximum").is_some_and(|max| given > max);
            above.then(|| format!("must be at most {}", limit("maximum")))
        }
        Value::String(text) => bounds(text.chars().count(), (count("minLength"), count("maxLength")), "characters"),
        Value::Array(items) => bounds(items.len(), (count("minItems"), count("maxItems")), "items"),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

fn bounds(count: usize, (min, max): (Option<u64>, Option<u64>), what: &str) -> Option<String> {
    let count = count as u64;
    if let Some(min) = min.filter(|min| count < *min) {
        return Some(format!("must have at least {min} {what}"));
    }
    max.filter(|max| count > *max).map(|max| format!("must have at most {max} {what}"))
}

const TYPES: [(&str, &str); 7] = [
    ("null", "null"),
    ("boolean", "true or false"),
    ("string", "a string"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("array", "a list"),
    ("object", "a table"),
];

/// Returns the names of a keyword that holds one name or several.
fn types(value: &Value) -> impl Iterator<Item = &str> {
    let several = value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
    value.as_str().into_iter().chain(several)
}

fn type_name(name: &str) -> &str {
    TYPES.iter().find(|(known, _)| *known == name).map_or(name, |(_, description)| description)
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn join(values: &[&Value]) -> String {
    let first = values.iter().take(JOINED_MAX).map(excerpt);
    let more = (values.len() > JOINED_MAX).then(|| "...".to_owned());
    first.chain(more).collect::<Vec<_>>().join(", ")
}

/// Returns the start of a value of the schema, which may be megabytes long.
fn excerpt(value: impl Display) -> String {
    struct Excerpt(String);
    impl Write for Excerpt {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = EXCERPT_BYTES.saturating_sub(self.0.len());
            let end = text.floor_char_boundary(left);
            self.0.push_str(text.get(..end).unwrap_or_default());
            if end == text.len() { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut excerpt = Excerpt(String::new());
    match write!(excerpt, "{value}") {
        Ok(()) => excerpt.0,
        Err(_cut) => excerpt.0 + "...",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(schema: Value, settings: Value) -> Vec<String> {
        let settings: BTreeMap<String, Value> = settings.as_object().unwrap().clone().into_iter().collect();
        let mut problems = Vec::new();
        check("notes", &schema, &settings, &mut problems);
        problems
    }

    fn schema() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Settings",
            "type": "object",
            "properties": {
                "side": {"$ref": "#/$defs/Side"},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "wait-ms": {"type": "integer", "format": "uint64", "minimum": 1, "maximum": 100, "default": 5},
                "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 3},
                "headers": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "links": {"type": "object", "additionalProperties": {"type": "boolean"}}
            },
            "required": ["side"],
            "additionalProperties": false,
            "$defs": {
                "Side": {"oneOf": [
                    {"description": "Left.", "type": "string", "const": "left"},
                    {"description": "Right.", "type": "string", "const": "right"}
                ]}
            }
        })
    }

    #[test]
    fn valid_settings_pass() {
        assert_eq!(problems(schema(), json!({"side": "left"})), [""; 0]);
        let all = json!({
            "side": "right", "mode": "slow", "wait-ms": 100, "name": "abc", "headers": ["a", "b"], "links": {"x": true},
        });
        assert_eq!(problems(schema(), all), [""; 0]);
        assert_eq!(problems(json!(true), json!({"anything": 1})), [""; 0]);
    }

    #[test]
    fn each_mistake_names_its_key_and_the_requirement() {
        for (settings, expected) in [
            (json!({}), "`plugins.notes.settings.side` is required"),
            (json!({"side": "up"}), "`plugins.notes.settings.side` must be one of: \"left\", \"right\""),
            (json!({"side": 1}), "`plugins.notes.settings.side` must be one of: \"left\", \"right\""),
            (json!({"side": "left", "mode": "x"}), "`plugins.notes.settings.mode` must be one of: \"fast\", \"slow\""),
            (json!({"side": "left", "wait-ms": "5"}), "`plugins.notes.settings.wait-ms` must be a whole number"),
            (json!({"side": "left", "wait-ms": 1.5}), "`plugins.notes.settings.wait-ms` must be a whole number"),
            (json!({"side": "left", "wait-ms": 0}), "`plugins.notes.settings.wait-ms` must be at least 1"),
            (json!({"side": "left", "wait-ms": 101}), "`plugins.notes.settings.wait-ms` must be at most 100"),
            (json!({"side": "left", "name": false}), "`plugins.notes.settings.name` must be a string"),
            (json!({"side": "left", "name": "abcd"}), "`plugins.notes.settings.name` must have at most 3 characters"),
            (json!({"side": "left", "headers": ["a", 2]}), "`plugins.notes.settings.headers[1]` must be a string"),
            (
                json!({"side": "left", "headers": ["a", "b", "c"]}),
                "`plugins.notes.settings.headers` must have at most 2 items",
            ),
            (json!({"side": "left", "links": {"x": 1}}), "`plugins.notes.settings.links.x` must be true or false"),
            (json!({"side": "left", "sied": 1}), "`plugins.notes.settings.sied` is not a setting of this plugin"),
        ] {
            assert_eq!(problems(schema(), settings.clone()), [expected], "{settings}");
        }
    }

    #[test]
    fn value_that_matches_two_alternatives_passes_any_of_and_not_one_of() {
        let schema = |keyword: &str| {
            let alternatives = json!([{"type": "boolean"}, {"maximum": 5}, {"type": "integer", "minimum": 3}]);
            json!({"properties": {"size": {keyword: alternatives}}})
        };
        assert_eq!(problems(schema("anyOf"), json!({"size": 4})), [""; 0]);
        let several = "`plugins.notes.settings.size` matches more than one schema of `oneOf`";
        assert_eq!(problems(schema("oneOf"), json!({"size": 4})), [several]);
        for single in [2, 6] {
            assert_eq!(problems(schema("oneOf"), json!({"size": single})), [""; 0], "{single}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        assert_eq!(problems(schema(), json!({"mode": "x", "wait-ms": 0, "other": 1})).len(), 4);
    }

    #[test]
    fn unsupported_keyword_is_rejected_by_name() {
        for (part, expected) in [
            (json!({"pattern": "^a$"}), "pattern"),
            (json!({"type": "text"}), "type"),
            (json!({"maximum": "5"}), "maximum"),
            (json!({"$ref": "#/$defs/Nobody"}), "$ref"),
            (json!({"properties": {"a": {"properties": {"b": {"not": {}}}}}}), "not"),
            (json!({"items": 5}), "instead of a schema"),
        ] {
            let problems = problems(part.clone(), json!({}));
            assert!(problems.len() == 1 && problems[0].contains(expected), "{part}: {problems:?}");
        }
    }

    #[test]
    fn check_of_a_schema_that_applies_itself_to_the_same_value_ends() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let problems = problems(json!({keyword: [{"$ref": "#"}]}), json!({}));
            assert!(problems.len() == 1 && problems[0].contains("refers to itself"), "{keyword}: {problems:?}");
        }
    }

    #[test]
    fn reference_that_is_too_long_is_rejected_anywhere() {
        let rejected = |schema: &Value| {
            let problems = problems(schema.clone(), json!({}));
            problems.len() == 1 && problems[0].contains("more than 256 bytes")
        };
        for (bytes, is_rejected) in [(REFERENCE_BYTES_MAX, false), (REFERENCE_BYTES_MAX + 1, true)] {
            let name = "x".repeat(bytes - "#/$defs/".len());
            let reference = json!({"$ref": format!("#/$defs/{name}")});
            let mut defs = Map::new();
            defs.insert(name, json!(true));
            assert_eq!(rejected(&json!({"allOf": [reference.clone()], "$defs": defs.clone()})), is_rejected, "{bytes}");
            // Through a value that is not checked as a schema.
            let hidden = json!({"$ref": "#/default", "default": reference, "$defs": defs});
            assert_eq!(rejected(&hidden), is_rejected, "{bytes}");
        }
    }

    #[test]
    fn check_of_a_schema_that_doubles_at_each_step_ends() {
        let twice = |next: &str| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
        let mut defs = Map::new();
        for at in 0..30 {
            defs.insert(format!("A{at}"), twice(&format!("#/$defs/A{}", at + 1)));
        }
        defs.insert("A30".to_owned(), json!(true));
        let problems = problems(json!({"$ref": "#/$defs/A0", "$defs": defs}), json!({}));
        assert!(problems.len() == 1 && problems[0].contains("too many steps"), "{problems:?}");
    }

    #[test]
    fn messages_about_a_schema_are_bounded() {
        let long = "\u{e4}".repeat(1 << 20);
        let wrong: Map<String, Value> = (0..10_000).map(|at| (format!("x{at}"), json!(long[..64]))).collect();
        for (schema, settings) in [
            (json!({"not": long}), json!({})),
            (json!({long.as_str(): 1}), json!({})),
            (json!({"$ref": long}), json!({})),
            (json!({"properties": {"a": {"const": long}}}), json!({"a": 1})),
            (json!({"properties": {"a": {"enum": vec![json!(long[..64]); 10_000]}}}), json!({"a": 1})),
            (json!({"required": [long]}), json!({})),
            (Value::Object(wrong), json!({})),
        ] {
            let problems = problems(schema, settings);
            assert!(!problems.is_empty());
            assert!(problems.iter().map(String::len).sum::<usize>() < 32_000, "{}", problems.len());
        }
    }

    #[test]
    fn check_of_a_schema_that_refers_to_itself_ends() {
        let endless = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
        assert!(!problems(endless, json!({})).is_empty());
        let deep = json!({"type": "object", "additionalProperties": {"$ref": "#"}});
        assert_eq!(problems(deep, json!({"a": {"b": {"c": {}}}})), [""; 0]);
    }
}
