//! The data model of a plugin: its collections and indexes, as its manifest declares them, checked.
//!
//! Owns the names of tables and columns, and what a body says in its indexed fields (`extract`). A column is named after
//! its path: "customer.id" is `".customer.id"`; SQLite does not tell capitals from small letters in names, so a capital
//! is written `^x`. Names of plugins and collections hold no underscore, so `plugin_collection` belongs to one pair only,
//! and no table of the host, whose names hold none, can be meant.
//!
//! - `declare`: manifest to model. `extract`: body to indexed values.
//! - `catalogue`: what the tables look like now. `prepare`: makes them what a model needs. `backfill`: fills new columns.

mod ages;
mod backfill;
pub(super) mod catalogue;
mod declare;
pub(super) mod extract;
pub(super) mod prepare;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use declare::is_path;
pub use prepare::{PrepareOptions, Prepared};

use crate::changes::change_set::Field;
use crate::changes::host_collections;
use extract::{FieldTree, Strictness};

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// What the manifest says cannot be, in a sentence.
    #[error("{0}")]
    Invalid(String),
    #[error(
        "collection {collection}: data version {written} has been written, this plugin reads {reads_from} to {reads_to}"
    )]
    CannotRead { collection: String, written: u32, reads_from: u32, reads_to: u32 },
    /// A unique index over records that are not unique.
    #[error(
        "collection {collection}: index {index} is to be unique, but {count} combinations of values occur more than \
         once, for example in the records {examples:?}"
    )]
    NotUnique { collection: String, index: String, count: u64, examples: Vec<String> },
    #[error(
        "collection {collection}: {what} over {rows} records takes about {seconds} s, in which nothing is written; \
         deploy it with --allow-slow-index if that is meant"
    )]
    TooSlow { collection: String, what: String, rows: u64, seconds: u64 },
    #[error("records of data versions that this plugin does not read are written all the time; deploy it again")]
    Changing,
    #[error(transparent)]
    Database(#[from] super::DbError),
}

impl From<sqlx::Error> for ModelError {
    fn from(error: sqlx::Error) -> Self {
        ModelError::Database(error.into())
    }
}

/// The body is not one JSON text, or an indexed value in it cannot be indexed: a sentence for the plugin's author.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotJson(pub String);

/// The data version of what the host stores for itself.
pub const HOST_DATA_VERSION: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Declared in the manifest.
    Plugin,
    /// The same for every plugin: [`ENDPOINTS`] and its like.
    Host,
}

impl Owner {
    fn of(collection: &str) -> Owner {
        if host_collections::is_host_collection(collection) { Owner::Host } else { Owner::Plugin }
    }
}

/// What one generation of a plugin stores.
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
    /// One for each indexed JSON field, in the order of `NewRecord::fields`.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    /// The table, not quoted: "plugin_collection".
    pub(super) table: Arc<str>,
    tree: FieldTree,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// "customer.id"
    pub path: Arc<str>,
    /// Quoted, as it stands in SQL.
    pub(super) sql: Arc<str>,
}

#[derive(Debug)]
pub struct Index {
    pub name: Arc<str>,
    /// What the database calls it. Ends with a hash of what the index is, so that one that changes is another one.
    pub id: Arc<str>,
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

    pub fn collections(&self) -> impl Iterator<Item = &Arc<Collection>> {
        self.collections.values()
    }
}

impl Collection {
    /// With no index at all.
    fn bare(name: Arc<str>, table: Arc<str>) -> Collection {
        let owner = Owner::of(&name);
        Collection { name, owner, columns: Vec::new(), indexes: Vec::new(), table, tree: FieldTree::default() }
    }

    /// Whether it has this very index, and not only one of the same name.
    pub fn declares(&self, index: &Index) -> bool {
        self.indexes.iter().any(|own| own.id == index.id)
    }

    /// Checks that `body` is one JSON text and returns the values of the indexed columns, in their order.
    pub fn extract(&self, body: &str) -> Result<Vec<Field>, NotJson> {
        self.tree.extract(body, Strictness::Refuse)
    }

    /// The same for a record that is stored: what may not be indexed, but was lawful when it was written, is null.
    pub fn extract_stored(&self, body: &str) -> Result<Vec<Field>, NotJson> {
        self.tree.extract(body, Strictness::Overlook)
    }

    /// Whether a record of this data version can be read by a generation with this `model`.
    pub fn is_readable(&self, model: &DataModel, data_version: u32) -> bool {
        self.owner == Owner::Host || model.reads(data_version)
    }

    /// The slot that a record with these `fields` takes in a unique index: the `Key::name` of its `Space::Unique`.
    /// `None` where a value is null: such a record takes none. Equal for values that the database takes for equal.
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

    /// The column of an index field, as it stands in SQL.
    pub(super) fn sql_of(&self, field: IndexField) -> &str {
        match field {
            IndexField::Id => "id",
            IndexField::CreatedAt => "created_at",
            IndexField::UpdatedAt => "updated_at",
            // Positions come from `declare`, which made the columns.
            IndexField::Column(position) => self.columns.get(position).map_or("NULL", |column| &column.sql),
        }
    }
}

#[cfg(test)]
mod tests;
