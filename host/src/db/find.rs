//! Finds pages of records: converts a `Query` to SQL.
//!
//! - `plan`: selects the index, which determines the order of the records.
//! - `condition`: converts one condition to SQL. `cursor`: the start of the next page.
//!
//! Invariants:
//! - Every statement filters by the tenant of its scope.
//! - Values from callers are bound parameters, never part of the SQL text.
//! - Field names are part of the SQL text and were checked (`is_path`).
//! - The order is total, because the id breaks ties.

mod condition;
mod cursor;
mod plan;

use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};

use super::apply::rows::{Query as Statement, bind_field};
use super::model::{Collection, Index, IndexField};
use super::records::{RECORD_COLUMNS, record_of};
use super::{Database, DbError};
use crate::changes::change_set::{Field, Record};
use crate::changes::scope::Scope;
use crate::limits::{CONDITIONS_MAX, COUNT_MAX, FIND_BYTES_MAX, FIND_ENTRIES_MAX};
use condition::{Sql, field_of, index_field};
use plan::Plan;

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
    /// The field is a list that contains this value.
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
    /// `Page::next` of the previous page.
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
    /// The plugin's query is invalid: it needs an undeclared index, or exceeds a limit. The text is for the plugin's
    /// author.
    #[error("{0}")]
    Misuse(String),
    /// `after` is not a cursor of this query. The value may come from an API caller.
    #[error("{0}")]
    BadCursor(String),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl From<sqlx::Error> for FindError {
    fn from(error: sqlx::Error) -> Self {
        FindError::Database(error.into())
    }
}

/// A slot of a unique index, which at most one record can occupy.
pub struct Slot<'c> {
    pub index: &'c Index,
    /// Values of all columns of the collection. Null for columns that are not part of the index.
    pub fields: Vec<Field>,
    pub name: Arc<str>,
}

/// Returns the slot of a unique index if the query consists of one equality condition for each field of that index,
/// without a sort, cursor or offset.
pub fn slot_of<'c>(collection: &'c Collection, query: &Query) -> Option<Slot<'c>> {
    let Query { conditions, sort, after: None, offset: 0, limit: 1..=FIND_ENTRIES_MAX } = query else { return None };
    let mut fields = vec![Field::Null; collection.columns.len()];
    for Condition { field, comparison } in conditions {
        let Comparison::Equal(value) = comparison else { return None };
        let Ok(Some(IndexField::Column(column))) = index_field(collection, field) else { return None };
        let target = fields.get_mut(column).filter(|target| **target == Field::Null)?;
        *target = field_of(value).ok()?;
    }
    let mut indexes = collection.unique_indexes().filter(|index| index.fields.len() == conditions.len());
    let (index, name) = indexes.find_map(|index| Some((index, collection.slot_name(index, &fields)?)))?;
    sort.is_empty().then_some(Slot { index, fields, name })
}

impl Database {
    /// Returns a page of records. The page ends early, with a `next`, if the bodies of `limit` entries would exceed
    /// `FIND_BYTES_MAX` together.
    pub async fn find_page(&self, scope: &Scope, collection: &Collection, query: &Query) -> Result<Page, FindError> {
        check(collection, &query.conditions)?;
        if !(1..=FIND_ENTRIES_MAX).contains(&query.limit) {
            return misuse(format!(
                "find in {}: limit {} is not within 1 to {FIND_ENTRIES_MAX}",
                collection.name, query.limit
            ));
        }
        let plan = Plan::new(collection, &query.conditions, &query.sort)?;
        let after = query.after.as_deref().map(|text| cursor::read(text, &plan)).transpose()?;
        let sql = page_sql(scope, &plan, query, after.as_deref())?;
        let mut search = self.begin_search(scope).await?;
        let page = read_page(search.connection()?, sql, &plan, query.limit).await.inspect_err(|error| {
            if let FindError::Database(error) = error {
                self.health().record_error(error);
            }
        })?;
        search.finish();
        Ok(page)
    }

