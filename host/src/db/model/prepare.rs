//! Creates the tables, columns and indexes that a model needs, while other writes continue.
//!
//! Everything is checked first (`check_model`, which changes nothing), and then created. A column is created, then
//! filled in chunks, then indexed. Indexes that are no longer declared are kept, so that a rollback finds them. Only an
//! undeclared unique index is replaced by a plain one, because writes that the new model allows would violate it.
//! Nothing else is ever dropped.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use super::admission::check_newest;
use super::catalogue::{Table, TableField, read_uniques};
use super::{Collection, DataModel, Index, IndexField, ModelError, Owner};
use crate::db::database::WriteTransaction;
use crate::db::{Database, DbError};
use crate::limits::{INDEX_ROWS_PER_SECOND, INDEX_SECONDS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOptions {
    /// Maximum time in seconds for which the creation of one index may block all writes. `u64::MAX` if the operator
    /// allowed slow indexes.
    pub index_seconds_max: u64,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions { index_seconds_max: INDEX_SECONDS_MAX }
    }
}

/// Completed or planned steps, for the operators' journal: "collection notes: index by-state made".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    pub steps: Vec<String>,
}

/// Schema changes that one collection needs.
struct Plan<'a> {
    collection: &'a Collection,
    columns: Vec<&'a str>,
    /// Whether existing columns were not completely filled.
    unfilled: bool,
    indexes: Vec<&'a Index>,
    /// Names of unique indexes that this model does not declare.
    loosened: Vec<String>,
}

impl Database {
    /// Returns the steps that `prepare_model` would take, or the error that it would return. Changes nothing.
    pub async fn check_model(&self, model: &DataModel, options: &PrepareOptions) -> Result<Prepared, ModelError> {
        let mut prepared = Prepared::default();
        for collection in model.collections() {
            let plan = self.plan(model, collection, options).await?;
            if collection.owner == Owner::Plugin {
                prepared.steps.extend(plan.steps());
            }
        }
        Ok(prepared)
    }

    /// Creates and fills the tables, columns and indexes of a generation before it serves. Also called for a rollback.
    ///
    /// Every collection is checked before the first one is changed.
    pub async fn prepare_model(&self, model: &DataModel, options: &PrepareOptions) -> Result<Prepared, ModelError> {
        let prepared = self.check_model(model, options).await?;
        for collection in model.collections() {
            let plan = self.plan(model, collection, options).await?;
            self.make_columns(model, &plan).await?;
            self.loosen_indexes(&plan).await?;
            for index in &plan.indexes {
                self.make_index(collection, index).await?;
            }
        }
        Ok(prepared)
    }

