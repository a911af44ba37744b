//! The real host's bounds on records and pages, for the host in memory: what traps there ends the test here.

use serde_json::Value;

use super::search::path;
use crate::bindings::tenon::plugin::types::Content;
use crate::host::{Entry, RecordRefusal};
use crate::json;
use crate::plugin::Collection;

pub(super) const RECORD_BYTES_MAX: usize = 1 << 20;
/// Bodies of one page together.
pub(super) const FIND_BYTES_MAX: usize = 8 << 20;
const GET_MANY_IDS_MAX: usize = 1_000;
/// Bodies of one look together.
const GET_MANY_BYTES_MAX: usize = 32 << 20;
/// What an operator allows unless told otherwise.
const ANSWER_BYTES_MAX: usize = 8 << 20;
const ID_BYTES_MAX: usize = 200;
const DEPTH_MAX: usize = 64;
const INDEXED_TEXT_BYTES_MAX: usize = 512;

pub(super) fn check_id(id: &str) {
    let sound = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
    assert!(sound, "the id of a record has 1 to {ID_BYTES_MAX} bytes and no NUL: {id:?}");
}

pub(super) fn check_look(found: &[Option<Entry>]) {
    let bytes: usize = found.iter().flatten().map(|entry| entry.body.len()).sum();
    assert!(found.len() <= GET_MANY_IDS_MAX, "get-many takes at most {GET_MANY_IDS_MAX} ids: {}", found.len());
    assert!(bytes <= GET_MANY_BYTES_MAX, "get-many loads at most {GET_MANY_BYTES_MAX} bytes at once: {bytes}");
}

pub(super) fn check_answer(content: &Content) {
    let bytes = match content {
        Content::Empty => 0,
        Content::Json(text) => text.len(),
        Content::Other(blob) => blob.bytes.len(),
    };
    assert!(bytes <= ANSWER_BYTES_MAX, "an answer has at most {ANSWER_BYTES_MAX} bytes: {bytes}");
}

/// `value` is what `body` says.
pub(super) fn check_record(collection: &Collection, body: &str, value: &Value) -> Result<(), RecordRefusal> {
    if body.len() > RECORD_BYTES_MAX {
        return Err(RecordRefusal::TooLarge);
    }
    assert!(json::nests_within(body, DEPTH_MAX), "a record nests at most {DEPTH_MAX} levels");
    for field in collection.indexes.iter().flat_map(|index| index.fields) {
        let text = path(value, field).and_then(Value::as_str).unwrap_or_default();
        let sound = text.len() <= INDEXED_TEXT_BYTES_MAX && !text.contains('\0');
        assert!(sound, "{field} is indexed: its text has at most {INDEXED_TEXT_BYTES_MAX} bytes and no NUL");
    }
    Ok(())
}
