//! Pages of records: `Query` to SQL.

use std::sync::Arc;

use super::model::Collection;
use super::{Database, DbError};
use crate::changes::change_set::Record;
use crate::changes::scope::Scope;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Null,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    Equal(Value),
    NotEqual(Value),
    OneOf(Vec<Value>),
    Less(Value),
    AtMost(Value),
    More(Value),
    AtLeast(Value),
    StartsWith(String),
    /// The field is a list that holds this value.
    Contains(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// "customer.id", "@id", "@created-at", "@updated-at"
    pub field: String,
    pub comparison: Comparison,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    pub field: String,
    pub descending: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    pub conditions: Vec<Condition>,
    pub sort: Vec<Sort>,
    /// `Page::next` of the page before.
    pub after: Option<String>,
    pub offset: u32,
    /// 1 to `limits::FIND_ENTRIES_MAX`.
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// (id, record)
    pub entries: Vec<(Arc<str>, Record)>,
    pub next: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The plugin asked for what it did not declare, or beyond a limit: a sentence for its author.
    #[error("{0}")]
    Misuse(String),
    /// `after` is not a cursor of this query. What a caller of the interface sends may end here.
    #[error("{0}")]
    BadCursor(String),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl Database {
    pub async fn find_page(&self, _scope: &Scope, _collection: &Collection, _query: &Query) -> Result<Page, FindError> {
        unimplemented!()
    }
    /// Stops counting at `limit`.
    pub async fn count_records(&self, _scope: &Scope, _collection: &Collection, _conditions: &[Condition], _limit: u32) -> Result<u32, FindError> {
        unimplemented!()
    }
}
