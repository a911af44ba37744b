//! The outbox of a batch: numbers its events, finds the endpoints that subscribe to them, and creates a delivery for
//! each in the transaction of the event.
//!
//! Owns a cache of the subscriptions of tenants that emitted recently, as of the last batch. The cache is cleared
//! whenever a batch fails. Invariants: an endpoint receives the events of its subscription that were accepted after it,
//! and none that were accepted before, except by redelivery. A batch creates a bounded number of deliveries. `fan_out`
//! records the remaining ones, which are created after the batch.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::rows::{ChunkedSql, Query, int};
use super::script::Script;
use super::{AcceptedChanges, Batch};
use crate::changes::change_set::{DeliveryCommand, Event, RecordWrite, Version};
use crate::changes::endpoint::{Endpoint, EndpointId, QueueId};
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

/// The number of an event, in the order of commits.
pub type EventSeq = i64;

/// The durable changes of one batch that concern deliveries and streams.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub events: Vec<Arc<StoredEvent>>,
    pub host_records: Vec<HostRecord>,
    /// Queues with deliveries that are due again. Their rows in the database are already updated.
    pub redelivered: Vec<QueueId>,
    /// True if deliveries remain to be created (`Database::create_deliveries`) or recovered
    /// (`Database::recover_deliveries`).
    pub has_fan_outs: bool,
}

/// A stored event and its queues.
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
    /// The queues for which the batch of the event created a delivery.
    pub queues: Vec<QueueId>,
    /// True for a test event, which is delivered to one endpoint and appears in no feed.
    pub is_test: bool,
    /// Number of deliveries and calls between hosts that led to the event.
    pub hops: u8,
}

/// A record of a host collection that a batch wrote, or an endpoint from `Database::list_endpoints`. A record that a
/// batch wrote several times occurs several times.
#[derive(Clone, Debug)]
pub struct HostRecord {
    pub scope: Scope,
    pub collection: Arc<str>,
    pub id: Arc<str>,
    pub version: Version,
    /// `None`: removed.
    pub body: Option<Arc<str>>,
    /// The queue of an endpoint. `None` for other records, and for the removal of an endpoint that never existed.
    pub queue: Option<QueueId>,
    /// Only set by `Database::list_endpoints`: the time since which all attempts of the endpoint have failed.
    pub failing_since: Option<Timestamp>,
}

impl Outgoing {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.host_records.is_empty() && self.redelivered.is_empty() && !self.has_fan_outs
    }
}

/// The subscriptions of recent tenants, as of the last batch.
#[derive(Default)]
pub(super) struct Outbox {
    scopes: HashMap<Scope, Vec<Subscriber>>,
    /// The number of the next event. `None` if it must be loaded.
    next_event: Option<EventSeq>,
    /// Tenants with deliveries that remain to be created. Their later events queue behind these, so that each endpoint
    /// receives its events in their sequence. `None` if the tenants must be loaded.
    backlogged: Option<HashSet<Scope>>,
}

struct Subscriber {
    queue: QueueId,
    id: EndpointId,
    endpoint: Endpoint,
}

pub(in crate::db) struct NewDelivery {
    pub queue: QueueId,
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

const DELIVERY_COLUMNS: &str = "deliveries (queue, event, state, attempts, due, at)";
const NEW_DELIVERY: &str = "(?,?,0,0,NULL,?)";

impl Outbox {
    pub fn clear(&mut self) {
        self.scopes.clear();
        self.next_event = None;
        self.backlogged = None;
    }

