//! What a batch sends out: numbers its events, finds the endpoints that want them, and makes one delivery for each, in the
//! transaction of the event itself.
//!
//! Owns the subscriptions of the tenants that emitted lately, as the last batch left them; forgotten whenever a batch
//! fails. Invariants: an endpoint gets what was accepted after it, and nothing that was accepted before. One batch makes a
//! bounded number of deliveries, whatever it holds: `fan_out` notes the others, which are made after it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::rows::{ChunkedSql, Query, int};
use super::script::Script;
use super::{AcceptedChanges, Batch};
use crate::changes::change_set::{DeliveryCommand, Event, RecordWrite, Version};
use crate::changes::endpoint::Endpoint;
use crate::changes::host_collections::{ENDPOINTS, is_host_collection};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::model::catalogue::Catalogue;
use crate::db::records::unsigned;
use crate::db::{Database, DbError};
use crate::limits::{BATCH_RECOVERED_MAX, SUBSCRIPTIONS_CACHED};

mod fan_out;
mod recovery;

pub(in crate::db) use fan_out::FAN_OUT_DELIVERIES;
use fan_out::FanOuts;
#[cfg(test)]
pub(in crate::db) use recovery::GIVEN_UP;
pub(in crate::db) use recovery::{Recovery, recover_part};

/// The number of an endpoint: see `migrations/0002_deliveries.sql`.
pub type Lane = i64;

/// The number of an event, in the order of commits.
pub type EventSeq = i64;

/// What became durable with one batch and concerns the outside world.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub events: Vec<Arc<StoredEvent>>,
    pub host_records: Vec<HostRecord>,
    /// Lanes of which deliveries are to be made again: the database knows which.
    pub ordered: Vec<Lane>,
    /// Some deliveries are still to be made (`Database::make_deliveries`), or to be made again
    /// (`Database::recover_deliveries`).
    pub has_fan_outs: bool,
}

/// An event as it is stored, and the lanes that it goes to.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub seq: EventSeq,
    pub id: Arc<str>,
    pub scope: Scope,
    pub event_type: Arc<str>,
    pub subject: Arc<str>,
    /// The exact bytes that leave the host.
    pub body: Arc<str>,
    pub at: Timestamp,
    /// The endpoints for which the batch of the event made a delivery.
    pub lanes: Vec<Lane>,
    /// A test event: only for its endpoint, in no feed.
    pub is_test: bool,
    /// Deliveries and calls between hosts that led to it.
    pub hops: u8,
}

/// A record of one of the host's own collections that this batch wrote; of several writes of one, each.
#[derive(Clone, Debug)]
pub struct HostRecord {
    pub scope: Scope,
    pub collection: Arc<str>,
    pub id: Arc<str>,
    pub version: Version,
    /// `None`: removed.
    pub body: Option<Arc<str>>,
    /// Of an endpoint.
    pub lane: Option<Lane>,
    /// Of an endpoint that was read at a start: when it began to do nothing but fail.
    pub failing_since: Option<Timestamp>,
}

impl Outgoing {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.host_records.is_empty() && self.ordered.is_empty() && !self.has_fan_outs
    }
}

/// Who gets what, as the last batch left it.
#[derive(Default)]
pub(super) struct Outbox {
    scopes: HashMap<Scope, Vec<Subscriber>>,
    next_event: Option<EventSeq>,
    /// Tenants with deliveries that are still to be made. What they emit queues behind these, so that each endpoint gets
    /// its events in their sequence.
    behind: Option<HashSet<Scope>>,
}

struct Subscriber {
    lane: Lane,
    id: Arc<str>,
    endpoint: Endpoint,
}

pub(in crate::db) struct NewDelivery {
    pub lane: Lane,
    pub event: EventSeq,
    pub at: Timestamp,
}

static EVENTS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "events (seq, id, plugin, tenant, type, subject, body, version, at, only, hops)",
        "(?,?,?,?,?,?,?,?,?,?,?)",
        "",
    )
});

static DELIVERIES: LazyLock<ChunkedSql> = LazyLock::new(|| ChunkedSql::insert(DELIVERY_COLUMNS, NEW_DELIVERY, ""));

