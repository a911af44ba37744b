//! Queries of operators: endpoints and deliveries of all plugins and tenants, in pages.
//!
//! Every query uses an index, and every page stops at its limit, so that operators do not slow down other work.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::list::{DELIVERY_COLUMNS, parse_delivery, union_query};
use super::{DeliveryState, StoredDelivery};
use crate::changes::endpoint::EndpointId;
use crate::changes::host_collections::ENDPOINTS;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::apply::rows::int;
use crate::db::apply::{EventSeq, QueueId};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// Selects endpoints. `None` matches every value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointFilter {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub endpoint: Option<String>,
}

/// An endpoint with the numbers of its deliveries.
#[derive(Clone, Debug)]
pub struct EndpointRow {
    pub queue: QueueId,
    pub scope: Scope,
    pub id: EndpointId,
    /// The body of its record.
    pub body: Arc<str>,
    pub failing_since: Option<Timestamp>,
    /// Deliveries that wait for their first attempt.
    pub pending: u64,
    pub retrying: u64,
    pub failed: u64,
    /// The commit time of the oldest event that is neither delivered nor given up.
    pub oldest_at: Option<Timestamp>,
}

/// A delivery and its endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointDelivery {
    pub queue: QueueId,
    pub scope: Scope,
    pub endpoint: EndpointId,
    pub delivery: StoredDelivery,
}

fn string_column(row: &SqliteRow, column: &str) -> Result<Arc<str>, DbError> {
    Ok(row.try_get::<&str, _>(column)?.into())
}

const FILTER_CONDITION: &str =
    "(?1 IS NULL OR q.plugin = ?1) AND (?2 IS NULL OR q.tenant = ?2) AND (?3 IS NULL OR q.endpoint = ?3)";

/// Returns the query of `search_deliveries`.
pub(super) fn search_sql(state: Option<DeliveryState>) -> String {
    let sql = union_query(state, |index, condition| {
        format!(
            "SELECT q.queue AS queue, q.plugin, q.tenant, q.endpoint, {DELIVERY_COLUMNS} \
             FROM queues q CROSS JOIN deliveries d INDEXED BY {index} ON d.queue = q.queue \
             CROSS JOIN events e ON e.seq = d.event \
             WHERE {FILTER_CONDITION} AND q.queue >= ?4 AND (q.queue > ?4 OR d.event < ?5) AND {condition}"
        )
    });
    format!("{sql} ORDER BY queue, event DESC LIMIT ?6")
}

impl Database {
    /// Returns endpoints in the order of their creation, after `after`.
    pub async fn search_endpoints(
        &self,
        filter: &EndpointFilter,
        after: QueueId,
        limit: u32,
    ) -> Result<Vec<EndpointRow>, DbError> {
        type Row = (i64, String, String, String, Option<i64>, i64, i64, i64, Option<i64>);
        let count = |state: i64| format!("(SELECT count(*) FROM deliveries WHERE queue = q.queue AND state = {state})");
        let first = |state: i64| {
            format!("coalesce((SELECT min(event) FROM deliveries WHERE queue = q.queue AND state = {state}), 1 << 62)")
        };
        let sql = format!(
            "SELECT q.queue, q.plugin, q.tenant, q.endpoint, q.failing_since, {}, {}, {}, \
             (SELECT at FROM events WHERE seq = min({}, {})) \
             FROM queues q WHERE {FILTER_CONDITION} AND q.queue > ?4 ORDER BY q.queue LIMIT ?5",
            count(0),
            count(1),
            count(3),
            first(0),
            first(1)
        );
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(&filter.plugin).bind(&filter.tenant).bind(&filter.endpoint);
        let mut search = self.begin_operator_search().await?;
        let rows: Vec<Row> = query.bind(after.0).bind(limit).fetch_all(search.connection()?).await?;
        search.finish();
        let mut found = Vec::with_capacity(rows.len());
        for (queue, plugin, tenant, id, failing_since, pending, retrying, failed, oldest_at) in rows {
            let Some(scope) = Scope::new(plugin.into(), tenant.into()) else { continue };
            let id = EndpointId::from(id.as_str());
            // The endpoint was removed meanwhile.
            let Some(body) = self.endpoint_body(&scope, &id).await? else { continue };
            found.push(EndpointRow {
                queue: QueueId(queue),
                scope,
                id,
                body: body.into(),
                failing_since: failing_since.map(unsigned).transpose()?,
                pending: unsigned(pending)?,
                retrying: unsigned(retrying)?,
                failed: unsigned(failed)?,
                oldest_at: oldest_at.map(unsigned).transpose()?,
            });
        }
        Ok(found)
    }

