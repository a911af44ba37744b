//! Validation against JSON Schema, with the keywords that the OpenAPI documents of plugins use. An unsupported keyword
//! fails the test, because ignoring it would skip a check.

use serde_json::{Map, Value};

/// Resolves a `$ref` within the document.
pub fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let pointer =
                reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} is not within the document"));
            resolve(document, document.pointer(pointer).unwrap_or_else(|| panic!("{reference} does not exist")))
        }
        None => value,
    }
}

/// Fails the test if a `$ref` of the document cannot be resolved.
pub fn check_references(document: &Value) {
    fn resolve_all(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                resolve(document, value);
                members.values().for_each(|value| resolve_all(document, value));
            }
            Value::Array(items) => items.iter().for_each(|value| resolve_all(document, value)),
            _ => {}
        }
    }
    resolve_all(document, document);
}

/// Fails the test if `value` does not match the schema. The message contains the path of the invalid member, which
/// begins with `path`.
#[track_caller]
pub fn check(document: &Value, schema: &Value, value: &Value, path: &str) {
    if let Err(message) = validate(document, schema, value, path) {
        panic!("{message}");
    }
}

/// Validates a value. A member that the schema does not name is an error, because the document does not describe it,
/// unless `additionalProperties` allows it. A schema that names no members allows any member.
fn validate(document: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    validate_part(document, schema, value, path)?;
    let (named, members) = (names(document, schema), value.as_object());
    if named.is_empty() || has_additional(document, schema) {
        return Ok(());
    }
    let unnamed = members.into_iter().flat_map(Map::keys).find(|name| !named.contains(&name.as_str()));
    unnamed.map_or(Ok(()), |name| Err(format!("{path}/{name} is not in the document")))
}

/// Returns the members that a schema and its `allOf` parts name.
fn names<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolve(document, schema);
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    own.chain(parts.flat_map(|part| names(document, part))).collect()
}

/// Returns true if the `additionalProperties` of a schema or of one of its `allOf` parts allow unnamed members.
fn has_additional(document: &Value, schema: &Value) -> bool {
    let schema = resolve(document, schema);
    let mut parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    schema.get("additionalProperties").is_some_and(|additional| *additional != false)
        || parts.any(|part| has_additional(document, part))
}

/// Validates a value against one schema. Members that the schema does not name are allowed, unless its
/// `additionalProperties` forbid them.
fn validate_part(document: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let schema = resolve(document, schema);
    let Some(keywords) = schema.as_object() else { return Err(format!("{path}: no schema: {schema}")) };
    for (keyword, expected) in keywords {
        let holds = match keyword.as_str() {
            "type" => is_of_type(expected, value),
            "enum" => expected.as_array().is_some_and(|values| values.contains(value)),
            "const" => expected == value,
            "required" => {
                expected.as_array().into_iter().flatten().all(|name| value.get(name.as_str().unwrap_or("")).is_some())
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= expected.as_u64().unwrap_or(0)),
            "maxItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 <= expected.as_u64().unwrap_or(u64::MAX))
            }
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= expected.as_f64()),
            "maximum" => value.as_f64().is_none_or(|number| Some(number) <= expected.as_f64()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= expected.as_u64().unwrap_or(0))
            }
            "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 <= expected.as_u64().unwrap_or(u64::MAX))
            }
            "pattern" => value.as_str().is_none_or(|text| matches_pattern(expected, text)),
            // A write-only member must not be in an answer.
            "writeOnly" => expected != true,
            "allOf" => check_all(expected.as_array(), |(_, part)| validate_part(document, part, value, path))?,
            "oneOf" | "anyOf" => {
                let fitting = expected
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|part| validate(document, part, value, path).is_ok());
                let count = fitting.count();
                count == 1 || (keyword == "anyOf" && count > 1)
            }
            "items" => check_all(value.as_array(), |(index, item)| {
                validate(document, expected, item, &format!("{path}/{index}"))
            })?,
            "properties" => check_members(document, (expected.as_object(), value.as_object()), path)?,
            "additionalProperties" => check_additional(document, (keywords, expected), value, path)?,
            "description" | "example" | "examples" | "format" | "default" | "title" => true,
            other => return Err(format!("{path}: the keyword {other} is not supported")),
        };
        if !holds {
            return Err(format!("{path}: {value} is not {keyword} {expected}"));
        }
    }
    Ok(())
}

