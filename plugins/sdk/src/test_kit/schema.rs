//! JSON Schema of answers, as far as the OpenAPI documents of plugins use it. A keyword that is not known fails: it would check
//! nothing.

use serde_json::{Map, Value};

/// Follows `$ref` within the document.
pub fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let pointer =
                reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads out of the document"));
            resolve(document, document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere")))
        }
        None => value,
    }
}

pub fn check_references(document: &Value) {
    fn look(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                resolve(document, value);
                members.values().for_each(|value| look(document, value));
            }
            Value::Array(items) => items.iter().for_each(|value| look(document, value)),
            _ => {}
        }
    }
    look(document, document);
}

/// Fails with the place in `value` that is not as the schema says.
#[track_caller]
pub fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Err(why) = judge(document, schema, value, place) {
        panic!("{why}");
    }
}

/// A member that the schema does not name is a hole in the document.
fn judge(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    judge_part(document, schema, value, place)?;
    let (named, members) = (names(document, schema), value.as_object());
    let unnamed =
        members.into_iter().flat_map(Map::keys).find(|name| !named.is_empty() && !named.contains(&name.as_str()));
    unnamed.map_or(Ok(()), |name| Err(format!("{place}/{name} is not in the document")))
}

/// The members that a schema and its parts name.
fn names<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolve(document, schema);
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    own.chain(parts.flat_map(|part| names(document, part))).collect()
}

/// What the schema asks for, whatever else there is.
fn judge_part(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let schema = resolve(document, schema);
    let Some(keywords) = schema.as_object() else { return Err(format!("{place}: no schema: {schema}")) };
    for (keyword, wanted) in keywords {
        let holds = match keyword.as_str() {
            "type" => is_of_type(wanted, value),
            "enum" => wanted.as_array().is_some_and(|values| values.contains(value)),
            "const" => wanted == value,
            "required" => {
                wanted.as_array().into_iter().flatten().all(|name| value.get(name.as_str().unwrap_or("")).is_some())
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap_or(0)),
            "maxItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap_or(u64::MAX))
            }
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= wanted.as_f64()),
            "maximum" => value.as_f64().is_none_or(|number| Some(number) <= wanted.as_f64()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap_or(0))
            }
            "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 <= wanted.as_u64().unwrap_or(u64::MAX))
            }
            "pattern" => value.as_str().is_none_or(|text| fits(wanted, text)),
            // Never in an answer.
            "writeOnly" => wanted != true,
            "allOf" => return_all(wanted.as_array(), |(_, part)| judge_part(document, part, value, place))?,
            "oneOf" | "anyOf" => {
                let fitting =
                    wanted.as_array().into_iter().flatten().filter(|one| judge(document, one, value, place).is_ok());
                let count = fitting.count();
                count == 1 || (keyword == "anyOf" && count > 1)
            }
            "items" => {
                return_all(value.as_array(), |(nth, item)| judge(document, wanted, item, &format!("{place}/{nth}")))?
            }
            "properties" => check_members(document, (wanted.as_object(), value.as_object()), place)?,
            "description" | "example" | "examples" | "format" | "default" | "title" | "additionalProperties" => true,
            other => return Err(format!("{place}: the keyword {other} is not known here")),
        };
        if !holds {
            return Err(format!("{place}: {value} is not {keyword} {wanted}"));
        }
    }
    Ok(())
}

/// The patterns that stand in the documents: there is one.
fn fits(pattern: &Value, text: &str) -> bool {
    assert_eq!(pattern, "^[A-Z]{3}$", "this pattern is not known here");
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn return_all(
    items: Option<&Vec<Value>>,
    check: impl FnMut((usize, &Value)) -> Result<(), String>,
) -> Result<bool, String> {
    items.into_iter().flatten().enumerate().try_for_each(check).map(|()| true)
}

type Members<'a> = Option<&'a Map<String, Value>>;

fn check_members(document: &Value, (schemas, members): (Members, Members), place: &str) -> Result<bool, String> {
    let (Some(schemas), Some(members)) = (schemas, members) else { return Ok(true) };
    for (name, value) in members {
        let Some(schema) = schemas.get(name) else { continue };
        judge(document, schema, value, &format!("{place}/{name}"))?;
    }
    Ok(true)
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
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
    wanted.as_array().map_or_else(|| is(wanted), |names| names.iter().any(is))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_that_no_part_of_a_schema_names_is_a_hole() {
        let named = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
        let document = json!({"named": named});
        let both = json!({"allOf": [{"$ref": "#/named"}, {"properties": {"at": {"type": ["integer", "null"]}}}]});
        let judged = |schema: &Value, value: Value| judge(&document, schema, &value, "it");
        assert_eq!(judged(&both, json!({"id": "a", "at": null})), Ok(()));
        assert_eq!(judged(&both, json!({"id": "a", "of": 1})), Err("it/of is not in the document".to_owned()));
        assert_eq!(
            judged(&document["named"], json!({"id": "a", "at": 1})),
            Err("it/at is not in the document".to_owned())
        );
        assert!(judged(&both, json!({"at": 1})).is_err() && judged(&both, json!({"id": "a", "at": "b"})).is_err());
    }

    #[test]
    fn a_keyword_that_is_not_known_checks_nothing_and_fails() {
        assert!(judge(&Value::Null, &json!({"multipleOf": 2}), &json!(4), "it").is_err());
    }
}