    async fn plan<'a>(
        &self,
        model: &DataModel,
        collection: &'a Collection,
        options: &PrepareOptions,
    ) -> Result<Plan<'a>, ModelError> {
        let existing = self.list_indexes(collection).await?;
        let table = self.catalogue().find(&collection.table);
        if table.is_none() {
            self.check_table_is_free(collection).await?;
        }
        let paths = collection.columns.iter().map(|column| &*column.path);
        let missing = |path: &&str| table.as_ref().is_none_or(|table| !table.has(path));
        let is_declared = |name: &str| collection.indexes.iter().any(|index| &*index.id == name);
        let plan = Plan {
            collection,
            columns: paths.filter(missing).collect(),
            unfilled: table.as_ref().is_some_and(|table| table.fields.iter().any(|field| !field.filled)),
            indexes: collection
                .indexes
                .iter()
                .filter(|index| !existing.iter().any(|(name, _)| **name == *index.id))
                .collect(),
            loosened: existing
                .into_iter()
                .filter(|(name, unique)| *unique && !is_declared(name))
                .map(|(name, _)| name)
                .collect(),
        };
        if let Some(table) = table {
            check_newest(model, collection, &table)?;
            self.check_oldest(model, collection, &table).await?;
            self.check_time(&plan, options).await?;
            for index in plan.indexes.iter().filter(|index| index.unique) {
                self.check_unique(collection, index).await?;
            }
        }
        Ok(plan)
    }

    /// Rejects a collection whose table would be one of the host's: "attributes" of a plugin "key" is `key_attributes`.
    async fn check_table_is_free(&self, collection: &Collection) -> Result<(), ModelError> {
        let sql = "SELECT count(*) FROM sqlite_master WHERE name = ? COLLATE NOCASE \
                   AND name NOT IN (SELECT plugin || '_' || collection FROM collections)";
        let taken: i64 = sqlx::query_scalar(sql).bind(collection.table.clone()).fetch_one(&*self.readers()).await?;
        if taken == 0 {
            return Ok(());
        }
        Err(ModelError::Invalid(format!(
            "collection {}: the table {} is one of the host's; give the plugin or the collection another name",
            collection.name, collection.table
        )))
    }

    /// Returns (name, unique) of the table's indexes that were created by CREATE INDEX.
    async fn list_indexes(&self, collection: &Collection) -> Result<Vec<(String, bool)>, DbError> {
        let query = sqlx::query_as("SELECT name, \"unique\" FROM pragma_index_list(?) WHERE origin = 'c'");
        Ok(query.bind(collection.table.clone()).fetch_all(&*self.readers()).await?)
    }

    async fn check_time(&self, plan: &Plan<'_>, options: &PrepareOptions) -> Result<(), ModelError> {
        if plan.indexes.is_empty() && plan.loosened.is_empty() {
            return Ok(());
        }
        let sql = format!("SELECT count(*) FROM \"{}\"", plan.collection.table);
        let mut search = self.begin_operator_search().await?;
        let rows: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(search.connection()?).await?;
        search.finish();
        let rows = u64::try_from(rows).unwrap_or(0);
        let seconds = rows / INDEX_ROWS_PER_SECOND;
        if seconds <= options.index_seconds_max {
            return Ok(());
        }
        let names: Vec<&str> = plan.indexes.iter().map(|index| &*index.name).collect();
        Err(ModelError::TooSlow {
            collection: plan.collection.name.to_string(),
            what: format!("making the indexes {names:?}, each"),
            rows,
            seconds,
        })
    }

    async fn check_unique(&self, collection: &Collection, index: &Index) -> Result<(), ModelError> {
        let table = self.catalogue().find(&collection.table);
        let has = |path: &str| {
            table.as_ref().is_some_and(|table| table.fields.iter().any(|field| &*field.path == path && field.filled))
        };
        let values: Vec<String> = index
            .fields
            .iter()
            .filter_map(|field| match field {
                IndexField::Column(position) => collection.columns.get(*position),
                _ => None,
            })
            .map(|column| if has(&column.path) { column.sql.to_string() } else { json_value_sql(&column.path) })
            .collect();
        let present = values.iter().map(|value| format!("{value} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
        let sql = format!(
            "SELECT min(id), count(*) OVER () FROM \"{}\" WHERE {present} GROUP BY tenant, {} HAVING count(*) > 1 LIMIT 3",
            collection.table,
            values.join(", ")
        );
        let mut search = self.begin_operator_search().await?;
        let rows: Vec<(String, i64)> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
        search.finish();
        let Some((_, count)) = rows.first() else { return Ok(()) };
        Err(ModelError::NotUnique {
            collection: collection.name.to_string(),
            index: index.name.to_string(),
            count: u64::try_from(*count).unwrap_or(0),
            examples: rows.into_iter().map(|(id, _)| id).collect(),
        })
    }

    async fn make_columns(&self, model: &DataModel, plan: &Plan<'_>) -> Result<(), ModelError> {
        let find = || self.catalogue().find(&plan.collection.table);
        if find().is_some() && plan.columns.is_empty() && !plan.unfilled {
            return Ok(());
        }
        let table = Table::new(model.plugin.clone(), plan.collection.name.clone(), 0, vec![]);
        let columns: Vec<Arc<str>> = plan.columns.iter().map(|path| (*path).into()).collect();
        let database = self.clone();
        let is_new = self
            .write(move |write| Box::pin(async move { add_columns(&database, write, table, &columns).await }))
            .await?;
        if !is_new {
            self.backfill(&plan.collection.table).await?;
        }
        Ok(())
    }

    async fn make_index(&self, collection: &Collection, index: &Index) -> Result<(), ModelError> {
        let (sql, unique) = (create_index_sql(collection, index), index.unique);
        let (database, table) = (self.clone(), collection.table.clone());
        let make = async move |write: &mut WriteTransaction| {
            sqlx::query(AssertSqlSafe(sql)).execute(write.connection()).await?;
            if unique {
                // Change sets accepted earlier were not checked against this index.
                write.supersede_decisions();
                publish_uniques(&database, write, &table).await?;
            }
            Ok(())
        };
        match self.write(move |write| Box::pin(make(write))).await {
            Ok(()) => Ok(()),
            Err(error) => {
                // A duplicate may have been written after the check.
                self.check_unique(collection, index).await?;
                Err(error.into())
            }
        }
    }

    async fn loosen_indexes(&self, plan: &Plan<'_>) -> Result<(), ModelError> {
        for name in &plan.loosened {
            let (database, table, name) = (self.clone(), plan.collection.table.clone(), name.clone());
            self.write(move |write| Box::pin(async move { loosen_index(&database, write, &table, &name).await }))
                .await?;
        }
        Ok(())
    }
}

/// Creates the table if it is missing, and these columns. Returns true if the table was missing.
async fn add_columns(
    database: &Database,
    write: &mut WriteTransaction,
    empty: Table,
    columns: &[Arc<str>],
) -> Result<bool, DbError> {
    let known = database.catalogue().find(&empty.name);
    let mut sql = create_table_sql(&empty.name);
    for path in columns {
        let column = super::declare::column_sql(path);
        sql.push_str(&format!("; ALTER TABLE \"{}\" ADD COLUMN {column}", empty.name));
    }
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(write.connection()).await?;
    let is_new = known.is_none();
    let known = known.unwrap_or_else(|| empty.into());
    let added = columns.iter().map(|path| TableField { path: path.clone(), filled: is_new });
    let table = known.with(known.written, known.fields.iter().cloned().chain(added).collect());
    table.save(write.connection()).await?;
    let database = database.clone();
    write.on_commit(move || database.catalogue().put(table));
    Ok(is_new)
}

/// Replaces a unique index with a plain one.
async fn loosen_index(
    database: &Database,
    write: &mut WriteTransaction,
    table: &str,
    name: &str,
) -> Result<(), DbError> {
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_index_info(?) ORDER BY seqno")
        .bind(name.to_owned())
        .fetch_all(write.connection())
        .await?;
    let columns: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    let sql = format!(
        "CREATE INDEX IF NOT EXISTS \"{name}.plain\" ON \"{table}\" ({}, id); DROP INDEX \"{name}\"",
        columns.join(", ")
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(write.connection()).await?;
    publish_uniques(database, write, table).await
}

/// Publishes the unique indexes of the table after the commit. From then on every call checks them.
async fn publish_uniques(database: &Database, write: &mut WriteTransaction, table: &str) -> Result<(), DbError> {
    let Some(table) = database.catalogue().find(table) else { return Ok(()) };
    let table = table.with_uniques(read_uniques(write.connection(), &table).await?);
    let database = database.clone();
    write.on_commit(move || database.catalogue().put(table));
    Ok(())
}

impl Plan<'_> {
    fn steps(&self) -> Vec<String> {
        let name = &self.collection.name;
        let columns = self.columns.iter().map(|path| format!("collection {name}: field {path} indexed"));
        let indexes = self.indexes.iter().map(|index| format!("collection {name}: index {} made", index.name));
        let loosened = self.loosened.iter().map(|index| format!("collection {name}: {index} is no longer unique"));
        columns.chain(loosened).chain(indexes).collect()
    }
}

fn create_table_sql(table: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS \"{table}\" (\
         tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, data_version INTEGER NOT NULL, \
         body TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (tenant, id))"
    )
}

