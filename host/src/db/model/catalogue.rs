//! The current schema of plugin tables: columns of indexed fields, unique indexes, and written and accepted data
//! versions.
//!
//! A column is never dropped, and every write of a record fills all columns of its table, including those that its own
//! generation does not declare. Therefore two generations can write concurrently while a swap drains, a rollback finds
//! its columns complete, and a new column contains everything that is written while it is filled.
//!
//! Likewise, every call checks all unique indexes of its table, whether or not its own generation declares them. It
//! writes only data versions that the serving generation can read. If the unique indexes or the accepted data versions
//! change, earlier decisions are made again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use sqlx::SqliteConnection;

use super::declare::{self, column_sql};
use super::extract::{FieldTree, Strictness};
use super::written_versions::WrittenVersions;
use super::{BodyError, Collection, DataModel};
use crate::changes::change_set::{Field, NewRecord};
use crate::db::DbError;
use crate::db::apply::rows::ChunkedSql;
use crate::manifest;

pub(in crate::db) struct Catalogue {
    /// Tables by name.
    tables: RwLock<HashMap<Arc<str>, Arc<Table>>>,
    /// Accepted data versions by plugin: those that its serving generation can read.
    pub(super) admitted: RwLock<HashMap<Arc<str>, RangeInclusive<u32>>>,
}

/// Current schema of one table.
pub(in crate::db) struct Table {
    pub name: Arc<str>,
    pub plugin: Arc<str>,
    pub collection: Arc<str>,
    /// The highest written data version. 0 if no record was written.
    pub written: u32,
    pub fields: Vec<TableField>,
    /// The unique indexes of the table, and their fields.
    pub(super) uniques: Arc<Collection>,
    pub upsert: ChunkedSql,
    pub delete: ChunkedSql,
    tree: FieldTree,
    /// Shared by all versions of this entry.
    pub written_versions: Arc<Mutex<WrittenVersions>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::db) struct TableField {
    pub path: Arc<str>,
    /// Whether the column is filled in rows that are older than the column.
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

    /// Returns (plugin, table) for every plugin that has this collection.
    pub fn tables_of(&self, collection: &str) -> Vec<(Arc<str>, Arc<str>)> {
        let tables = self.tables.read();
        let of = tables.values().filter(|table| &*table.collection == collection);
        of.map(|table| (table.plugin.clone(), table.name.clone())).collect()
    }

    /// Accepts from now on only data versions that this model reads. Returns true if a previously accepted data version
    /// is no longer accepted.
    pub fn admit(&self, model: &DataModel) -> bool {
        let next = model.reads_from..=model.data_version;
        let before = self.admitted.write().insert(model.plugin.clone(), next.clone());
        before.is_some_and(|before| !next.contains(before.start()) || !next.contains(before.end()))
    }

    /// Stores the schema of a table. Called only by the holder of the writer's connection, after its commit.
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
        Table {
            name,
            plugin,
            collection,
            written,
            fields,
            uniques,
            upsert,
            delete,
            tree,
            written_versions: Arc::default(),
        }
    }

    /// Returns a copy with other fields and another written data version.
    pub fn with(&self, written: u32, fields: Vec<TableField>) -> Table {
        let changed = Table::new(self.plugin.clone(), self.collection.clone(), written, fields);
        Table { uniques: self.uniques.clone(), written_versions: self.written_versions.clone(), ..changed }
    }

    pub fn with_uniques(&self, uniques: Collection) -> Table {
        Table { uniques: Arc::new(uniques), ..self.with(self.written, self.fields.clone()) }
    }

    pub fn has(&self, path: &str) -> bool {
        self.fields.iter().any(|field| &*field.path == path)
    }

    /// Returns the column values of this table for a record written by the generation with this `collection`.
    pub fn values(&self, collection: &Collection, record: &NewRecord) -> Result<Vec<Field>, BodyError> {
        let same = self.fields.len() == collection.columns.len()
            && self.fields.iter().zip(&collection.columns).all(|(field, column)| field.path == column.path);
        if same { Ok(record.fields.clone()) } else { self.extract(&record.body) }
    }

    pub fn extract(&self, body: &str) -> Result<Vec<Field>, BodyError> {
        self.tree.extract(body, Strictness::Lenient)
    }

    /// Writes the catalogue entry of this table to the database.
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

/// Reads the unique indexes of a table from the database schema.
pub(super) async fn read_uniques(connection: &mut SqliteConnection, table: &Table) -> Result<Collection, DbError> {
    let sql = "SELECT list.name, info.name FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info \
               WHERE list.\"unique\" AND list.origin = 'c' AND info.name <> 'tenant' ORDER BY list.name, info.seqno";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(table.name.clone()).fetch_all(connection).await?;
    let mut indexes: Vec<manifest::Index> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (id, column) in rows {
        let unknown = || DbError::Corrupt(format!("index {id} of {} was not created by Tenon", table.name));
        let quoted = format!("\"{column}\"");
        let field = table.fields.iter().find(|field| column_sql(&field.path) == quoted).ok_or_else(unknown)?;
        if ids.last() != Some(&id) {
            // "plugin_collection.name.hash": none of the three parts contains a full stop.
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

/// Builds the upsert with the columns tenant, id, version, data_version, body, created_at, updated_at, then the fields.
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
