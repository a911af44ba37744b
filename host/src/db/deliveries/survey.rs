//! What an operator sees: endpoints and deliveries of all plugins and tenants, page by page.
//!
//! Every question goes along an index and stops at its limit, so that looking costs those who work nothing.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::list::{DELIVERY_COLUMNS, delivery_of, union_of};
use super::{DeliveryState, StoredDelivery};
use crate::changes::host_collections::ENDPOINTS;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::apply::rows::int;
use crate::db::apply::{EventSeq, Lane};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// Which endpoints; what is not named is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointFilter {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub endpoint: Option<String>,
}

/// An endpoint, and what it has waiting.
#[derive(Clone, Debug)]
pub struct EndpointRow {
    pub lane: Lane,
    pub scope: Scope,
    pub id: Arc<str>,
    /// The body of its record.
    pub body: Arc<str>,
    pub failing_since: Option<Timestamp>,
    /// Not tried yet.
    pub pending: u64,
    pub retrying: u64,
    pub failed: u64,
    /// When the oldest event was committed that was neither delivered nor given up.
    pub oldest_at: Option<Timestamp>,
}

/// A delivery, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyedDelivery {
    pub lane: Lane,
    pub scope: Scope,
    pub endpoint: Arc<str>,
    pub delivery: StoredDelivery,
}

fn text(row: &SqliteRow, column: &str) -> Result<Arc<str>, DbError> {
    Ok(row.try_get::<&str, _>(column)?.into())
}

const OF_FILTER: &str =
    "(?1 IS NULL OR l.plugin = ?1) AND (?2 IS NULL OR l.tenant = ?2) AND (?3 IS NULL OR l.endpoint = ?3)";

/// The queries of `survey_deliveries`.
pub(super) fn survey_sql(state: Option<DeliveryState>) -> String {
    let sql = union_of(state, |index, condition| {
        format!(
            "SELECT l.lane AS lane, l.plugin, l.tenant, l.endpoint, {DELIVERY_COLUMNS} \
             FROM lanes l CROSS JOIN deliveries d INDEXED BY {index} ON d.lane = l.lane \
             CROSS JOIN events e ON e.seq = d.event \
             WHERE {OF_FILTER} AND l.lane >= ?4 AND (l.lane > ?4 OR d.event < ?5) AND {condition}"
        )
    });
    format!("{sql} ORDER BY lane, event DESC LIMIT ?6")
}

impl Database {
    /// In the order in which they were made, those after `after`.
    pub async fn survey_endpoints(
        &self,
        filter: &EndpointFilter,
        after: Lane,
        limit: u32,
    ) -> Result<Vec<EndpointRow>, DbError> {
        type Row = (Lane, String, String, String, Option<i64>, i64, i64, i64, Option<i64>);
        let count = |state: i64| format!("(SELECT count(*) FROM deliveries WHERE lane = l.lane AND state = {state})");
        let first = |state: i64| {
            format!("coalesce((SELECT min(event) FROM deliveries WHERE lane = l.lane AND state = {state}), 1 << 62)")
        };
        let sql = format!(
            "SELECT l.lane, l.plugin, l.tenant, l.endpoint, l.failing_since, {}, {}, {}, \
             (SELECT at FROM events WHERE seq = min({}, {})) \
             FROM lanes l WHERE {OF_FILTER} AND l.lane > ?4 ORDER BY l.lane LIMIT ?5",
            count(0),
            count(1),
            count(3),
            first(0),
            first(1)
        );
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(&filter.plugin).bind(&filter.tenant).bind(&filter.endpoint);
        let mut search = self.begin_survey().await?;
        let rows: Vec<Row> = query.bind(after).bind(limit).fetch_all(search.connection()?).await?;
        search.finish();
        let mut found = Vec::with_capacity(rows.len());
        for (lane, plugin, tenant, id, failing_since, pending, retrying, failed, oldest_at) in rows {
            let Some(scope) = Scope::new(plugin.into(), tenant.into()) else { continue };
            // Removed just now.
            let Some(body) = self.endpoint_body(&scope, &id).await? else { continue };
            found.push(EndpointRow {
                lane,
                scope,
                id: id.into(),
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

    async fn endpoint_body(&self, scope: &Scope, id: &str) -> Result<Option<String>, DbError> {
        let tables = self.catalogue().tables_of(ENDPOINTS);
        let Some((_, table)) = tables.into_iter().find(|(plugin, _)| plugin == scope.plugin()) else { return Ok(None) };
        let sql = format!("SELECT body FROM \"{table}\" WHERE tenant = ? AND id = ?");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scope.tenant().clone()).bind(id);
        Ok(query.fetch_optional(&*self.readers()).await?)
    }

    /// Endpoint by endpoint, of each the newest first; those after (lane, event).
    pub async fn survey_deliveries(
        &self,
        filter: &EndpointFilter,
        state: Option<DeliveryState>,
        after: (Lane, EventSeq),
        limit: u32,
    ) -> Result<Vec<SurveyedDelivery>, DbError> {
        let sql = survey_sql(state);
        let query = sqlx::query(AssertSqlSafe(sql)).bind(&filter.plugin).bind(&filter.tenant).bind(&filter.endpoint);
        let mut search = self.begin_survey().await?;
        let rows = query.bind(after.0).bind(after.1).bind(limit).fetch_all(search.connection()?).await?;
        search.finish();
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(scope) = Scope::new(text(row, "plugin")?, text(row, "tenant")?) else { continue };
            let (lane, endpoint) = (row.try_get("lane")?, text(row, "endpoint")?);
            found.push(SurveyedDelivery { lane, scope, endpoint, delivery: delivery_of(row)? });
        }
        Ok(found)
    }

    /// What `recover` would deliver again.
    pub async fn count_given_up(&self, lane: Lane, since: Timestamp) -> Result<u64, DbError> {
        let count = sqlx::query_scalar("SELECT count(*) FROM deliveries WHERE lane = ? AND state = 3 AND at >= ?");
        let mut search = self.begin_survey().await?;
        let found = count.bind(lane).bind(int(since)).fetch_one(search.connection()?).await?;
        search.finish();
        unsigned(found)
    }

    /// When the oldest event was committed that waits for its first attempt at an endpoint that is enabled.
    pub async fn oldest_pending(&self) -> Result<Option<Timestamp>, DbError> {
        let (mut oldest, mut search) = (None, self.begin_survey().await?);
        for (plugin, table) in self.catalogue().tables_of(ENDPOINTS) {
            let sql = format!(
                "SELECT min((SELECT at FROM events WHERE seq = \
                 (SELECT min(event) FROM deliveries WHERE lane = l.lane AND state = 0))) \
                 FROM lanes l CROSS JOIN \"{table}\" e ON e.tenant = l.tenant AND e.id = l.endpoint WHERE l.plugin = ? \
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