fn create_index_sql(collection: &Collection, index: &Index) -> String {
    let mut columns: Vec<&str> = vec!["tenant"];
    columns.extend(index.fields.iter().map(|field| collection.sql_of(*field)));
    if !index.unique && !index.fields.contains(&IndexField::Id) {
        columns.push("id");
    }
    let unique = if index.unique { "UNIQUE " } else { "" };
    let name = &index.id;
    format!("CREATE {unique}INDEX \"{name}\" ON \"{}\" ({})", collection.table, columns.join(", "))
}

/// Returns SQL for the value of a field without a column, as `extract` would return it. The path contains no quote
/// (`is_path`).
pub(in crate::db) fn json_value_sql(path: &str) -> String {
    let path = json_path_sql(path);
    // SQLite reads a number beyond the range of floats as infinite.
    format!(
        "(CASE WHEN json_type(body, {path}) IN ('object', 'array') THEN NULL \
         ELSE nullif(nullif(json_extract(body, {path}), 9e999), -9e999) END)"
    )
}

/// Returns a JSON path in SQL: `'$."customer"."id"'`.
pub(in crate::db) fn json_path_sql(path: &str) -> String {
    let names: Vec<String> = path.split('.').map(|name| format!("\"{name}\"")).collect();
    format!("'$.{}'", names.join("."))
}
