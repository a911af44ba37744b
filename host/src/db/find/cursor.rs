//! The cursor of the next page: the sort order, and the values of its fields in the last record.
//!
//! It is opaque to callers, and contains only data that they have received. Callers send it back, so everything in it
//! is checked. It can only narrow the records that the scope allows.

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

/// Index of the first column of the order. It follows the columns of the record.
const FIRST_KEY: usize = 6;

#[derive(Serialize, Deserialize)]
struct Cursor {
    /// The fields of the order, preceded by "-" if it is descending.
    o: String,
    v: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
enum Value {
    #[serde(rename = "n")]
    Null,
    #[serde(rename = "i")]
    Integer(i64),
    /// The bits of the number, because a decimal string could lose precision.
    #[serde(rename = "r")]
    Real(u64),
    #[serde(rename = "t")]
    Text(String),
}

fn order_of(plan: &Plan) -> String {
    let fields: Vec<&str> = plan.order.iter().map(|field| plan.collection.sql_of(*field)).collect();
    format!("{}{}", if plan.descending { "-" } else { "" }, fields.join(","))
}

/// Returns the cursor after this row of a page.
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
        other => return Err(DbError::Corrupt(format!("an indexed field contains {other}")).into()),
    })
}

/// Returns the values of a cursor, one for each field of the order.
pub(super) fn read(text: &str, plan: &Plan) -> Result<Vec<Field>, FindError> {
    let invalid = || FindError::BadCursor("the cursor does not belong to this list".to_owned());
    if text.len() > CURSOR_BYTES_MAX {
        return Err(invalid());
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
    let cursor: Cursor = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    if cursor.o != order_of(plan) || cursor.v.len() != plan.order.len() {
        return Err(invalid());
    }
    cursor.v.into_iter().map(|value| field_of(value).ok_or_else(invalid)).collect()
}

fn field_of(value: Value) -> Option<Field> {
    match value {
        Value::Null => Some(Field::Null),
        Value::Integer(value) => Some(Field::Integer(value)),
        Value::Real(bits) => Some(f64::from_bits(bits)).filter(|value| value.is_finite()).map(Field::Real),
        Value::Text(value) => Some(Field::Text(value.into())),
    }
}
