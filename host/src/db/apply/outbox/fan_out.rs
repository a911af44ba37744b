//! Which deliveries a batch makes itself, and which are made after it.
//!
//! Invariants: a batch makes at most `BATCH_DELIVERIES_MAX` deliveries, and at most `BATCH_DELIVERIES_EACH` for one tenant. An
//! event whose deliveries do not fit is noted with the endpoints that it goes to. Once a tenant has such an event, its later
//! events queue behind it, until no delivery is left to be made.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use sqlx::SqliteConnection;

use super::{Batch, DELIVERY_COLUMNS, EventSeq, Lane, NEW_DELIVERY, Outbox, StoredEvent};
use crate::changes::scope::Scope;
use crate::db::DbError;
use crate::db::apply::rows::ChunkedSql;
use crate::db::apply::script::Script;
use crate::limits::{BATCH_DELIVERIES_EACH, BATCH_DELIVERIES_MAX};

/// One that was ordered by hand meanwhile is there already.
pub(in crate::db) static FAN_OUT_DELIVERIES: LazyLock<ChunkedSql> =
    LazyLock::new(|| ChunkedSql::insert(DELIVERY_COLUMNS, NEW_DELIVERY, "ON CONFLICT DO NOTHING"));

static FAN_OUTS: LazyLock<ChunkedSql> =
    LazyLock::new(|| ChunkedSql::insert("fan_outs (plugin, tenant, events, lanes, made, done)", "(?,?,?,?,0,0)", ""));

/// Consecutive events of one tenant that go to the same endpoints.
struct FanOut {
    scope: Scope,
    events: Vec<EventSeq>,
    lanes: Vec<Lane>,
}

/// The deliveries of one batch.
pub(super) struct FanOuts {
    behind: HashSet<Scope>,
    made: usize,
    made_of: HashMap<Scope, usize>,
    later: Vec<FanOut>,
    /// The last of `later` of each tenant.
    last_of: HashMap<Scope, usize>,
}

impl FanOuts {
    pub(super) fn new(behind: HashSet<Scope>) -> FanOuts {
        FanOuts { behind, made: 0, made_of: HashMap::new(), later: Vec::new(), last_of: HashMap::new() }
    }

    /// Leaves the event its endpoints where their deliveries are made now, and takes them where they are made later.
    pub(super) fn admit(&mut self, event: &mut StoredEvent) {
        let count = event.lanes.len();
        if count == 0 {
            return;
        }
        let made_of = self.made_of.get(&event.scope).copied().unwrap_or(0);
        let fits = self.made + count <= BATCH_DELIVERIES_MAX && made_of + count <= BATCH_DELIVERIES_EACH;
        if fits && !self.behind.contains(&event.scope) {
            self.made += count;
            self.made_of.insert(event.scope.clone(), made_of + count);
        } else {
            self.postpone(event.scope.clone(), event.seq, std::mem::take(&mut event.lanes));
        }
    }

    fn postpone(&mut self, scope: Scope, event: EventSeq, lanes: Vec<Lane>) {
        if let Some(last) = self.last_of.get(&scope).and_then(|last| self.later.get_mut(*last))
            && last.lanes == lanes
        {
            last.events.push(event);
            return;
        }
        self.behind.insert(scope.clone());
        self.last_of.insert(scope.clone(), self.later.len());
        self.later.push(FanOut { scope, events: vec![event], lanes });
    }

    /// Returns whether there is anything to note.
    pub(super) fn write(&self, script: &mut Script<'_>) -> bool {
        let note = |fan_out: &FanOut| {
            let events = serde_json::Value::from(fan_out.events.as_slice()).to_string();
            let lanes = serde_json::Value::from(fan_out.lanes.as_slice()).to_string();
            (fan_out.scope.clone(), events, lanes)
        };
        script.add(&FAN_OUTS, self.later.iter().map(note).collect(), |query, (scope, events, lanes)| {
            let query = query.bind(scope.plugin().clone()).bind(scope.tenant().clone());
            query.bind(events.clone()).bind(lanes.clone())
        });
        !self.later.is_empty()
    }

    pub(super) fn into_behind(self) -> HashSet<Scope> {
        self.behind
    }
}

impl Outbox {
    /// Before anything of the batch is written: which of its tenants have deliveries that are still to be made.
    pub(super) async fn load_behind(
        &mut self,
        connection: &mut SqliteConnection,
        batch: &Batch,
    ) -> Result<(), DbError> {
        let behind = match &mut self.behind {
            Some(behind) => behind,
            None => self.behind.insert(list_behind(connection).await?),
        };
        if behind.is_empty() {
            return Ok(());
        }
        for scope in batch.changes.iter().map(|accepted| &accepted.changes.scope) {
            if behind.contains(scope) && !is_behind(connection, scope).await? {
                behind.remove(scope);
            }
        }
        Ok(())
    }
}

async fn list_behind(connection: &mut SqliteConnection) -> Result<HashSet<Scope>, DbError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT DISTINCT plugin, tenant FROM fan_outs").fetch_all(connection).await?;
    Ok(rows.into_iter().filter_map(|(plugin, tenant)| Scope::new(plugin.into(), tenant.into())).collect())
}

async fn is_behind(connection: &mut SqliteConnection, scope: &Scope) -> Result<bool, DbError> {
    let query = sqlx::query_scalar("SELECT 1 FROM fan_outs WHERE plugin = ? AND tenant = ? LIMIT 1");
    let found: Option<i64> =
        query.bind(scope.plugin().clone()).bind(scope.tenant().clone()).fetch_optional(connection).await?;
    Ok(found.is_some())
}