const DELIVERY_COLUMNS: &str = "deliveries (lane, event, state, attempts, due, at)";
const NEW_DELIVERY: &str = "(?,?,0,0,NULL,?)";

impl Outbox {
    pub fn clear(&mut self) {
        self.scopes.clear();
        self.next_event = None;
        self.behind = None;
    }

    /// Before anything of the batch is written: who subscribes at this moment.
    pub async fn load(
        &mut self,
        connection: &mut SqliteConnection,
        batch: &Batch,
        catalogue: &Catalogue,
    ) -> Result<(), DbError> {
        if self.scopes.len() > SUBSCRIPTIONS_CACHED {
            self.scopes.clear();
        }
        for AcceptedChanges { changes, .. } in &batch.changes {
            let concerned = !changes.events.is_empty()
                || !changes.deliveries.is_empty()
                || changes.records.iter().any(|record| &*record.collection == ENDPOINTS);
            if concerned && !self.scopes.contains_key(&changes.scope) {
                let subscribers = load_subscribers(connection, &changes.scope, catalogue).await?;
                self.scopes.insert(changes.scope.clone(), subscribers);
            }
        }
        self.load_behind(connection, batch).await
    }

    /// The last statements of the batch: events in the order in which their change sets were accepted, and their deliveries.
    pub async fn write<'b>(&mut self, script: &mut Script<'b>, batch: &'b Batch) -> Result<Outgoing, DbError> {
        let mut next = match self.next_event {
            Some(next) => next,
            None => last_event(script.connection().await?).await?.saturating_add(1),
        };
        let mut outgoing = Outgoing::default();
        let mut fan_outs = FanOuts::new(self.behind.take().unwrap_or_default());
        let mut rows: Vec<(&AcceptedChanges, &Event, EventSeq)> = Vec::new();
        for accepted in &batch.changes {
            for record in &accepted.changes.records {
                if is_host_collection(&record.collection) {
                    outgoing.host_records.push(self.host_record(script, accepted, record).await?);
                }
            }
            for event in &accepted.changes.events {
                rows.push((accepted, event, next));
                let mut stored = self.stored(accepted, event, next);
                fan_outs.admit(&mut stored);
                outgoing.events.push(Arc::new(stored));
                next = next.saturating_add(1);
            }
        }
        script.add(&EVENTS, rows, bind_event);
        script.add(&DELIVERIES, deliveries_of(&outgoing.events), bind_delivery);
        outgoing.has_fan_outs = fan_outs.write(script);
        let mut recovers_max = BATCH_RECOVERED_MAX;
        for AcceptedChanges { changes, .. } in &batch.changes {
            for command in &changes.deliveries {
                let lane = match (command, self.find_lane(&changes.scope, command)) {
                    (_, None) => None,
                    (DeliveryCommand::Redeliver { event, .. }, Some(lane)) => {
                        redeliver(script.connection().await?, &changes.scope, (lane, event), changes.now).await?
                    }
                    (DeliveryCommand::Recover { since, .. }, Some(lane)) => {
                        let recovery = Recovery { lane, since: *since, ordered_at: changes.now, after: 0 };
                        let part = recovery::begin(script.connection().await?, recovery, recovers_max).await?;
                        recovers_max -= part.seen;
                        outgoing.has_fan_outs |= part.rest.is_some();
                        (part.recovered > 0).then_some(lane)
                    }
                };
                outgoing.ordered.extend(lane);
            }
        }
        self.next_event = Some(next);
        self.behind = Some(fan_outs.into_behind());
        Ok(outgoing)
    }

    /// Keeps the subscriptions true while the batch goes on.
    async fn host_record(
        &mut self,
        script: &mut Script<'_>,
        accepted: &AcceptedChanges,
        record: &RecordWrite,
    ) -> Result<HostRecord, DbError> {
        let scope = &accepted.changes.scope;
        let body = record.after.as_ref().map(|after| after.body.clone());
        let lane = match &*record.collection {
            ENDPOINTS => {
                let connection = script.connection().await?;
                Some(self.change_endpoint(connection, scope, &record.id, body.as_deref()).await?)
            }
            _ => None,
        };
        let (id, version) = (record.id.clone(), accepted.version);
        Ok(HostRecord {
            scope: scope.clone(),
            collection: record.collection.clone(),
            id,
            version,
            body,
            lane,
            failing_since: None,
        })
    }

    /// Opens, changes or closes a lane; 0 for one that never was.
    async fn change_endpoint(
        &mut self,
        connection: &mut SqliteConnection,
        scope: &Scope,
        id: &Arc<str>,
        body: Option<&str>,
    ) -> Result<Lane, DbError> {
        let subscribers = self.scopes.entry(scope.clone()).or_default();
        let place = subscribers.iter().position(|subscriber| subscriber.id == *id);
        match (body, place) {
            (Some(body), Some(place)) => {
                let endpoint = parse(id, body)?;
                let Some(subscriber) = subscribers.get_mut(place) else { return Ok(0) };
                let is_enabled_again = endpoint.is_active() && !subscriber.endpoint.is_active();
                subscriber.endpoint = endpoint;
                let lane = subscriber.lane;
                if is_enabled_again {
                    // The endpoint starts without a history of failures.
                    let clear = sqlx::query("UPDATE lanes SET failing_since = NULL WHERE lane = ?");
                    clear.bind(lane).execute(connection).await?;
                }
                Ok(lane)
            }
            (Some(body), None) => {
                let lane: Lane =
                    sqlx::query_scalar("INSERT INTO lanes (plugin, tenant, endpoint) VALUES (?, ?, ?) RETURNING lane")
                        .bind(scope.plugin().clone())
                        .bind(scope.tenant().clone())
                        .bind(id.clone())
                        .fetch_one(connection)
                        .await?;
                subscribers.push(Subscriber { lane, id: id.clone(), endpoint: parse(id, body)? });
                Ok(lane)
            }
            (None, Some(place)) => {
                let lane = subscribers.remove(place).lane;
                sqlx::query("DELETE FROM lanes WHERE lane = ?").bind(lane).execute(connection).await?;
                Ok(lane)
            }
            (None, None) => Ok(0),
        }
    }

    fn stored(&self, accepted: &AcceptedChanges, event: &Event, seq: EventSeq) -> StoredEvent {
        let changes = &accepted.changes;
        let subscribers = self.scopes.get(&changes.scope).map_or(&[][..], Vec::as_slice);
        let wants = |subscriber: &&Subscriber| match &event.only {
            Some(only) => subscriber.id == *only,
            None => subscriber.endpoint.wants(&event.event_type, &event.subject),
        };
        StoredEvent {
            seq,
            id: event.id.clone(),
            scope: changes.scope.clone(),
            event_type: event.event_type.clone(),
            subject: event.subject.clone(),
            body: event.body.clone(),
            at: changes.now,
            lanes: subscribers.iter().filter(wants).map(|subscriber| subscriber.lane).collect(),
            is_test: event.only.is_some(),
            hops: event.hops,
        }
    }

    /// `None` where there is no such endpoint any more.
    fn find_lane(&self, scope: &Scope, command: &DeliveryCommand) -> Option<Lane> {
        let (DeliveryCommand::Redeliver { endpoint, .. } | DeliveryCommand::Recover { endpoint, .. }) = command;
        let subscribers = self.scopes.get(scope).map_or(&[][..], Vec::as_slice);
        subscribers.iter().find(|known| known.id == *endpoint).map(|known| known.lane)
    }
}

