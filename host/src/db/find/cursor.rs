//! Where the next page begins: the values of the order's fields in the last record, and the order they belong to.
//!
//! Opaque to callers and made of nothing that they have not seen. It comes back from outside: everything in it is checked,
//! and it can only ever narrow what the scope allows.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, TypeInfo, ValueRef};

use super::FindError;
use super::plan::Plan;
use crate::changes::change_set::Field;
use crate::db::DbError;
use crate::limits::CURSOR_BYTES_MAX;

/// The columns of the order follow those of the record.
const FIRST_KEY: usize = 6;

#[derive(Serialize, Deserialize)]
struct Cursor {
    /// The fields of the order, "-" before a descending one.
    o: String,
    v: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
enum Value {
    #[serde(rename = "n")]
    Null,
    #[serde(rename = "i")]
    Integer(i64),
    /// The bits of the number: text would lose some.
    #[serde(rename = "r")]
    Real(u64),
    #[serde(rename = "t")]
    Text(String),
}

fn order_of(plan: &Plan) -> String {
    let fields: Vec<&str> = plan.order.iter().map(|field| plan.collection.sql_of(*field)).collect();
    format!("{}{}", if plan.descending { "-" } else { "" }, fields.join(","))
}

/// The cursor after this row of a page.
pub(super) fn write(row: &SqliteRow, plan: &Plan) -> Result<String, FindError> {
    let values = (0..plan.order.len()).map(|n| value_of(row, FIRST_KEY + n)).collect::<Result<_, _>>()?;
    let cursor = Cursor { o: order_of(plan), v: values };
    let text = serde_json::to_vec(&cursor).map_err(|error| DbError::Corrupt(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(text))
}

fn value_of(row: &SqliteRow, column: usize) -> Result<Value, FindError> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info();
    Ok(match kind.name() {
        "INTEGER" => Value::Integer(row.try_get(column)?),
        "REAL" => Value::Real(row.try_get::<f64, _>(column)?.to_bits()),
        "TEXT" => Value::Text(row.try_get(column)?),
        other => return Err(DbError::Corrupt(format!("an indexed field holds {other}")).into()),
    })
}

/// The values that a cursor stands for, one for each field of the order.
pub(super) fn read(text: &str, plan: &Plan) -> Result<Vec<Field>, FindError> {
    let bad = || FindError::BadCursor("the cursor is not one of this list".to_owned());
    if text.len() > CURSOR_BYTES_MAX {
        return Err(bad());
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    if cursor.o != order_of(plan) || cursor.v.len() != plan.order.len() {
        return Err(bad());
    }
    cursor.v.into_iter().map(|value| field_of(value).ok_or_else(bad)).collect()
}

fn field_of(value: Value) -> Option<Field> {
    match value {
        Value::Null => Some(Field::Null),
        Value::Integer(value) => Some(Field::Integer(value)),
        Value::Real(bits) => Some(f64::from_bits(bits)).filter(|value| value.is_finite()).map(Field::Real),
        Value::Text(value) => Some(Field::Text(value.into())),
    }
}
