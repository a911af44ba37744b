//! What the tables of plugins look like now: which indexed fields each has as columns, which indexes are unique, which data
//! version was written, and which may be.
//!
//! A column stays once it was made, and every write of a record fills all columns of its table, also those that its own
//! generation does not declare. So two generations may write side by side while a swap drains, a rollback finds its
//! columns complete, and a new column misses nothing that is written while it is filled. In the same way every call keeps
//! the unique indexes that its table has, whether its own generation declares them or not; and writes only what the
//! generation that serves can read. Where one of these changes, what was accepted before is run again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use sqlx::SqliteConnection;

use super::ages::Ages;
use super::declare::{self, column_sql};
use super::extract::{FieldTree, Strictness};
use super::{Collection, DataModel, NotJson};
use crate::changes::change_set::{Field, NewRecord};
use crate::db::apply::rows::ChunkedSql;
use crate::db::{Database, DbError};
use crate::manifest;

pub(in crate::db) struct Catalogue {
    /// By name.
    tables: RwLock<HashMap<Arc<str>, Arc<Table>>>,
    /// Data versions that may be written, by plugin: those that its serving generation reads.
    admitted: RwLock<HashMap<Arc<str>, RangeInclusive<u32>>>,
}

/// One table as it is.
pub(in crate::db) struct Table {
    pub name: Arc<str>,
    pub plugin: Arc<str>,
    pub collection: Arc<str>,
    /// The highest data version that was written; 0: none yet.
    pub written: u32,
    pub fields: Vec<TableField>,
    /// The unique indexes that it has, and their fields.
    uniques: Arc<Collection>,
    pub upsert: ChunkedSql,
    pub delete: ChunkedSql,
    tree: FieldTree,
    /// Shared by all values of this table.
    pub ages: Arc<Mutex<Ages>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::db) struct TableField {
    pub path: Arc<str>,
    /// Whether rows from before the column carry its value already.
    pub filled: bool,
}

impl Catalogue {
    pub async fn load(connection: &mut SqliteConnection) -> Result<Catalogue, DbError> {
        let rows = sqlx::query_as("SELECT plugin, collection, written, fields FROM collections");
        let rows: Vec<(String, String, u32, String)> = rows.fetch_all(&mut *connection).await?;
        let mut tables = HashMap::new();
        for (plugin, collection, written, fields) in rows {
            let fields: Vec<(String, bool)> = serde_json::from_str(&fields)
                .map_err(|error| DbError::Corrupt(format!("collections, {plugin} {collection}: {error}")))?;
            let fields = fields.into_iter().map(|(path, filled)| TableField { path: path.into(), filled }).collect();
            let table = Table::new(plugin.into(), collection.into(), written, fields);
            let table = table.with_uniques(read_uniques(connection, &table).await?);
            tables.insert(table.name.clone(), Arc::new(table));
        }
        Ok(Catalogue { tables: RwLock::new(tables), admitted: RwLock::default() })
    }

    pub fn find(&self, table: &str) -> Option<Arc<Table>> {
        self.tables.read().get(table).cloned()
    }

    /// (plugin, table) of every plugin that has this collection.
    pub fn tables_of(&self, collection: &str) -> Vec<(Arc<str>, Arc<str>)> {
        let tables = self.tables.read();
        let of = tables.values().filter(|table| &*table.collection == collection);
        of.map(|table| (table.plugin.clone(), table.name.clone())).collect()
    }

    /// From now on only what this model reads is written. Whether something was admitted before that is not any more.
    pub fn admit(&self, model: &DataModel) -> bool {
        let next = model.reads_from..=model.data_version;
        let before = self.admitted.write().insert(model.plugin.clone(), next.clone());
        before.is_some_and(|before| !next.contains(before.start()) || !next.contains(before.end()))
    }

    /// Only by the holder of the writer's connection, after its commit.
    pub fn put(&self, table: Table) {
        self.tables.write().insert(table.name.clone(), Arc::new(table));
    }
}

impl Table {
    pub fn new(plugin: Arc<str>, collection: Arc<str>, written: u32, fields: Vec<TableField>) -> Table {
        let name: Arc<str> = format!("{plugin}_{collection}").into();
        let tree = FieldTree::new(fields.iter().map(|field| &*field.path));
        let delete = ChunkedSql::new(&format!("DELETE FROM \"{name}\" WHERE (tenant, id) IN (VALUES "), "(?,?)", ")");
        let upsert = upsert(&name, &fields);
        let uniques = Arc::new(Collection::bare(collection.clone(), name.clone()));
        Table { name, plugin, collection, written, fields, uniques, upsert, delete, tree, ages: Arc::default() }
    }

    /// The same with something changed.
    pub fn with(&self, written: u32, fields: Vec<TableField>) -> Table {
        let changed = Table::new(self.plugin.clone(), self.collection.clone(), written, fields);
        Table { uniques: self.uniques.clone(), ages: self.ages.clone(), ..changed }
    }

