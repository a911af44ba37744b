//! Records of the plugin.
//!
//! Owns the building of queries. Bodies are JSON text: a handler that returns a record as it is stored forwards its
//! `body` and builds no tree.

pub use crate::host::{Comparison, Condition, Entry, Page, RecordRefusal, Sort, Value};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::{HostRef, Query};

/// A collection of the call's tenant.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    host: HostRef<'a>,
    collection: &'a str,
}

impl<'a> Records<'a> {
    pub(crate) fn new(host: HostRef<'a>, collection: &'a str) -> Records<'a> {
        Records { host, collection }
    }

    /// Returns a record. Sees the call's own writes.
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.host.records_get(self.collection, id)
    }

    /// Returns the records of these ids, in the same order. An absent record is `None`.
    pub fn get_many(&self, ids: &[String]) -> Vec<Option<Entry>> {
        self.host.records_get_many(self.collection, ids)
    }

    /// Inserts a record. `body` is one JSON text.
    pub fn insert(&self, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.host.records_insert(self.collection, id, body)
    }

    /// Replaces the body of a record.
    pub fn replace(&self, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.host.records_replace(self.collection, id, body)
    }

    /// Deletes a record.
    pub fn delete(&self, id: &str) -> Result<(), RecordRefusal> {
        self.host.records_delete(self.collection, id)
    }

    /// Finds committed records. Does not see the call's own writes, and the commit does not check for later inserts.
    ///
    /// A page ends early, with a `next`, before its bodies exceed 8 MiB in total. A plugin that pages by `offset` must
    /// bound the size of its records, or check `next`.
    ///
    /// # Errors
    ///
    /// Refuses a cursor (`after`) that is not from a page of this query. There is no other refusal.
    pub fn find(&self, search: &Search) -> Result<Page, RecordRefusal> {
        self.host.records_find(self.collection, &search.query)
    }

    /// Counts records, up to `limit`.
    pub fn count(&self, search: &Search, limit: u32) -> u32 {
        self.host.records_count(self.collection, &search.query.conditions, limit)
    }
}

/// A query over a collection. A declared index must serve the sort, and one of the conditions if there are any.
#[derive(Clone, Debug)]
pub struct Search {
    query: Query,
}

impl Search {
    /// Returns a query for at most `limit` records.
    pub fn first(limit: u32) -> Search {
        Search { query: Query { conditions: Vec::new(), sort: Vec::new(), after: None, offset: 0, limit } }
    }

    /// Adds a condition.
    pub fn with(mut self, field: &str, comparison: Comparison) -> Search {
        self.query.conditions.push(Condition { field: field.to_owned(), comparison });
        self
    }

    /// Adds the condition that the field equals this string.
    pub fn is(self, field: &str, text: &str) -> Search {
        self.with(field, Comparison::Equal(Value::Text(text.to_owned())))
    }

    /// Adds a sort key in ascending order.
    pub fn ascending(mut self, field: &str) -> Search {
        self.query.sort.push(Sort { field: field.to_owned(), descending: false });
        self
    }

    /// Adds a sort key in descending order.
    pub fn descending(mut self, field: &str) -> Search {
        self.query.sort.push(Sort { field: field.to_owned(), descending: true });
        self
    }

    /// Continues after a page with its `next`.
    pub fn after(mut self, next: String) -> Search {
        self.query.after = Some(next);
        self
    }

    /// Skips this number of records.
    pub fn offset(mut self, records: u32) -> Search {
        self.query.offset = records;
        self
    }
}
