//! Decides which deliveries a batch creates itself, and which are created after it.
//!
//! Invariants: a batch creates at most `BATCH_DELIVERIES_MAX` deliveries of its events, and at most
//! `BATCH_DELIVERIES_EACH` for one tenant. Redeliveries do not count. An event whose deliveries do not fit is
//! postponed: it is recorded with its queues. The tenant's later events are postponed as well until no delivery remains
//! to be created.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use sqlx::SqliteConnection;

use super::{Batch, DELIVERY_COLUMNS, EventSeq, NEW_DELIVERY, Outbox, QueueId, StoredEvent};
use crate::changes::scope::Scope;
use crate::db::DbError;
use crate::db::apply::rows::ChunkedSql;
use crate::db::apply::script::Script;
use crate::limits::{BATCH_DELIVERIES_EACH, BATCH_DELIVERIES_MAX};

/// Inserts deliveries of postponed events. Skips a delivery that a redelivery has created already.
pub(in crate::db) static FAN_OUT_DELIVERIES: LazyLock<ChunkedSql> =
    LazyLock::new(|| ChunkedSql::insert(DELIVERY_COLUMNS, NEW_DELIVERY, "ON CONFLICT DO NOTHING"));

static FAN_OUTS: LazyLock<ChunkedSql> =
    LazyLock::new(|| ChunkedSql::insert("fan_outs (plugin, tenant, events, queues, made, done)", "(?,?,?,?,0,0)", ""));

/// Consecutive postponed events of one tenant for the same queues.
struct FanOut {
    scope: Scope,
    events: Vec<EventSeq>,
    queues: Vec<QueueId>,
}

/// Counts the deliveries of one batch, and collects its postponed events.
pub(super) struct FanOuts {
    backlogged: HashSet<Scope>,
    created: usize,
    created_per_scope: HashMap<Scope, usize>,
    postponed: Vec<FanOut>,
    /// The index of each tenant's last entry in `postponed`.
    last_by_scope: HashMap<Scope, usize>,
}

impl FanOuts {
    pub(super) fn new(backlogged: HashSet<Scope>) -> FanOuts {
        FanOuts {
            backlogged,
            created: 0,
            created_per_scope: HashMap::new(),
            postponed: Vec::new(),
            last_by_scope: HashMap::new(),
        }
    }

    /// Keeps the queues of the event if its deliveries are created now. Otherwise postpones the event and clears its
    /// queues.
    pub(super) fn admit(&mut self, event: &mut StoredEvent) {
        let count = event.queues.len();
        if count == 0 {
            return;
        }
        let created_per_scope = self.created_per_scope.get(&event.scope).copied().unwrap_or(0);
        let fits = self.created + count <= BATCH_DELIVERIES_MAX && created_per_scope + count <= BATCH_DELIVERIES_EACH;
        if fits && !self.backlogged.contains(&event.scope) {
            self.created += count;
            self.created_per_scope.insert(event.scope.clone(), created_per_scope + count);
        } else {
            self.postpone(event.scope.clone(), event.seq, std::mem::take(&mut event.queues));
        }
    }

    fn postpone(&mut self, scope: Scope, event: EventSeq, queues: Vec<QueueId>) {
        if let Some(last) = self.last_by_scope.get(&scope).and_then(|last| self.postponed.get_mut(*last))
            && last.queues == queues
        {
            last.events.push(event);
            return;
        }
        self.backlogged.insert(scope.clone());
        self.last_by_scope.insert(scope.clone(), self.postponed.len());
        self.postponed.push(FanOut { scope, events: vec![event], queues });
    }

    /// Adds the postponed events to `script`. Returns true if there are any.
    pub(super) fn write(&self, script: &mut Script<'_>) -> bool {
        let row = |fan_out: &FanOut| {
            let events = serde_json::Value::from(fan_out.events.as_slice()).to_string();
            let queues = serde_json::Value::from_iter(fan_out.queues.iter().map(|queue| queue.0)).to_string();
            (fan_out.scope.clone(), events, queues)
        };
        script.add(&FAN_OUTS, self.postponed.iter().map(row).collect(), |query, (scope, events, queues)| {
            let query = query.bind(scope.plugin().clone()).bind(scope.tenant().clone());
            query.bind(events.clone()).bind(queues.clone())
        });
        !self.postponed.is_empty()
    }

    pub(super) fn into_backlogged(self) -> HashSet<Scope> {
        self.backlogged
    }
}

impl Outbox {
    /// Updates, for the tenants of the batch, the cached set of tenants that have postponed events. Must precede all
    /// writes of the batch.
    pub(super) async fn load_backlogged(
        &mut self,
        connection: &mut SqliteConnection,
        batch: &Batch,
    ) -> Result<(), DbError> {
        let backlogged = match &mut self.backlogged {
            Some(backlogged) => backlogged,
            None => self.backlogged.insert(list_backlogged(connection).await?),
        };
        if backlogged.is_empty() {
            return Ok(());
        }
        for scope in batch.changes.iter().map(|accepted| &accepted.changes.scope) {
            if backlogged.contains(scope) && !is_backlogged(connection, scope).await? {
                backlogged.remove(scope);
            }
        }
        Ok(())
    }
}

async fn list_backlogged(connection: &mut SqliteConnection) -> Result<HashSet<Scope>, DbError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT DISTINCT plugin, tenant FROM fan_outs").fetch_all(connection).await?;
    Ok(rows.into_iter().filter_map(|(plugin, tenant)| Scope::new(plugin.into(), tenant.into())).collect())
}

async fn is_backlogged(connection: &mut SqliteConnection, scope: &Scope) -> Result<bool, DbError> {
    let query = sqlx::query_scalar("SELECT 1 FROM fan_outs WHERE plugin = ? AND tenant = ? LIMIT 1");
    let found: Option<i64> =
        query.bind(scope.plugin().clone()).bind(scope.tenant().clone()).fetch_optional(connection).await?;
    Ok(found.is_some())
}