/// Returns the lane if it has something to do again. An event that the endpoint did not subscribe to at the time gets its first
/// delivery.
async fn redeliver(
    connection: &mut SqliteConnection,
    scope: &Scope,
    (lane, event): (Lane, &Arc<str>),
    now: Timestamp,
) -> Result<Option<Lane>, DbError> {
    let sql = "INSERT INTO deliveries (lane, event, state, attempts, due, at) \
               SELECT ?1, seq, 1, 0, ?2, ?2 FROM events WHERE id = ?3 AND plugin = ?4 AND tenant = ?5 \
               ON CONFLICT DO UPDATE SET state = 1, due = excluded.due, at = excluded.at";
    let done = sqlx::query(sql)
        .bind(lane)
        .bind(int(now))
        .bind(event.clone())
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .execute(connection)
        .await?;
    Ok((done.rows_affected() > 0).then_some(lane))
}

fn bind_event(query: Query, (accepted, event, seq): &(&AcceptedChanges, &Event, EventSeq)) -> Query {
    let changes = &accepted.changes;
    query
        .bind(*seq)
        .bind(event.id.clone())
        .bind(changes.scope.plugin().clone())
        .bind(changes.scope.tenant().clone())
        .bind(event.event_type.clone())
        .bind(event.subject.clone())
        .bind(event.body.clone())
        .bind(int(accepted.version))
        .bind(int(changes.now))
        .bind(event.only.clone())
        .bind(event.hops)
}

