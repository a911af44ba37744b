//! Records by id, slots of unique indexes, guards, counters, versions.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use super::apply::rows::{Query, bind_field, int};
use super::model::{Collection, Index, IndexField};
use super::{Database, DbError};
use crate::changes::change_set::{Field, Record, Version};
use crate::changes::scope::Scope;

/// The columns that `record_of` reads after the id.
pub(super) const RECORD_COLUMNS: &str = "version, data_version, body, created_at, updated_at";

/// Converts a number that the host stored and that is never negative.
pub(super) fn unsigned(value: i64) -> Result<u64, DbError> {
    u64::try_from(value).map_err(|_| DbError::Corrupt(format!("negative number {value} in an unsigned column")))
}

/// Reads a record from the columns `id` and `RECORD_COLUMNS`.
pub(super) fn record_of(row: &SqliteRow) -> Result<(Arc<str>, Record), DbError> {
    let record = Record {
        version: unsigned(row.try_get(1)?)?,
        data_version: row.try_get(2)?,
        body: row.try_get::<&str, _>(3)?.into(),
        created_at: unsigned(row.try_get(4)?)?,
        updated_at: unsigned(row.try_get(5)?)?,
    };
    Ok((row.try_get::<&str, _>(0)?.into(), record))
}

impl Database {
    pub async fn find_record(
        &self,
        scope: &Scope,
        collection: &Collection,
        id: &str,
    ) -> Result<Option<Record>, DbError> {
        let sql = format!("SELECT id, {RECORD_COLUMNS} FROM \"{}\" WHERE tenant = ? AND id = ?", collection.table);
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(scope.tenant().clone())
            .bind(id)
            .fetch_optional(&*self.readers())
            .await?;
        Ok(row.as_ref().map(record_of).transpose()?.map(|(_, record)| record))
    }

    /// Returns the records in the order of `ids`, with `None` for each absent record.
    ///
    /// # Errors
    /// `TooLarge` if the bodies together exceed `bytes_max`.
    pub async fn find_records(
        &self,
        scope: &Scope,
        collection: &Collection,
        ids: &[Arc<str>],
        bytes_max: usize,
    ) -> Result<Vec<Option<Record>>, DbError> {
        let sql = format!(
            "SELECT id, {RECORD_COLUMNS} FROM \"{}\" WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))",
            collection.table
        );
        let list = serde_json::Value::from_iter(ids.iter().map(|id| &**id)).to_string();
        let readers = self.readers();
        let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(scope.tenant().clone()).bind(list).fetch(&*readers);
        let (mut found, mut bytes): (HashMap<Arc<str>, Record>, _) = (HashMap::new(), 0);
        while let Some(row) = rows.try_next().await? {
            let (id, record) = record_of(&row)?;
            bytes += record.body.len();
            if bytes > bytes_max {
                return Err(DbError::TooLarge(bytes_max));
            }
            found.insert(id, record);
        }
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    /// Returns the id and the version of the record that occupies a slot of a unique index.
    ///
    /// `fields` are the values of all columns of the collection, as `Collection::extract` returns them.
    pub async fn find_slot(
        &self,
        scope: &Scope,
        collection: &Collection,
        index: &Index,
        fields: &[Field],
    ) -> Result<Option<(Arc<str>, Version)>, DbError> {
        let conditions: String =
            index.fields.iter().map(|field| format!(" AND {} = ?", collection.sql_of(*field))).collect();
        let sql = format!("SELECT id, version FROM \"{}\" WHERE tenant = ?{conditions} LIMIT 1", collection.table);
        let query: Query = sqlx::query(AssertSqlSafe(sql));
        let values = index.fields.iter().map(|field| match field {
            IndexField::Column(position) => fields.get(*position).unwrap_or(&Field::Null),
            _ => &Field::Null,
        });
        let query = values.fold(query.bind(scope.tenant().clone()), bind_field);
        let Some(row) = query.fetch_optional(&*self.readers()).await? else { return Ok(None) };
        Ok(Some((row.try_get::<&str, _>(0)?.into(), unsigned(row.try_get(1)?)?)))
    }

    /// Returns the highest version that became durable, or 0 in an empty database.
    pub async fn latest_version(&self) -> Result<Version, DbError> {
        let version: Option<i64> = sqlx::query_scalar("SELECT last_version FROM batches ORDER BY seq DESC LIMIT 1")
            .fetch_optional(&*self.readers())
            .await?;
        unsigned(version.unwrap_or(0))
    }

    pub async fn find_guard(&self, scope: &Scope, name: &str) -> Result<Option<Version>, DbError> {
        let sql = "SELECT version FROM guards WHERE plugin = ? AND tenant = ? AND name = ?";
        self.find_version(sql, scope, name).await
    }

    /// Runs `sql`, which selects a version by plugin, tenant and name.
    pub(super) async fn find_version(
        &self,
        sql: &'static str,
        scope: &Scope,
        name: &str,
    ) -> Result<Option<Version>, DbError> {
        let version: Option<i64> = sqlx::query_scalar(sql)
            .bind(scope.plugin().clone())
            .bind(scope.tenant().clone())
            .bind(name)
            .fetch_optional(&*self.readers())
            .await?;
        version.map(unsigned).transpose()
    }

    /// Reserves `count` consecutive numbers of the counter and returns the first.
    ///
    /// No number is ever returned twice. A counter starts at 1. The reservation is durable when this returns, and
    /// unused numbers are lost.
    pub async fn reserve_counter(&self, scope: &Scope, name: &str, count: u64) -> Result<u64, DbError> {
        let reserve = sqlx::query_scalar(
            "INSERT INTO counters (plugin, tenant, name, next) VALUES (?1, ?2, ?3, 1 + ?4) \
             ON CONFLICT DO UPDATE SET next = next + ?4 RETURNING next",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(name.to_owned())
        .bind(int(count));
        let next: i64 =
            self.write(move |write| Box::pin(async move { Ok(reserve.fetch_one(write.connection()).await?) })).await?;
        Ok(unsigned(next)?.saturating_sub(count))
    }
}
