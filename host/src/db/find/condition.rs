//! Converts one condition to SQL.
//!
//! Null is equal only to null, and has no order. Numbers and strings are never compared with each other. In SQLite
//! every number sorts before every string, so the empty string separates them, and an index can serve the comparison.

use super::{Comparison, Condition, FindError, Value, misuse};
use crate::changes::change_set::Field;
use crate::db::model::prepare::{json_path_sql, json_value_sql};
use crate::db::model::{Collection, IndexField, extract, is_path};
use crate::limits::ONE_OF_MAX;

/// A statement under construction: its SQL text, and the values of its numbered parameters.
#[derive(Debug, Default)]
pub(super) struct Sql {
    pub text: String,
    pub values: Vec<Field>,
}

/// Returns the index field with this name, or `None` for a path that no index of the collection contains.
pub(super) fn index_field(collection: &Collection, field: &str) -> Result<Option<IndexField>, FindError> {
    match field {
        "@id" => Ok(Some(IndexField::Id)),
        "@created-at" => Ok(Some(IndexField::CreatedAt)),
        "@updated-at" => Ok(Some(IndexField::UpdatedAt)),
        path if is_path(path) => {
            Ok(collection.columns.iter().position(|column| &*column.path == path).map(IndexField::Column))
        }
        _ => misuse(format!(
            "find in {}: \"{field}\" is not a path into the JSON, @id, @created-at or @updated-at",
            collection.name
        )),
    }
}

/// Converts a value to the form in which it is stored and compared.
pub(super) fn field_of(value: &Value) -> Result<Field, FindError> {
    match value {
        Value::Null => Ok(Field::Null),
        Value::Boolean(value) => Ok(Field::Integer((*value).into())),
        Value::Integer(value) => Ok(Field::Integer(*value)),
        Value::Number(value) if value.is_finite() => Ok(extract::number(*value)),
        Value::Number(value) => misuse(format!("a condition cannot compare with {value}")),
        Value::Text(value) => Ok(Field::Text(value.as_str().into())),
    }
}

impl Sql {
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub fn bind(&mut self, value: Field) {
        self.values.push(value);
        self.text.push_str(&format!("?{}", self.values.len()));
    }

    /// Appends a comparison of `left` with a value. Null is compared with IS.
    pub fn compare(&mut self, left: &str, operator: &str, value: Field) {
        match (operator, &value) {
            // Not IS NULL, because SQLite would then sort rows that the index has already sorted.
            ("=", Field::Null) => {
                self.push(&format!("{left} IS "));
                self.bind(value);
            }
            _ => {
                self.push(&format!("{left} {operator} "));
                self.bind(value);
            }
        }
    }

    pub fn push_condition(&mut self, collection: &Collection, condition: &Condition) -> Result<(), FindError> {
        let left = match index_field(collection, &condition.field)? {
            Some(field) => collection.sql_of(field).to_owned(),
            None => json_value_sql(&condition.field),
        };
        match &condition.comparison {
            Comparison::Equal(value) => self.compare(&left, "=", field_of(value)?),
            Comparison::NotEqual(value) => self.compare(&left, "IS NOT", field_of(value)?),
            Comparison::OneOf(values) => self.push_one_of(&left, values)?,
            Comparison::Less(value) => self.push_range(&left, "<", value)?,
            Comparison::AtMost(value) => self.push_range(&left, "<=", value)?,
            Comparison::More(value) => self.push_range(&left, ">", value)?,
            Comparison::AtLeast(value) => self.push_range(&left, ">=", value)?,
            Comparison::StartsWith(prefix) => self.push_prefix(&left, prefix),
            Comparison::Contains(value) => self.push_contains(&condition.field, value)?,
        }
        Ok(())
    }

    fn push_one_of(&mut self, left: &str, values: &[Value]) -> Result<(), FindError> {
        if values.len() > ONE_OF_MAX {
            return misuse(format!("one-of: {} values, at most {ONE_OF_MAX} are allowed", values.len()));
        }
        self.push(&format!("({left} IN ("));
        let mut comma = "";
        for value in values.iter().filter(|value| **value != Value::Null) {
            self.push(comma);
            self.bind(field_of(value)?);
            comma = ",";
        }
        self.push(")");
        if values.contains(&Value::Null) {
            self.push(&format!(" OR {left} IS NULL"));
        }
        self.push(")");
        Ok(())
    }

    fn push_range(&mut self, left: &str, operator: &str, value: &Value) -> Result<(), FindError> {
        let value = field_of(value)?;
        let upward = operator.starts_with('>');
        let (is_null, is_text) = (value == Field::Null, matches!(value, Field::Text(_)));
        if is_null {
            return misuse("less, at-most, more and at-least do not compare with null".to_owned());
        }
        self.compare(left, operator, value);
        match (upward, is_text) {
            (true, false) => self.push(&format!(" AND {left} < ''")),
            (false, true) => self.push(&format!(" AND {left} >= ''")),
            _ => {}
        }
        Ok(())
    }

    fn push_prefix(&mut self, left: &str, prefix: &str) {
        self.compare(left, ">=", Field::Text(prefix.into()));
        if let Some(end) = after_prefix(prefix) {
            self.push(" AND ");
            self.compare(left, "<", Field::Text(end.into()));
        }
    }

    fn push_contains(&mut self, field: &str, value: &Value) -> Result<(), FindError> {
        if !is_path(field) {
            return misuse(format!("contains: {field} is not a list"));
        }
        let path = json_path_sql(field);
        self.push(&format!(
            "(json_type(body, {path}) = 'array' AND EXISTS (SELECT 1 FROM json_each(body, {path}) AS element \
             WHERE element.type NOT IN ('object', 'array') AND "
        ));
        self.compare("element.value", "=", field_of(value)?);
        self.push("))");
        Ok(())
    }
}

/// Returns the smallest string, in byte order, that is greater than all strings with this prefix, or `None` if none
/// exists.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The range skips surrogates: the character after U+D7FF is U+E000.
        if let Some(next) = (last..=char::MAX).nth(1) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}