fn deliveries_of(events: &[Arc<StoredEvent>]) -> Vec<NewDelivery> {
    let deliveries = events
        .iter()
        .flat_map(|event| event.lanes.iter().map(|lane| NewDelivery { lane: *lane, event: event.seq, at: event.at }));
    deliveries.collect()
}

pub(in crate::db) fn bind_delivery(query: Query, row: &NewDelivery) -> Query {
    query.bind(row.lane).bind(row.event).bind(int(row.at))
}

async fn last_event(connection: &mut SqliteConnection) -> Result<EventSeq, DbError> {
    let last: Option<EventSeq> =
        sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetch_optional(connection).await?;
    Ok(last.unwrap_or(0))
}

async fn load_subscribers(
    connection: &mut SqliteConnection,
    scope: &Scope,
    catalogue: &Catalogue,
) -> Result<Vec<Subscriber>, DbError> {
    let table = format!("{}_{ENDPOINTS}", scope.plugin());
    if catalogue.find(&table).is_none() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT l.lane, e.id, e.body FROM \"{table}\" e \
         CROSS JOIN lanes l ON l.plugin = ?1 AND l.tenant = e.tenant AND l.endpoint = e.id WHERE e.tenant = ?2 ORDER BY l.lane"
    );
    let rows: Vec<(Lane, String, String)> = sqlx::query_as(AssertSqlSafe(sql))
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .fetch_all(connection)
        .await?;
    let subscriber =
        |(lane, id, body): (Lane, String, String)| Ok(Subscriber { lane, endpoint: parse(&id, &body)?, id: id.into() });
    rows.into_iter().map(subscriber).collect()
}

fn parse(id: &str, body: &str) -> Result<Endpoint, DbError> {
    Endpoint::parse(body).map_err(|error| DbError::Corrupt(format!("endpoint {id}: {error}")))
}

impl Database {
    /// All endpoints of all tenants, with their lanes: for a start.
    pub async fn list_endpoints(&self) -> Result<Vec<HostRecord>, DbError> {
        let (mut found, mut search) = (Vec::new(), self.begin_survey().await?);
        for (plugin, table) in self.catalogue().tables_of(ENDPOINTS) {
            let sql = format!(
                "SELECT l.lane, l.failing_since, e.tenant, e.id, e.version, e.body FROM \"{table}\" e \
                 JOIN lanes l ON l.plugin = ?1 AND l.tenant = e.tenant AND l.endpoint = e.id ORDER BY l.lane"
            );
            let rows: Vec<(Lane, Option<i64>, String, String, i64, String)> =
                sqlx::query_as(AssertSqlSafe(sql)).bind(plugin.clone()).fetch_all(search.connection()?).await?;
            for (lane, failing_since, tenant, id, version, body) in rows {
                let Some(scope) = Scope::new(plugin.clone(), tenant.into()) else { continue };
                let version = unsigned(version)?;
                let failing_since = failing_since.map(unsigned).transpose()?;
                let (collection, body) = (Arc::from(ENDPOINTS), Some(Arc::from(body)));
                found.push(HostRecord {
                    scope,
                    collection,
                    id: id.into(),
                    version,
                    body,
                    lane: Some(lane),
                    failing_since,
                });
            }
        }
        search.finish();
        Ok(found)
    }
}