    /// Loads the subscriptions of the batch's tenants. Must precede all writes of the batch.
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
            let uses_subscriptions = !changes.events.is_empty()
                || !changes.deliveries.is_empty()
                || changes.records.iter().any(|record| &*record.collection == ENDPOINTS);
            if uses_subscriptions && !self.scopes.contains_key(&changes.scope) {
                let subscribers = load_subscribers(connection, &changes.scope, catalogue).await?;
                self.scopes.insert(changes.scope.clone(), subscribers);
            }
        }
        self.load_backlogged(connection, batch).await
    }

    /// Writes the events, in the order in which their change sets were accepted, and all deliveries of the batch. These
    /// are the last statements of the batch.
    pub async fn write<'b>(&mut self, script: &mut Script<'b>, batch: &'b Batch) -> Result<Outgoing, DbError> {
        let mut next = match self.next_event {
            Some(next) => next,
            None => last_event(script.connection().await?).await?.saturating_add(1),
        };
        let mut outgoing = Outgoing::default();
        let mut fan_outs = FanOuts::new(self.backlogged.take().unwrap_or_default());
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
                let queue = match (command, self.find_queue(&changes.scope, command)) {
                    (_, None) => None,
                    (DeliveryCommand::Redeliver { event, .. }, Some(queue)) => {
                        redeliver(script.connection().await?, &changes.scope, (queue, event), changes.now).await?
                    }
                    (DeliveryCommand::Recover { since, .. }, Some(queue)) => {
                        let recovery = Recovery { queue, since: *since, due_at: changes.now, after: 0 };
                        let part = recovery::begin(script.connection().await?, recovery, recovers_max).await?;
                        recovers_max -= part.examined;
                        outgoing.has_fan_outs |= part.remaining.is_some();
                        (part.recovered > 0).then_some(queue)
                    }
                };
                outgoing.redelivered.extend(queue);
            }
        }
        self.next_event = Some(next);
        self.backlogged = Some(fan_outs.into_backlogged());
        Ok(outgoing)
    }

    /// Converts a written record, and updates the cached subscriptions if it is an endpoint.
    async fn host_record(
        &mut self,
        script: &mut Script<'_>,
        accepted: &AcceptedChanges,
        record: &RecordWrite,
    ) -> Result<HostRecord, DbError> {
        let scope = &accepted.changes.scope;
        let body = record.after.as_ref().map(|after| after.body.clone());
        let queue = match &*record.collection {
            ENDPOINTS => {
                let connection = script.connection().await?;
                self.change_endpoint(connection, scope, &record.id.clone().into(), body.as_deref()).await?
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
            queue,
            failing_since: None,
        })
    }

    /// Creates, changes or deletes the queue of an endpoint. Returns its number, or `None` if the endpoint never
    /// existed.
    async fn change_endpoint(
        &mut self,
        connection: &mut SqliteConnection,
        scope: &Scope,
        id: &EndpointId,
        body: Option<&str>,
    ) -> Result<Option<QueueId>, DbError> {
        let subscribers = self.scopes.entry(scope.clone()).or_default();
        let index = subscribers.iter().position(|subscriber| subscriber.id == *id);
        match (body, index) {
            (Some(body), Some(index)) => {
                let endpoint = parse(id, body)?;
                let Some(subscriber) = subscribers.get_mut(index) else { return Ok(None) };
                let is_enabled_again = endpoint.is_active() && !subscriber.endpoint.is_active();
                subscriber.endpoint = endpoint;
                let queue = subscriber.queue;
                if is_enabled_again {
                    // The endpoint starts without a history of failures.
                    let clear = sqlx::query("UPDATE queues SET failing_since = NULL WHERE queue = ?");
                    clear.bind(queue.0).execute(connection).await?;
                }
                Ok(Some(queue))
            }
            (Some(body), None) => {
                let queue: i64 = sqlx::query_scalar(
                    "INSERT INTO queues (plugin, tenant, endpoint) VALUES (?, ?, ?) RETURNING queue",
                )
                .bind(scope.plugin().clone())
                .bind(scope.tenant().clone())
                .bind(id.to_string())
                .fetch_one(connection)
                .await?;
                let queue = QueueId(queue);
                subscribers.push(Subscriber { queue, id: id.clone(), endpoint: parse(id, body)? });
                Ok(Some(queue))
            }
            (None, Some(index)) => {
                let queue = subscribers.remove(index).queue;
                sqlx::query("DELETE FROM queues WHERE queue = ?").bind(queue.0).execute(connection).await?;
                Ok(Some(queue))
            }
            (None, None) => Ok(None),
        }
    }

    fn stored(&self, accepted: &AcceptedChanges, event: &Event, seq: EventSeq) -> StoredEvent {
        let changes = &accepted.changes;
        let subscribers = self.scopes.get(&changes.scope).map_or(&[][..], Vec::as_slice);
        let is_subscribed = |subscriber: &&Subscriber| match &event.only {
            Some(only) => subscriber.id == *only,
            None => subscriber.endpoint.subscribes_to(&event.event_type, &event.subject),
        };
        StoredEvent {
            seq,
            id: event.id.clone(),
            scope: changes.scope.clone(),
            event_type: event.event_type.clone(),
            subject: event.subject.clone(),
            body: event.body.clone(),
            at: changes.now,
            queues: subscribers.iter().filter(is_subscribed).map(|subscriber| subscriber.queue).collect(),
            is_test: event.only.is_some(),
            hops: event.hops,
        }
    }

    /// Returns the queue of the command's endpoint, or `None` if the endpoint was removed.
    fn find_queue(&self, scope: &Scope, command: &DeliveryCommand) -> Option<QueueId> {
        let (DeliveryCommand::Redeliver { endpoint, .. } | DeliveryCommand::Recover { endpoint, .. }) = command;
        let subscribers = self.scopes.get(scope).map_or(&[][..], Vec::as_slice);
        subscribers.iter().find(|subscriber| subscriber.id == *endpoint).map(|subscriber| subscriber.queue)
    }
}

