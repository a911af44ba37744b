//! The real host's limits of records, pages and answers. A call that would trap on the real host fails the test.

use serde_json::Value;

use super::search::path;
use crate::bindings::tenon::plugin::types::Content;
use crate::host::{Entry, RecordRefusal};
use crate::json;
use crate::plugin::Collection;

pub(super) const RECORD_BYTES_MAX: usize = 1 << 20;
/// Maximum total bytes of the bodies of one page.
pub(super) const FIND_BYTES_MAX: usize = 8 << 20;
const GET_MANY_IDS_MAX: usize = 1_000;
/// Maximum total bytes of the bodies of one `get-many`.
const GET_MANY_BYTES_MAX: usize = 32 << 20;
/// Default of the operator's configuration.
const ANSWER_BYTES_MAX: usize = 8 << 20;
const ID_BYTES_MAX: usize = 200;
const DEPTH_MAX: usize = 64;
const INDEXED_STRING_BYTES_MAX: usize = 512;

pub(super) fn check_id(id: &str) {
    let is_valid = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
    assert!(is_valid, "the id of a record must have 1 to {ID_BYTES_MAX} bytes and no NUL: {id:?}");
}

pub(super) fn check_get_many(found: &[Option<Entry>]) {
    let bytes: usize = found.iter().flatten().map(|entry| entry.body.len()).sum();
    assert!(found.len() <= GET_MANY_IDS_MAX, "get-many accepts at most {GET_MANY_IDS_MAX} ids: {}", found.len());
    assert!(bytes <= GET_MANY_BYTES_MAX, "get-many loads at most {GET_MANY_BYTES_MAX} bytes at once: {bytes}");
}

pub(super) fn check_answer(content: &Content) {
    let bytes = match content {
        Content::Empty => 0,
        Content::Json(text) => text.len(),
        Content::Other(blob) => blob.bytes.len(),
    };
    assert!(bytes <= ANSWER_BYTES_MAX, "an answer must have at most {ANSWER_BYTES_MAX} bytes: {bytes}");
}

/// Checks a record. `value` is the parsed `body`.
pub(super) fn check_record(collection: &Collection, body: &str, value: &Value) -> Result<(), RecordRefusal> {
    if body.len() > RECORD_BYTES_MAX {
        return Err(RecordRefusal::TooLarge);
    }
    assert!(json::nests_within(body, DEPTH_MAX), "a record must nest at most {DEPTH_MAX} levels");
    for field in collection.indexes.iter().flat_map(|index| index.fields) {
        let text = path(value, field).and_then(Value::as_str).unwrap_or_default();
        let is_valid = text.len() <= INDEXED_STRING_BYTES_MAX && !text.contains('\0');
        assert!(is_valid, "the indexed field {field} must have at most {INDEXED_STRING_BYTES_MAX} bytes and no NUL");
    }
    Ok(())
}