/// Matches the only pattern that the documents use.
fn matches_pattern(pattern: &Value, text: &str) -> bool {
    assert_eq!(pattern, "^[A-Z]{3}$", "this pattern is not supported");
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn check_all(
    items: Option<&Vec<Value>>,
    check: impl FnMut((usize, &Value)) -> Result<(), String>,
) -> Result<bool, String> {
    items.into_iter().flatten().enumerate().try_for_each(check).map(|()| true)
}

type Members<'a> = Option<&'a Map<String, Value>>;

fn check_members(document: &Value, (schemas, members): (Members, Members), path: &str) -> Result<bool, String> {
    let (Some(schemas), Some(members)) = (schemas, members) else { return Ok(true) };
    for (name, value) in members {
        let Some(schema) = schemas.get(name) else { continue };
        validate(document, schema, value, &format!("{path}/{name}"))?;
    }
    Ok(true)
}

/// Validates the members that the `properties` of the same schema do not name.
fn check_additional(
    document: &Value,
    (keywords, additional): (&Map<String, Value>, &Value),
    value: &Value,
    path: &str,
) -> Result<bool, String> {
    let named = keywords.get("properties").and_then(Value::as_object);
    for (name, member) in value.as_object().into_iter().flatten() {
        if named.is_some_and(|named| named.contains_key(name)) {
            continue;
        }
        let path = format!("{path}/{name}");
        match additional {
            Value::Bool(true) => {}
            Value::Bool(false) => return Err(format!("{path} is not in the document")),
            schema => validate(document, schema, member, &path)?,
        }
    }
    Ok(true)
}

fn is_of_type(expected: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("null") => value.is_null(),
        _ => false,
    };
    expected.as_array().map_or_else(|| is(expected), |names| names.iter().any(is))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn member_that_the_schema_does_not_name_is_rejected() {
        let named = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
        let document = json!({"named": named});
        let both = json!({"allOf": [{"$ref": "#/named"}, {"properties": {"at": {"type": ["integer", "null"]}}}]});
        let result = |schema: &Value, value: Value| validate(&document, schema, &value, "it");
        assert_eq!(result(&both, json!({"id": "a", "at": null})), Ok(()));
        assert_eq!(result(&both, json!({"id": "a", "of": 1})), Err("it/of is not in the document".to_owned()));
        assert_eq!(
            result(&document["named"], json!({"id": "a", "at": 1})),
            Err("it/at is not in the document".to_owned())
        );
        assert!(result(&both, json!({"at": 1})).is_err() && result(&both, json!({"id": "a", "at": "b"})).is_err());
    }

    #[test]
    fn additional_members_are_validated() {
        let result = |additional: Value, value: Value| {
            let schema = json!({"properties": {"id": {"type": "string"}}, "additionalProperties": additional});
            validate(&Value::Null, &schema, &value, "it")
        };
        assert_eq!(result(json!(true), json!({"id": "a", "at": 1})), Ok(()));
        assert_eq!(result(json!({"type": "number"}), json!({"id": "a", "at": 1})), Ok(()));
        let wrong = Err("it/at: \"b\" is not type \"number\"".to_owned());
        assert_eq!(result(json!({"type": "number"}), json!({"id": "a", "at": "b"})), wrong);
        assert_eq!(result(json!(false), json!({"id": "a"})), Ok(()));
        assert_eq!(result(json!(false), json!({"at": 1})), Err("it/at is not in the document".to_owned()));
    }

    #[test]
    fn additional_members_are_rejected_by_a_schema_without_properties() {
        let schema = json!({"type": "object", "additionalProperties": false});
        let result = validate(&Value::Null, &schema, &json!({"at": 1}), "it");
        assert_eq!(result, Err("it/at is not in the document".to_owned()));
    }

    #[test]
    fn unsupported_keyword_fails() {
        assert!(validate(&Value::Null, &json!({"multipleOf": 2}), &json!(4), "it").is_err());
    }
}
