//! The data model of a plugin: the checked collections and indexes of its manifest.
//!
//! Owns the names of tables and columns, and the extraction of indexed values from a JSON body (`extract`). A column is
//! named after its path: "customer.id" is `".customer.id"`. SQLite names are case-insensitive, so an upper-case letter
//! is written `^x`. Names of plugins and collections contain no underscore, so `plugin_collection` belongs to exactly
//! one pair.
//!
//! - `declare`: manifest to model. `extract`: body to indexed values.
//! - `catalogue`: current schema of the tables. `prepare`: creates what a model needs. `backfill`: fills new columns.
//! - `written_versions`: data versions of stored records. `admission`: whether a generation can read all of them.

mod admission;
mod backfill;
pub(super) mod catalogue;
mod declare;
pub(super) mod extract;
pub(super) mod prepare;
mod written_versions;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use declare::is_path;
pub use prepare::{PrepareOptions, Prepared};

use crate::changes::change_set::Field;
use crate::changes::host_collections;
use extract::{FieldTree, Strictness};

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The manifest is invalid. The text explains why.
    #[error("{0}")]
    Invalid(String),
    #[error(
        "collection {collection}: data version {written} has been written, this plugin reads {reads_from} to {reads_to}"
    )]
    CannotRead { collection: String, written: u32, reads_from: u32, reads_to: u32 },
    /// The records violate a new unique index.
    #[error(
        "collection {collection}: index {index} must be unique, but {count} combinations of values occur more than \
         once, for example in the records {examples:?}"
    )]
    NotUnique { collection: String, index: String, count: u64, examples: Vec<String> },
    #[error(
        "collection {collection}: {what} over {rows} records takes about {seconds} s and blocks all writes meanwhile; \
         deploy with --allow-slow-index to allow that"
    )]
    TooSlow { collection: String, what: String, rows: u64, seconds: u64 },
    #[error("records of data versions that this plugin cannot read are still being written; deploy it again")]
    Changing,
    #[error(transparent)]
    Database(#[from] super::DbError),
}

impl From<sqlx::Error> for ModelError {
    fn from(error: sqlx::Error) -> Self {
        ModelError::Database(error.into())
    }
}

/// The body is not valid JSON, is nested too deeply, or has an indexed field with a value that cannot be indexed. The
/// text is for the plugin's author.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BodyError(pub String);

/// Data version of the host's own records.
pub const HOST_DATA_VERSION: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Declared in the manifest.
    Plugin,
    /// Defined by the host for every plugin, for example `ENDPOINTS`.
    Host,
}

impl Owner {
    fn of(collection: &str) -> Owner {
        if host_collections::is_host_collection(collection) { Owner::Host } else { Owner::Plugin }
    }
}

/// The collections of one generation of a plugin.
#[derive(Debug, Clone)]
pub struct DataModel {
    plugin: Arc<str>,
    data_version: u32,
    reads_from: u32,
    collections: BTreeMap<Arc<str>, Arc<Collection>>,
}

#[derive(Debug)]
pub struct Collection {
    pub name: Arc<str>,
    pub owner: Owner,
    /// A column for each indexed JSON field, in the order of `NewRecord::fields`.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    /// Unquoted name of the table: "plugin_collection".
    pub(super) table: Arc<str>,
    tree: FieldTree,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// "customer.id"
    pub path: Arc<str>,
    /// Quoted name of the column in SQL.
    pub(super) sql: Arc<str>,
}

#[derive(Debug)]
pub struct Index {
    pub name: Arc<str>,
    /// Name of the index in the database. It ends with a hash of the definition, so a changed index has another name.
    pub id: Arc<str>,
    pub fields: Vec<IndexField>,
    pub unique: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexField {
    Id,
    CreatedAt,
    UpdatedAt,
    /// Position in `Collection::columns`. A unique index contains only `Column` fields.
    Column(usize),
}

impl DataModel {
    pub fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }

    pub fn data_version(&self) -> u32 {
        self.data_version
    }

    /// Returns true if the plugin can read records of this data version.
    pub fn reads(&self, data_version: u32) -> bool {
        (self.reads_from..=self.data_version).contains(&data_version)
    }

    pub fn collection(&self, name: &str) -> Option<&Arc<Collection>> {
        self.collections.get(name)
    }

    pub fn collections(&self) -> impl Iterator<Item = &Arc<Collection>> {
        self.collections.values()
    }
}

impl Collection {
    /// Creates a collection without indexes.
    fn bare(name: Arc<str>, table: Arc<str>) -> Collection {
        let owner = Owner::of(&name);
        Collection { name, owner, columns: Vec::new(), indexes: Vec::new(), table, tree: FieldTree::default() }
    }

    /// Returns true if the collection has exactly this index, not only an index with the same name.
    pub fn declares(&self, index: &Index) -> bool {
        self.indexes.iter().any(|own| own.id == index.id)
    }

    /// Checks that `body` is valid JSON and returns the values of the indexed columns, in their order.
    pub fn extract(&self, body: &str) -> Result<Vec<Field>, BodyError> {
        self.tree.extract(body, Strictness::Reject)
    }

    /// Like `extract`, for a stored record. A value that cannot be indexed, but was accepted when it was written, is
    /// null.
    pub fn extract_stored(&self, body: &str) -> Result<Vec<Field>, BodyError> {
        self.tree.extract(body, Strictness::Lenient)
    }

    /// Returns true if a generation with this `model` can read a record of this data version.
    pub fn is_readable(&self, model: &DataModel, data_version: u32) -> bool {
        self.owner == Owner::Host || model.reads(data_version)
    }

    /// Returns the slot of a unique index that a record with these `fields` occupies: the `Key::name` of its
    /// `Space::Unique`.
    ///
    /// Returns `None` if a value is null, because such a record occupies no slot. Values that the database treats as
    /// equal have equal slot names.
    pub fn slot_name(&self, index: &Index, fields: &[Field]) -> Option<Arc<str>> {
        let mut name = String::from("[");
        for field in &index.fields {
            let IndexField::Column(column) = field else { return None };
            let text = match fields.get(*column)? {
                Field::Null => return None,
                Field::Integer(value) => value.to_string(),
                Field::Real(value) => format!("{value:?}"),
                Field::Text(value) => serde_json::Value::from(&**value).to_string(),
            };
            if name.len() > 1 {
                name.push(',');
            }
            name.push_str(&text);
        }
        name.push(']');
        Some(name.into())
    }

    pub fn unique_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| index.unique)
    }

    /// Returns the SQL name of the column of an index field.
    pub(super) fn sql_of(&self, field: IndexField) -> &str {
        match field {
            IndexField::Id => "id",
            IndexField::CreatedAt => "created_at",
            IndexField::UpdatedAt => "updated_at",
            // Positions are valid, because `declare` created them together with the columns.
            IndexField::Column(position) => self.columns.get(position).map_or("NULL", |column| &column.sql),
        }
    }
}

#[cfg(test)]
mod tests;
