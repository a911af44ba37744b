//! Makes the deliveries that were too many for the batch of their events, a bounded number in each transaction.
//!
//! Invariant: a delivery is made together with the note that it was made, so that none is lost or made twice, whenever the
//! process ends. Tenants take turns.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::SqliteConnection;
use tokio::time::Instant;

use crate::changes::scope::Scope;
use crate::db::apply::rows::{int, write_rows};
use crate::db::apply::{EventSeq, FAN_OUT_DELIVERIES, Lane, NewDelivery, bind_delivery};
use crate::db::records::unsigned;
use crate::db::{Database, DbError};

/// What one transaction made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeDeliveries {
    pub scope: Scope,
    /// The first new event of each endpoint that has one.
    pub lanes: HashMap<Lane, EventSeq>,
    pub deliveries: usize,
    /// How long it held the writer's connection.
    pub took: Duration,
}

/// One row of the table, and the part of it that comes next.
struct Part {
    id: i64,
    scope: Scope,
    pairs: Vec<(EventSeq, Lane)>,
    made: usize,
    is_last: bool,
}

impl Database {
    /// Makes at most `limit` deliveries of one tenant, the next one after `last` that has any to make. `None` where none has.
    /// A tenant's later events queue behind its deliveries until the call after the one that made the last of them.
    pub async fn make_deliveries(&self, last: Option<&Scope>, limit: usize) -> Result<Option<MadeDeliveries>, DbError> {
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
) -> Result<Option<MadeDeliveries>, DbError> {
    let begun = Instant::now();
    // The caller has passed on what it was told of them: from here on the tenant's batches make their own deliveries again.
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
    let mut lanes = HashMap::new();
    for row in &rows {
        lanes.entry(row.lane).or_insert(row.event);
    }
    let (deliveries, took) = (part.pairs.len(), begun.elapsed());
    Ok(Some(MadeDeliveries { scope: part.scope, lanes, deliveries, took }))
}

async fn find_part(
    connection: &mut SqliteConnection,
    last: Option<&Scope>,
    limit: usize,
) -> Result<Option<Part>, DbError> {
    type Row = (i64, String, String, String, String, i64);
    let sql = "SELECT id, plugin, tenant, events, lanes, made FROM fan_outs \
               WHERE done = 0 AND (plugin, tenant) > (?, ?) ORDER BY plugin, tenant, id LIMIT 1";
    let (plugin, tenant) = last.map_or(("", ""), |last| (&**last.plugin(), &**last.tenant()));
    let query = sqlx::query_as::<_, Row>(sql).bind(plugin.to_owned()).bind(tenant.to_owned());
    let row = match query.fetch_optional(&mut *connection).await? {
        None if last.is_some() => sqlx::query_as::<_, Row>(sql).bind("").bind("").fetch_optional(connection).await?,
        row => row,
    };
    let Some((id, plugin, tenant, events, lanes, made)) = row else { return Ok(None) };
    let corrupt = |error: &dyn std::fmt::Display| DbError::Corrupt(format!("fan_outs, {id}: {error}"));
    let scope = Scope::new(plugin.into(), tenant.into()).ok_or_else(|| corrupt(&"no tenant"))?;
    let events: Vec<EventSeq> = serde_json::from_str(&events).map_err(|error| corrupt(&error))?;
    let lanes: Vec<Lane> = serde_json::from_str(&lanes).map_err(|error| corrupt(&error))?;
    let made = usize::try_from(made).map_err(|error| corrupt(&error))?;
    let (events_made, of_next) = (made / lanes.len().max(1), made % lanes.len().max(1));
    let left = events.iter().skip(events_made).flat_map(|event| lanes.iter().map(|lane| (*event, *lane)));
    let pairs: Vec<(EventSeq, Lane)> = left.skip(of_next).take(limit).collect();
    let made = made + pairs.len();
    Ok(Some(Part { id, scope, pairs, made, is_last: made >= events.len() * lanes.len() }))
}

/// Without events that retention has taken, and without endpoints that were removed meanwhile.
async fn find_rows(connection: &mut SqliteConnection, part: &Part) -> Result<Vec<NewDelivery>, DbError> {
    let mut seqs: Vec<EventSeq> = part.pairs.iter().map(|(event, _)| *event).collect();
    seqs.dedup();
    let times: Vec<(EventSeq, i64)> =
        sqlx::query_as("SELECT seq, at FROM events WHERE seq IN (SELECT value FROM json_each(?))")
            .bind(serde_json::Value::from(seqs).to_string())
            .fetch_all(&mut *connection)
            .await?;
    let times: HashMap<EventSeq, i64> = times.into_iter().collect();
    let lanes: HashSet<Lane> = part.pairs.iter().map(|(_, lane)| *lane).collect();
    let lanes: Vec<Lane> = sqlx::query_scalar("SELECT lane FROM lanes WHERE lane IN (SELECT value FROM json_each(?))")
        .bind(serde_json::Value::from_iter(lanes).to_string())
        .fetch_all(connection)
        .await?;
    let lanes: HashSet<Lane> = lanes.into_iter().collect();
    let mut rows = Vec::with_capacity(part.pairs.len());
    for (event, lane) in &part.pairs {
        if let Some(at) = times.get(event).filter(|_| lanes.contains(lane)) {
            rows.push(NewDelivery { lane: *lane, event: *event, at: unsigned(*at)? });
        }
    }
    Ok(rows)
}