    async fn endpoint_body(&self, scope: &Scope, id: &EndpointId) -> Result<Option<String>, DbError> {
        let tables = self.catalogue().tables_of(ENDPOINTS);
        let Some((_, table)) = tables.into_iter().find(|(plugin, _)| plugin == scope.plugin()) else { return Ok(None) };
        let sql = format!("SELECT body FROM \"{table}\" WHERE tenant = ? AND id = ?");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scope.tenant().clone()).bind(id.as_str());
        Ok(query.fetch_optional(&*self.readers()).await?)
    }

    /// Returns deliveries in the order of their queues, the newest of each queue first, after (queue, event).
    pub async fn search_deliveries(
        &self,
        filter: &EndpointFilter,
        state: Option<DeliveryState>,
        (queue, event): (QueueId, EventSeq),
        limit: u32,
    ) -> Result<Vec<EndpointDelivery>, DbError> {
        let sql = search_sql(state);
        let query = sqlx::query(AssertSqlSafe(sql)).bind(&filter.plugin).bind(&filter.tenant).bind(&filter.endpoint);
        let mut search = self.begin_operator_search().await?;
        let rows = query.bind(queue.0).bind(event).bind(limit).fetch_all(search.connection()?).await?;
        search.finish();
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(scope) = Scope::new(string_column(row, "plugin")?, string_column(row, "tenant")?) else {
                continue;
            };
            let (queue, endpoint) = (QueueId(row.try_get("queue")?), string_column(row, "endpoint")?.into());
            found.push(EndpointDelivery { queue, scope, endpoint, delivery: parse_delivery(row)? });
        }
        Ok(found)
    }

    /// Returns the number of deliveries that a recovery since this time would deliver again.
    pub async fn count_given_up(&self, queue: QueueId, since: Timestamp) -> Result<u64, DbError> {
        let count = sqlx::query_scalar("SELECT count(*) FROM deliveries WHERE queue = ? AND state = 3 AND at >= ?");
        let mut search = self.begin_operator_search().await?;
        let found = count.bind(queue.0).bind(int(since)).fetch_one(search.connection()?).await?;
        search.finish();
        unsigned(found)
    }

    /// Returns the commit time of the oldest event that waits for its first attempt at an enabled endpoint.
    pub async fn oldest_pending(&self) -> Result<Option<Timestamp>, DbError> {
        let (mut oldest, mut search) = (None, self.begin_operator_search().await?);
        for (plugin, table) in self.catalogue().tables_of(ENDPOINTS) {
            let sql = format!(
                "SELECT min((SELECT at FROM events WHERE seq = \
                 (SELECT min(event) FROM deliveries WHERE queue = q.queue AND state = 0))) \
                 FROM queues q CROSS JOIN \"{table}\" e ON e.tenant = q.tenant AND e.id = q.endpoint WHERE q.plugin = ? \
                 AND json_extract(e.body, '$.enabled') AND json_extract(e.body, '$.disabled') IS NULL"
            );
            let at: Option<i64> =
                sqlx::query_scalar(AssertSqlSafe(sql)).bind(plugin).fetch_one(search.connection()?).await?;
            let at = at.map(unsigned).transpose()?;
            oldest = [oldest, at].into_iter().flatten().min();
        }
        search.finish();
        Ok(oldest)
    }
}
