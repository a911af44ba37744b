//! Queries over records in memory, with the conditions, order and pages of the real host.

use std::cmp::Ordering;

use serde_json::Value;

use super::bounds::FIND_BYTES_MAX;
use crate::host::{Comparison, Condition, Entry, Page, Query, RecordRefusal, Sort, Value as Operand};
use crate::plugin::{Collection, Index};

/// Fails the test if the query needs an index and no declared index serves it.
///
/// A query whose conditions and sort contain only `@id` needs no index. An index serves a query if its fields, after
/// those that `equal` conditions fix, continue with the sort. If there are conditions, the index must also contain a
/// field of one of them.
pub(super) fn check_served(collection: &Collection, conditions: &[Condition], sort: &[Sort]) {
    let is_fixed =
        |field: &str| conditions.iter().any(|c| c.field == field && matches!(c.comparison, Comparison::Equal(_)));
    let serves = |index: &Index| {
        let fixed = index.fields.iter().take_while(|field| is_fixed(field)).count();
        let mut rest = index.fields.iter().skip(fixed);
        let sorted =
            sort.iter().filter(|sort| !is_fixed(&sort.field)).all(|sort| rest.next() == Some(&sort.field.as_str()));
        let narrowed = conditions.iter().any(|condition| index.fields.contains(&condition.field.as_str()));
        sorted && (conditions.is_empty() || narrowed)
    };
    let by_id = |field: &str| field == "@id";
    let needs_none =
        sort.iter().all(|sort| by_id(&sort.field)) && conditions.iter().all(|condition| by_id(&condition.field));
    let served = needs_none || collection.indexes.iter().any(serves);
    assert!(served, "no index of collection {} serves conditions {conditions:?} with sort {sort:?}", collection.name);
}

pub(super) fn matching<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    conditions: &[Condition],
) -> Vec<(Value, &'a Entry)> {
    entries
        .map(|entry| (serde_json::from_str(&entry.body).unwrap_or_default(), entry))
        .filter(|(body, entry)| conditions.iter().all(|condition| holds(condition, body, entry)))
        .collect()
}

pub(super) fn page<'a>(entries: impl Iterator<Item = &'a Entry>, query: &Query) -> Result<Page, RecordRefusal> {
    assert!(query.limit > 0, "a query has a limit above 0");
    let mut found = matching(entries, &query.conditions);
    found.sort_by(|left, right| compare(left, right, &query.sort));
    let start = match &query.after {
        None => 0,
        Some(cursor) => {
            let position = found.iter().position(|(_, entry)| &entry.id == cursor);
            position.ok_or(RecordRefusal::BadCursor)? + 1
        }
    };
    let (offset, limit) = (query.offset as usize, query.limit as usize);
    let (mut page, mut bytes) = (Page { entries: Vec::new(), next: None }, 0);
    for (_, entry) in found.into_iter().skip(start + offset) {
        bytes += entry.body.len();
        let is_full = page.entries.len() == limit || bytes > FIND_BYTES_MAX;
        if let Some(last) = page.entries.last().filter(|_| is_full) {
            page.next = Some(last.id.clone());
            break;
        }
        page.entries.push(entry.clone());
    }
    Ok(page)
}

/// Returns the values of a record in a unique index, or `None` if one of them is null or absent.
pub(super) fn unique_values(index: &Index, body: &Value) -> Option<Vec<Value>> {
    let value = |field: &&str| path(body, field).filter(|value| !value.is_null()).cloned();
    index.fields.iter().map(value).collect()
}

pub(super) fn path<'a>(body: &'a Value, field: &str) -> Option<&'a Value> {
    field.split('.').try_fold(body, |value, name| value.get(name))
}

fn field(body: &Value, entry: &Entry, name: &str) -> Value {
    match name {
        "@id" => entry.id.clone().into(),
        "@created-at" => entry.created_at.into(),
        "@updated-at" => entry.updated_at.into(),
        _ => path(body, name).cloned().unwrap_or_default(),
    }
}

fn compare(left: &(Value, &Entry), right: &(Value, &Entry), sort: &[Sort]) -> Ordering {
    for key in sort {
        let order = order(&field(&left.0, left.1, &key.field), &field(&right.0, right.1, &key.field));
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    // As in the database, ties are ordered by id, in the direction of the last key.
    let descending = sort.last().is_some_and(|key| key.descending);
    let order = left.1.id.cmp(&right.1.id);
    if descending { order.reverse() } else { order }
}

fn holds(condition: &Condition, body: &Value, entry: &Entry) -> bool {
    let value = field(body, entry, &condition.field);
    let is = |operand: &Operand, accepted: &[Ordering]| {
        let operand = as_json(operand);
        !value.is_null() && !operand.is_null() && accepted.contains(&order(&value, &operand))
    };
    match &condition.comparison {
        Comparison::Equal(operand) => equals(&value, operand),
        Comparison::NotEqual(operand) => !equals(&value, operand),
        Comparison::OneOf(all) => all.iter().any(|operand| equals(&value, operand)),
        Comparison::Less(operand) => is(operand, &[Ordering::Less]),
        Comparison::AtMost(operand) => is(operand, &[Ordering::Less, Ordering::Equal]),
        Comparison::More(operand) => is(operand, &[Ordering::Greater]),
        Comparison::AtLeast(operand) => is(operand, &[Ordering::Greater, Ordering::Equal]),
        Comparison::StartsWith(text) => value.as_str().is_some_and(|value| value.starts_with(text.as_str())),
        Comparison::Contains(operand) => {
            value.as_array().is_some_and(|all| all.iter().any(|value| equals(value, operand)))
        }
    }
}

fn equals(value: &Value, operand: &Operand) -> bool {
    order(value, &as_json(operand)) == Ordering::Equal
}

fn as_json(operand: &Operand) -> Value {
    match operand {
        Operand::Text(text) => text.clone().into(),
        Operand::Integer(number) => (*number).into(),
        Operand::Number(number) => (*number).into(),
        Operand::Boolean(boolean) => (*boolean).into(),
        Operand::Null => Value::Null,
    }
}

/// Orders null before numbers before strings. Booleans count as 0 and 1, and arrays and objects count as null.
fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            _ => rank(left).cmp(&rank(right)),
        },
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_bool().map(f64::from).or_else(|| value.as_f64())
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) | Value::Bool(_) => 1,
        Value::String(_) => 2,
        Value::Null | Value::Array(_) | Value::Object(_) => 0,
    }
}