    /// Counts matching records, up to `limit`.
    pub async fn count_records(
        &self,
        scope: &Scope,
        collection: &Collection,
        conditions: &[Condition],
        limit: u32,
    ) -> Result<u32, FindError> {
        check(collection, conditions)?;
        if !(1..=COUNT_MAX).contains(&limit) {
            return misuse(format!("count in {}: limit {limit} is not within 1 to {COUNT_MAX}", collection.name));
        }
        let plan = Plan::new(collection, conditions, &[])?;
        let mut sql = Sql::default();
        sql.push("SELECT count(*) FROM (SELECT 1 FROM ");
        push_where(&mut sql, scope, &plan, conditions)?;
        sql.push(" LIMIT ");
        sql.bind(Field::Integer(limit.into()));
        sql.push(")");
        let statement: Statement = sqlx::query(AssertSqlSafe(sql.text));
        let mut search = self.begin_search(scope).await?;
        let row = sql.values.iter().fold(statement, bind_field).fetch_one(search.connection()?).await;
        let row = self.observe(row.map_err(DbError::from))?;
        search.finish();
        Ok(row.try_get(0)?)
    }
}

async fn read_page(
    connection: &mut SqliteConnection,
    sql: Sql,
    plan: &Plan<'_>,
    limit: u32,
) -> Result<Page, FindError> {
    let statement: Statement = sqlx::query(AssertSqlSafe(sql.text));
    let mut rows = sql.values.iter().fold(statement, bind_field).fetch(connection);
    let mut page = Page { entries: Vec::new(), next: None };
    let (mut bytes, mut last) = (0, None);
    while let Some(row) = rows.try_next().await? {
        let (id, record) = record_of(&row)?;
        bytes += record.body.len();
        let is_full = page.entries.len() >= limit as usize || bytes > FIND_BYTES_MAX;
        if let Some(last) = last.as_ref().filter(|_| is_full) {
            page.next = Some(cursor::write(last, plan)?);
            break;
        }
        page.entries.push((id, record));
        last = Some(row);
    }
    Ok(page)
}

fn misuse<T>(message: String) -> Result<T, FindError> {
    Err(FindError::Misuse(message))
}

fn check(collection: &Collection, conditions: &[Condition]) -> Result<(), FindError> {
    if conditions.len() > CONDITIONS_MAX {
        return misuse(format!(
            "find in {}: {} conditions, at most {CONDITIONS_MAX} are allowed",
            collection.name,
            conditions.len()
        ));
    }
    Ok(())
}

/// Builds one SELECT for each range of the index that can contain the page, merged in the order of the index.
fn page_sql(scope: &Scope, plan: &Plan, query: &Query, after: Option<&[Field]>) -> Result<Sql, FindError> {
    let keys = plan.order.iter().enumerate().map(|(n, field)| format!(", {} AS k{n}", plan.collection.sql_of(*field)));
    let columns = format!("id, {RECORD_COLUMNS}{}", keys.collect::<String>());
    let mut sql = Sql::default();
    for (n, range) in plan.ranges(after).into_iter().enumerate() {
        sql.push(if n > 0 { " UNION ALL SELECT " } else { "SELECT " });
        sql.push(&columns);
        sql.push(" FROM ");
        push_where(&mut sql, scope, plan, &query.conditions)?;
        for bound in range {
            sql.push(" AND ");
            bound.push(&mut sql, plan.collection);
        }
    }
    let direction = if plan.descending { " DESC" } else { "" };
    let keys: Vec<String> = (0..plan.order.len()).map(|n| format!("k{n}{direction}")).collect();
    sql.push(&format!(" ORDER BY {} LIMIT ", keys.join(", ")));
    // One row more than requested, which shows whether there is a next page.
    sql.bind(Field::Integer(i64::from(query.limit) + 1));
    sql.push(" OFFSET ");
    sql.bind(Field::Integer(query.offset.into()));
    Ok(sql)
}

fn push_where(sql: &mut Sql, scope: &Scope, plan: &Plan, conditions: &[Condition]) -> Result<(), FindError> {
    sql.push(&plan.source());
    sql.push(" WHERE tenant = ");
    sql.bind(Field::Text(scope.tenant().clone()));
    for condition in conditions {
        sql.push(" AND ");
        sql.push_condition(plan.collection, condition)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
