//! Records by id, slots of unique indexes.

use std::sync::Arc;

use super::model::{Collection, Index};
use super::{Database, DbError};
use crate::changes::change_set::{Field, Record, Version};
use crate::changes::scope::Scope;

impl Database {
    pub async fn find_record(&self, _scope: &Scope, _collection: &Collection, _id: &str) -> Result<Option<Record>, DbError> {
        unimplemented!()
    }
    /// In the order of `ids`; `None` where there is none.
    pub async fn find_records(&self, _scope: &Scope, _collection: &Collection, _ids: &[Arc<str>]) -> Result<Vec<Option<Record>>, DbError> {
        unimplemented!()
    }
    /// Who holds the slot of a unique index: the id of the record and the version of that record. `fields` are the values
    /// of all columns of the collection (as `Collection::extract` returns them).
    pub async fn find_slot(&self, _scope: &Scope, _collection: &Collection, _index: &Index, _fields: &[Field]) -> Result<Option<(Arc<str>, Version)>, DbError> {
        unimplemented!()
    }
    /// The highest version that ever became durable; 0 in an empty database.
    pub async fn latest_version(&self) -> Result<Version, DbError> {
        unimplemented!()
    }
    pub async fn find_guard(&self, _scope: &Scope, _name: &str) -> Result<Option<Version>, DbError> {
        unimplemented!()
    }
    /// Sets `count` numbers of the counter aside and returns the first; never the same twice. The first ever is 1.
    /// Durable when it returns; what is not used is lost.
    pub async fn reserve_counter(&self, _scope: &Scope, _name: &str, _count: u64) -> Result<u64, DbError> {
        unimplemented!()
    }
}
