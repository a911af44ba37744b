//! What the tables of plugins look like now: which indexed fields each has as columns, and which data version was written.
//!
//! A column stays once it was made, and every write of a record fills all columns of its table, also those that its own
//! generation does not declare. So two generations may write side by side while a swap drains, a rollback finds its
//! columns complete, and a new column misses nothing that is written while it is filled.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use sqlx::SqliteConnection;

use super::declare::column_sql;
use super::extract::{FieldTree, Strictness};
use super::{Collection, NotJson};
use crate::changes::change_set::{Field, NewRecord};
use crate::db::DbError;
use crate::db::apply::rows::ChunkedSql;

/// By the name of the table.
pub(in crate::db) struct Catalogue {
    tables: RwLock<HashMap<Arc<str>, Arc<Table>>>,
}

/// One table as it is.
pub(in crate::db) struct Table {
    pub name: Arc<str>,
    pub plugin: Arc<str>,
    pub collection: Arc<str>,
    /// The highest data version that was written; 0: none yet.
    pub written: u32,
    pub fields: Vec<TableField>,
    pub upsert: ChunkedSql,
    pub delete: ChunkedSql,
    tree: FieldTree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::db) struct TableField {
    pub path: Arc<str>,
    /// Whether rows from before the column carry its value already.
    pub filled: bool,
}

impl Catalogue {
    pub async fn load(connection: &mut SqliteConnection) -> Result<Catalogue, DbError> {
        let rows: Vec<(String, String, u32, String)> =
            sqlx::query_as("SELECT plugin, collection, written, fields FROM collections").fetch_all(connection).await?;
        let mut tables = HashMap::new();
        for (plugin, collection, written, fields) in rows {
            let fields: Vec<(String, bool)> = serde_json::from_str(&fields)
                .map_err(|error| DbError::Corrupt(format!("collections, {plugin} {collection}: {error}")))?;
            let fields = fields.into_iter().map(|(path, filled)| TableField { path: path.into(), filled }).collect();
            let table = Table::new(plugin.into(), collection.into(), written, fields);
            tables.insert(table.name.clone(), Arc::new(table));
        }
        Ok(Catalogue { tables: RwLock::new(tables) })
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
        Table { name, plugin, collection, written, fields, upsert, delete, tree }
    }

    /// The same with something changed.
    pub fn with(&self, written: u32, fields: Vec<TableField>) -> Table {
        Table::new(self.plugin.clone(), self.collection.clone(), written, fields)
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
    ChunkedSql::new(
        &format!("INSERT INTO \"{table}\" ({columns}) VALUES "),
        &row,
        &format!(" ON CONFLICT (tenant, id) DO UPDATE SET {set}"),
    )
}