/// Makes a delivery due again. Returns its queue, or `None` if the event does not exist. If the endpoint did not
/// subscribe to the event, this creates its first delivery.
async fn redeliver(
    connection: &mut SqliteConnection,
    scope: &Scope,
    (queue, event): (QueueId, &Arc<str>),
    now: Timestamp,
) -> Result<Option<QueueId>, DbError> {
    let sql = "INSERT INTO deliveries (queue, event, state, attempts, due, at) \
               SELECT ?1, seq, 1, 0, ?2, ?2 FROM events WHERE id = ?3 AND plugin = ?4 AND tenant = ?5 \
               ON CONFLICT DO UPDATE SET state = 1, due = excluded.due, at = excluded.at";
    let done = sqlx::query(sql)
        .bind(queue.0)
        .bind(int(now))
        .bind(event.clone())
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .execute(connection)
        .await?;
    Ok((done.rows_affected() > 0).then_some(queue))
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
        .bind(event.only.as_ref().map(EndpointId::to_string))
        .bind(event.hops)
}

fn deliveries_of(events: &[Arc<StoredEvent>]) -> Vec<NewDelivery> {
    let deliveries = events.iter().flat_map(|event| {
        event.queues.iter().map(|queue| NewDelivery { queue: *queue, event: event.seq, at: event.at })
    });
    deliveries.collect()
}

pub(in crate::db) fn bind_delivery(query: Query, row: &NewDelivery) -> Query {
    query.bind(row.queue.0).bind(row.event).bind(int(row.at))
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
        "SELECT q.queue, e.id, e.body FROM \"{table}\" e \
         CROSS JOIN queues q ON q.plugin = ?1 AND q.tenant = e.tenant AND q.endpoint = e.id WHERE e.tenant = ?2 ORDER BY q.queue"
    );
    let rows: Vec<(i64, String, String)> = sqlx::query_as(AssertSqlSafe(sql))
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .fetch_all(connection)
        .await?;
    let subscriber = |(queue, id, body): (i64, String, String)| {
        let id = EndpointId::from(id.as_str());
        Ok(Subscriber { queue: QueueId(queue), endpoint: parse(&id, &body)?, id })
    };
    rows.into_iter().map(subscriber).collect()
}

fn parse(id: &EndpointId, body: &str) -> Result<Endpoint, DbError> {
    Endpoint::parse(body).map_err(|error| DbError::Corrupt(format!("endpoint {id}: {error}")))
}

impl Database {
    /// Returns all endpoints of all tenants with their queues, for the start of the host.
    pub async fn list_endpoints(&self) -> Result<Vec<HostRecord>, DbError> {
        let (mut found, mut search) = (Vec::new(), self.begin_operator_search().await?);
        for (plugin, table) in self.catalogue().tables_of(ENDPOINTS) {
            let sql = format!(
                "SELECT q.queue, q.failing_since, e.tenant, e.id, e.version, e.body FROM \"{table}\" e \
                 JOIN queues q ON q.plugin = ?1 AND q.tenant = e.tenant AND q.endpoint = e.id ORDER BY q.queue"
            );
            let rows: Vec<(i64, Option<i64>, String, String, i64, String)> =
                sqlx::query_as(AssertSqlSafe(sql)).bind(plugin.clone()).fetch_all(search.connection()?).await?;
            for (queue, failing_since, tenant, id, version, body) in rows {
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
                    queue: Some(QueueId(queue)),
                    failing_since,
                });
            }
        }
        search.finish();
        Ok(found)
    }
}
