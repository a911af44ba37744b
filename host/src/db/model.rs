//! The data model of a plugin: its collections and indexes, as its manifest declares them, checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::changes::change_set::Field;
use crate::plugin::manifest;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// What the manifest says cannot be, in a sentence.
    #[error("{0}")]
    Invalid(String),
    #[error("collection {collection}: data version {written} has been written, this plugin reads {reads_from} to {reads_to}")]
    CannotRead { collection: String, written: u32, reads_from: u32, reads_to: u32 },
    /// A unique index over records that are not unique.
    #[error("{0}")]
    NotUnique(String),
    #[error("{0}")]
    TooSlow(String),
    #[error(transparent)]
    Database(#[from] super::DbError),
}

/// The body is not one JSON text, or an indexed value in it cannot be indexed: a sentence for the plugin's author.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotJson(pub String);

/// What one generation of a plugin stores.
#[derive(Debug)]
pub struct DataModel {
    plugin: Arc<str>,
    data_version: u32,
    reads_from: u32,
    collections: BTreeMap<Arc<str>, Arc<Collection>>,
}

#[derive(Debug)]
pub struct Collection {
    pub name: Arc<str>,
    /// One for each indexed JSON field, in the order of `NewRecord::fields`.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// "customer.id"
    pub path: Arc<str>,
}

#[derive(Debug)]
pub struct Index {
    pub name: Arc<str>,
    pub fields: Vec<IndexField>,
    pub unique: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexField {
    Id,
    CreatedAt,
    UpdatedAt,
    /// Position in `Collection::columns`. A unique index has no other kind.
    Column(usize),
}

impl DataModel {
    /// `reads_from`: the oldest data version that the plugin reads; `None`: `data_version` only.
    pub fn new(
        _plugin: &str,
        _collections: &[manifest::Collection],
        _data_version: u32,
        _reads_from: Option<u32>,
    ) -> Result<DataModel, ModelError> {
        unimplemented!()
    }

    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }
    pub fn data_version(&self) -> u32 {
        self.data_version
    }
    /// Whether the plugin can read a record of this data version.
    pub fn reads(&self, data_version: u32) -> bool {
        (self.reads_from..=self.data_version).contains(&data_version)
    }
    pub fn collection(&self, name: &str) -> Option<&Arc<Collection>> {
        self.collections.get(name)
    }
}

impl Collection {
    /// Checks that `body` is one JSON text and returns the values of the indexed columns, in their order.
    pub fn extract(&self, _body: &str) -> Result<Vec<Field>, NotJson> {
        unimplemented!()
    }

    /// The slot that a record with these `fields` takes in a unique index: the `Key::name` of its `Space::Unique`.
    /// `None` where a value is null: such a record takes none. Equal for equal values as the database compares them.
    pub fn slot_name(&self, _index: &Index, _fields: &[Field]) -> Option<Arc<str>> {
        unimplemented!()
    }

    pub fn unique_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| index.unique)
    }
}
