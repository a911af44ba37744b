//! Creates the deliveries that exceeded the batch of their events, a bounded number in each transaction.
//!
//! Invariant: a transaction creates deliveries and advances the recorded position together, so that none is lost or
//! created twice, even if the process dies. Tenants alternate.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::Instant;

use crate::changes::scope::Scope;
use crate::db::apply::rows::{int, write_rows};
use crate::db::apply::{EventSeq, FAN_OUT_DELIVERIES, NewDelivery, QueueId, bind_delivery};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// The deliveries that one transaction created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedDeliveries {
    pub scope: Scope,
    /// The first new event of each endpoint that has one.
    pub queues: HashMap<QueueId, EventSeq>,
    /// Number of processed deliveries, including those of deleted events and removed endpoints, which are skipped.
    pub deliveries: usize,
    /// The time for which the transaction held the writer's connection.
    pub took: Duration,
}

/// A row of `fan_outs`, and its next deliveries.
struct Part {
    id: i64,
    scope: Scope,
    pairs: Vec<(EventSeq, QueueId)>,
    made: usize,
    is_last: bool,
}

impl Database {
    /// Creates at most `limit` deliveries of one tenant: the next tenant after `last` that has postponed events.
    /// Returns `None` if there is none.
    ///
    /// The tenant's later events are postponed as well until the call after the one that created its last delivery.
    pub async fn create_deliveries(
        &self,
        last: Option<&Scope>,
        limit: usize,
    ) -> Result<Option<CreatedDeliveries>, DbError> {
        if !self.has_fan_outs().await? {
            return Ok(None);
        }
        let last = last.cloned();
        self.write_lazily(move |write| Box::pin(async move { make_part(write.connection(), last, limit).await })).await
    }

    async fn has_fan_outs(&self) -> Result<bool, DbError> {
        let found: Option<i64> =
            sqlx::query_scalar("SELECT id FROM fan_outs LIMIT 1").fetch_optional(&*self.readers()).await?;
        Ok(found.is_some())
    }
}

async fn make_part(
    connection: &mut SqliteConnection,
    last: Option<Scope>,
    limit: usize,
) -> Result<Option<CreatedDeliveries>, DbError> {
    let started_at = Instant::now();
    // The caller has processed the previous result, so from here on the tenant's batches create their own deliveries
    // again.
    sqlx::query("DELETE FROM fan_outs WHERE done = 1").execute(&mut *connection).await?;
    let Some(part) = find_part(connection, last.as_ref(), limit).await? else { return Ok(None) };
    let rows = find_rows(connection, &part).await?;
    write_rows(connection, &FAN_OUT_DELIVERIES, &rows, bind_delivery).await?;
    sqlx::query("UPDATE fan_outs SET made = ?, done = ? WHERE id = ?")
        .bind(int(part.made as u64))
        .bind(part.is_last)
        .bind(part.id)
        .execute(connection)
        .await?;
    let mut queues = HashMap::new();
    for row in &rows {
        queues.entry(row.queue).or_insert(row.event);
    }
    let (deliveries, took) = (part.pairs.len(), started_at.elapsed());
    Ok(Some(CreatedDeliveries { scope: part.scope, queues, deliveries, took }))
}

async fn find_part(
    connection: &mut SqliteConnection,
    last: Option<&Scope>,
    limit: usize,
) -> Result<Option<Part>, DbError> {
    type Row = (i64, String, String, String, String, i64);
    let sql = "SELECT id, plugin, tenant, events, queues, made FROM fan_outs \
               WHERE done = 0 AND (plugin, tenant) > (?, ?) ORDER BY plugin, tenant, id LIMIT 1";
    let (plugin, tenant) = last.map_or(("", ""), |last| (&**last.plugin(), &**last.tenant()));
    let query = sqlx::query_as::<_, Row>(sql).bind(plugin.to_owned()).bind(tenant.to_owned());
    let row = match query.fetch_optional(&mut *connection).await? {
        None if last.is_some() => sqlx::query_as::<_, Row>(sql).bind("").bind("").fetch_optional(connection).await?,
        row => row,
    };
    let Some((id, plugin, tenant, events, queues, made)) = row else { return Ok(None) };
    let corrupt = |error: &dyn std::fmt::Display| DbError::Corrupt(format!("fan_outs, {id}: {error}"));
    let scope = Scope::new(plugin.into(), tenant.into()).ok_or_else(|| corrupt(&"no tenant"))?;
    let events: Vec<EventSeq> = serde_json::from_str(&events).map_err(|error| corrupt(&error))?;
    let queues: Vec<i64> = serde_json::from_str(&queues).map_err(|error| corrupt(&error))?;
    let made = usize::try_from(made).map_err(|error| corrupt(&error))?;
    let (completed_events, next_queue_index) = (made / queues.len().max(1), made % queues.len().max(1));
    let left =
        events.iter().skip(completed_events).flat_map(|event| queues.iter().map(|queue| (*event, QueueId(*queue))));
    let pairs: Vec<(EventSeq, QueueId)> = left.skip(next_queue_index).take(limit).collect();
    let made = made + pairs.len();
    Ok(Some(Part { id, scope, pairs, made, is_last: made >= events.len() * queues.len() }))
}

/// Returns the rows to insert, without events deleted by retention and without removed endpoints.
async fn find_rows(connection: &mut SqliteConnection, part: &Part) -> Result<Vec<NewDelivery>, DbError> {
    let mut seqs: Vec<EventSeq> = part.pairs.iter().map(|(event, _)| *event).collect();
    seqs.dedup();
    let times: Vec<(EventSeq, i64)> =
        sqlx::query_as("SELECT seq, at FROM events WHERE seq IN (SELECT value FROM json_each(?))")
            .bind(serde_json::Value::from(seqs).to_string())
            .fetch_all(&mut *connection)
            .await?;
    let times: HashMap<EventSeq, i64> = times.into_iter().collect();
    let queues: HashSet<i64> = part.pairs.iter().map(|(_, queue)| queue.0).collect();
    let queues: Vec<i64> =
        sqlx::query_scalar("SELECT queue FROM queues WHERE queue IN (SELECT value FROM json_each(?))")
            .bind(serde_json::Value::from_iter(queues).to_string())
            .fetch_all(connection)
            .await?;
    let queues: HashSet<QueueId> = queues.into_iter().map(QueueId).collect();
    let mut rows = Vec::with_capacity(part.pairs.len());
    for (event, queue) in &part.pairs {
        if let Some(at) = times.get(event).filter(|_| queues.contains(queue)) {
            rows.push(NewDelivery { queue: *queue, event: *event, at: unsigned(*at)? });
        }
    }
    Ok(rows)
}
