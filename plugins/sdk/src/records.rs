//! The plugin's records, as a handler uses them.
//!
//! Owns the building of queries. Bodies go in and out as JSON text: a handler that shows a record as it is stored passes
//! its `body` on, and builds no tree.

pub use crate::host::{Comparison, Condition, Entry, Page, RecordRefusal, Sort, Value};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::{HostRef, Query};

/// One collection of the tenant that the call acts for.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    host: HostRef<'a>,
    collection: &'a str,
}

impl<'a> Records<'a> {
    pub(crate) fn new(host: HostRef<'a>, collection: &'a str) -> Records<'a> {
        Records { host, collection }
    }

    pub fn get(&self, id: &str) -> Option<Entry> {
        self.host.records_get(self.collection, id)
    }

    pub fn get_many(&self, ids: &[String]) -> Vec<Option<Entry>> {
        self.host.records_get_many(self.collection, ids)
    }

    /// `body` is one JSON text.
    pub fn insert(&self, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.host.records_insert(self.collection, id, body)
    }

    pub fn replace(&self, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.host.records_replace(self.collection, id, body)
    }

    pub fn delete(&self, id: &str) -> Result<(), RecordRefusal> {
        self.host.records_delete(self.collection, id)
    }

    /// A look at what was committed: without the call's own writes, and not protected against later inserts. Refuses a
    /// cursor (`after`) that it did not give, and nothing else. A page ends early, with a `next`, before its bodies pass
    /// 8 MiB together: whoever goes on by `offset` bounds the records, or asks for `next`.
    pub fn find(&self, search: &Search) -> Result<Page, RecordRefusal> {
        self.host.records_find(self.collection, &search.query)
    }

    /// Stops counting at `limit`.
    pub fn count(&self, search: &Search, limit: u32) -> u32 {
        self.host.records_count(self.collection, &search.query.conditions, limit)
    }
}

/// What to find. A declared index must serve the sort, and one condition where there are any.
#[derive(Clone, Debug)]
pub struct Search {
    query: Query,
}

impl Search {
    /// At most `limit` records.
    pub fn first(limit: u32) -> Search {
        Search { query: Query { conditions: Vec::new(), sort: Vec::new(), after: None, offset: 0, limit } }
    }

    pub fn with(mut self, field: &str, comparison: Comparison) -> Search {
        self.query.conditions.push(Condition { field: field.to_owned(), comparison });
        self
    }

    /// The field is this text.
    pub fn is(self, field: &str, text: &str) -> Search {
        self.with(field, Comparison::Equal(Value::Text(text.to_owned())))
    }

    pub fn ascending(mut self, field: &str) -> Search {
        self.query.sort.push(Sort { field: field.to_owned(), descending: false });
        self
    }

    pub fn descending(mut self, field: &str) -> Search {
        self.query.sort.push(Sort { field: field.to_owned(), descending: true });
        self
    }

    /// Goes on where a page ended: its `next`.
    pub fn after(mut self, next: String) -> Search {
        self.query.after = Some(next);
        self
    }

    /// Skips so many records.
    pub fn offset(mut self, records: u32) -> Search {
        self.query.offset = records;
        self
    }
}
