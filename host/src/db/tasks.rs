//! Due tasks: timers and effects, which are the host's own records in a table of each plugin.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::model::catalogue::{Catalogue, Table};
use super::records::unsigned;
use super::{Database, DbError};
use crate::changes::host_collections::{EFFECT_DESTINATION, EFFECTS};
use crate::changes::scope::Scope;
use crate::changes::timer::{TaskKey, TaskKind, TaskQueue};
use crate::clock::Timestamp;

/// A stored timer or effect.
#[derive(Clone, Debug)]
pub struct StoredTask {
    pub key: TaskKey,
    /// JSON body of the record.
    pub body: Arc<str>,
    pub created_at: Timestamp,
}

/// Selects tasks. `None` matches all values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    /// Selects only tasks that the host has given up.
    pub given_up: bool,
    pub id: Option<String>,
}

/// Counts of the tasks of one kind, of all plugins and tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    pub waiting: u64,
    pub given_up: u64,
    /// The earliest due time.
    pub earliest: Option<Timestamp>,
}

/// Marks every unsettled effect of a restored database as possibly sent, because it may have been sent after the
/// backup.
pub(super) async fn mark_effects_unconfirmed(connection: &mut SqliteConnection) -> Result<(), DbError> {
    for (_, table) in Catalogue::load(connection).await?.tables_of(EFFECTS) {
        let sql = format!(
            "UPDATE \"{table}\" SET body = json_set( \
               json_insert(body, '$.progress', json('{{\"attempts\":0,\"under-way\":false}}')), \
               '$.progress.\"may-have-happened\"', json('true')) \
             WHERE body ->> '$.outcome' IS NULL"
        );
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The first tasks of a queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FirstTasks {
    /// Ids of the due tasks, earliest first.
    pub due: Vec<Arc<str>>,
    /// Due time of the first task that is not due yet. `None` if there is none, or the limit was reached before.
    pub next: Option<Timestamp>,
}

impl Database {
    /// Returns every queue with waiting tasks, with its earliest due time.
    pub async fn list_due_task_queues(&self) -> Result<Vec<(TaskQueue, Timestamp)>, DbError> {
        let (mut found, mut search) = (Vec::new(), self.begin_operator_search().await?);
        for (kind, plugin, table) in self.task_tables() {
            let Some(known) = self.catalogue().find(&table) else { continue };
            let destination = destination_column(kind, &known);
            let sql = format!(
                "SELECT tenant, {destination}, min(\".due\") FROM \"{table}\" WHERE \".due\" IS NOT NULL GROUP BY 1, 2"
            );
            let rows: Vec<(String, Option<String>, i64)> =
                sqlx::query_as(AssertSqlSafe(sql)).fetch_all(search.connection()?).await?;
            for (tenant, destination, due) in rows {
                let Some(scope) = Scope::new(plugin.clone(), tenant.into()) else { continue };
                found.push((TaskQueue { scope, destination: destination.map(Arc::from) }, unsigned(due)?));
            }
        }
        search.finish();
        Ok(found)
    }

    /// Returns the first tasks of a queue, at most `limit`.
    pub async fn find_first_tasks(
        &self,
        queue: &TaskQueue,
        now: Timestamp,
        limit: usize,
    ) -> Result<FirstTasks, DbError> {
        let Some((table, destination)) = self.table_of_queue(queue) else { return Ok(FirstTasks::default()) };
        // The limit is not a parameter: SQLite would read its value and prepare the statement again each time.
        let sql = format!(
            "SELECT id, \".due\" FROM \"{table}\" WHERE tenant = ?1 AND {destination} IS ?2 AND \".due\" IS NOT NULL \
             ORDER BY \".due\", id LIMIT {limit}"
        );
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(queue.scope.tenant().clone());
        let rows: Vec<(String, i64)> = query.bind(queue.destination.clone()).fetch_all(&*self.readers()).await?;
        let mut first = FirstTasks::default();
        for (id, due) in rows {
            match unsigned(due)? {
                due if due <= now => first.due.push(id.into()),
                later => {
                    first.next = Some(later);
                    break;
                }
            }
        }
        Ok(first)
    }

    /// Lists tasks after the key `after`, ordered by plugin, tenant and id. Operators use it to find stuck tasks.
    pub async fn list_tasks(
        &self,
        kind: TaskKind,
        filter: &TaskFilter,
        after: Option<&TaskKey>,
        limit: u32,
    ) -> Result<Vec<StoredTask>, DbError> {
        let (mut found, mut search) = (Vec::new(), self.begin_operator_search().await?);
        let mut tables: Vec<_> = self.task_tables().into_iter().filter(|(of, ..)| *of == kind).collect();
        tables.sort_by(|(_, left, _), (_, right, _)| left.cmp(right));
        for (_, plugin, table) in tables {
            let left = i64::from(limit) - i64::try_from(found.len()).unwrap_or(i64::MAX);
            let is_past = after.is_some_and(|after| *plugin < **after.scope.plugin());
            if left <= 0 || is_past || filter.plugin.as_ref().is_some_and(|name| *name != *plugin) {
                continue;
            }
            let after = after.filter(|after| *plugin == **after.scope.plugin());
            let (after_tenant, after_id) = after.map_or(("", ""), |after| (&**after.scope.tenant(), &*after.id));
            let due = if filter.given_up { "AND \".due\" IS NULL" } else { "" };
            let sql = format!(
                "SELECT tenant, id, body, created_at FROM \"{table}\" \
                 WHERE (tenant, id) > (?1, ?2) AND (?3 IS NULL OR tenant = ?3) AND (?4 IS NULL OR id = ?4) {due} ORDER BY tenant, id LIMIT ?5"
            );
            let query = sqlx::query_as(AssertSqlSafe(sql))
                .bind(after_tenant)
                .bind(after_id)
                .bind(&filter.tenant)
                .bind(&filter.id);
            let rows: Vec<(String, String, String, i64)> = query.bind(left).fetch_all(search.connection()?).await?;
            for (tenant, id, body, created_at) in rows {
                let Some(scope) = Scope::new(plugin.clone(), tenant.into()) else { continue };
                let key = TaskKey { scope, kind, id: id.into() };
                found.push(StoredTask { key, body: body.into(), created_at: unsigned(created_at)? });
            }
        }
        search.finish();
        Ok(found)
    }

    pub async fn count_tasks(&self, kind: TaskKind) -> Result<TaskCounts, DbError> {
        let (mut counts, mut search) = (TaskCounts::default(), self.begin_operator_search().await?);
        for (_, _, table) in self.task_tables().into_iter().filter(|(of, ..)| *of == kind) {
            let sql = format!("SELECT count(*), count(\".due\"), min(\".due\") FROM \"{table}\"");
            let (all, due, earliest): (i64, i64, Option<i64>) =
                sqlx::query_as(AssertSqlSafe(sql)).fetch_one(search.connection()?).await?;
            counts.waiting += unsigned(due)?;
            counts.given_up += unsigned(all - due)?;
            counts.earliest = counts.earliest.into_iter().chain(earliest.map(unsigned).transpose()?).min();
        }
        search.finish();
        Ok(counts)
    }

    fn task_tables(&self) -> Vec<(TaskKind, Arc<str>, Arc<str>)> {
        let of = |kind: TaskKind| {
            let tables = self.catalogue().tables_of(kind.collection()).into_iter();
            tables.map(move |(plugin, table)| (kind, plugin, table))
        };
        of(TaskKind::Timer).chain(of(TaskKind::Effect)).collect()
    }

    /// Returns the table of a queue, and the SQL expression for the destination. Returns `None` if the table does not
    /// exist.
    fn table_of_queue(&self, queue: &TaskQueue) -> Option<(Arc<str>, &'static str)> {
        let name = format!("{}_{}", queue.scope.plugin(), queue.kind().collection());
        let table = self.catalogue().find(&name)?;
        Some((table.name.clone(), destination_column(queue.kind(), &table)))
    }
}

/// Returns the SQL expression for the destination. The table of a plugin that does not run (yet) may lack the column.
fn destination_column(kind: TaskKind, table: &Table) -> &'static str {
    let is_filled = || table.fields.iter().any(|field| &*field.path == EFFECT_DESTINATION && field.filled);
    match kind {
        TaskKind::Timer => "NULL",
        TaskKind::Effect if is_filled() => "\".call.destination\"",
        TaskKind::Effect => "body ->> '$.call.destination'",
    }
}