    pub fn with_uniques(&self, uniques: Collection) -> Table {
        Table { uniques: Arc::new(uniques), ..self.with(self.written, self.fields.clone()) }
    }

    pub fn has(&self, path: &str) -> bool {
        self.fields.iter().any(|field| &*field.path == path)
    }

    /// The values of the columns of this table, for a record that was written by the generation with this `collection`.
    pub fn values(&self, collection: &Collection, record: &NewRecord) -> Result<Vec<Field>, NotJson> {
        let same = self.fields.len() == collection.columns.len()
            && self.fields.iter().zip(&collection.columns).all(|(field, column)| field.path == column.path);
        if same { Ok(record.fields.clone()) } else { self.extract(&record.body) }
    }

    pub fn extract(&self, body: &str) -> Result<Vec<Field>, NotJson> {
        self.tree.extract(body, Strictness::Overlook)
    }

    /// Stores what the catalogue says of this table.
    pub async fn save(&self, connection: &mut SqliteConnection) -> Result<(), DbError> {
        let fields: Vec<(&str, bool)> = self.fields.iter().map(|field| (&*field.path, field.filled)).collect();
        let fields = serde_json::to_string(&fields).map_err(|error| DbError::Corrupt(error.to_string()))?;
        sqlx::query(
            "INSERT INTO collections (plugin, collection, written, fields) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO UPDATE SET written = excluded.written, fields = excluded.fields",
        )
        .bind(self.plugin.clone())
        .bind(self.collection.clone())
        .bind(self.written)
        .bind(fields)
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// The unique indexes of a table, as its schema has them.
pub(super) async fn read_uniques(connection: &mut SqliteConnection, table: &Table) -> Result<Collection, DbError> {
    let sql = "SELECT list.name, info.name FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info \
               WHERE list.\"unique\" AND list.origin = 'c' AND info.name <> 'tenant' ORDER BY list.name, info.seqno";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(table.name.clone()).fetch_all(connection).await?;
    let mut indexes: Vec<manifest::Index> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (id, column) in rows {
        let unknown = || DbError::Corrupt(format!("{id} of {} is no index that was made here", table.name));
        let quoted = format!("\"{column}\"");
        let field = table.fields.iter().find(|field| column_sql(&field.path) == quoted).ok_or_else(unknown)?;
        if ids.last() != Some(&id) {
            // "plugin_collection.name.hash": none of the three holds a full stop.
            let name = id.split('.').nth(1).ok_or_else(unknown)?.to_owned();
            indexes.push(manifest::Index { name, fields: Vec::new(), unique: true });
            ids.push(id);
        }
        if let Some(index) = indexes.last_mut() {
            index.fields.push(field.path.to_string());
        }
    }
    let declared = manifest::Collection { name: table.collection.to_string(), indexes };
    declare::collection(&table.plugin, &declared).map_err(|error| DbError::Corrupt(error.to_string()))
}

impl Database {
    /// The unique indexes of the collection's table, where it has one that the generation of `collection` does not declare.
    pub fn other_uniques(&self, collection: &Collection) -> Option<Arc<Collection>> {
        let uniques = self.catalogue().find(&collection.table)?.uniques.clone();
        uniques.indexes.iter().any(|index| !collection.declares(index)).then_some(uniques)
    }

    /// Whether the table has this unique index: a newer generation may have dropped it.
    pub fn keeps_unique(&self, collection: &Collection, index: &super::Index) -> bool {
        self.catalogue().find(&collection.table).is_some_and(|table| table.uniques.declares(index))
    }

    /// Whether what serves could read a record of this data version.
    pub fn admits(&self, plugin: &str, data_version: u32) -> bool {
        self.catalogue().admitted.read().get(plugin).is_none_or(|admitted| admitted.contains(&data_version))
    }
}

/// tenant, id, version, data_version, body, created_at, updated_at, then the fields in their order.
fn upsert(table: &str, fields: &[TableField]) -> ChunkedSql {
    let mut columns = "tenant, id, version, data_version, body, created_at, updated_at".to_owned();
    let mut row = "(?,?,?,?,?,?,?".to_owned();
    let mut set = "version = excluded.version, data_version = excluded.data_version, body = excluded.body, \
                   created_at = excluded.created_at, updated_at = excluded.updated_at"
        .to_owned();
    for field in fields {
        let column = column_sql(&field.path);
        columns.push_str(&format!(", {column}"));
        row.push_str(",?");
        set.push_str(&format!(", {column} = excluded.{column}"));
    }
    row.push(')');
    ChunkedSql::insert(
        &format!("\"{table}\" ({columns})"),
        &row,
        &format!("ON CONFLICT (tenant, id) DO UPDATE SET {set}"),
    )
}
