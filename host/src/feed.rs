//! Event streams: the committed events of a tenant as server-sent events over HTTP.
//!
//! Owns the open streams, their positions, and the treatment of slow readers. Every stream reads the stored feed up to
//! its end and then follows the notifications of commits. A stream that lags reads the feed again, so that no reader
//! misses an event or receives one twice.
//!
//! - `live`: forwards committed events to streams. `stream`: one stream. `wire`: the bytes of a stream.
//! - `fair::pace` limits the rate at which the streams of a tenant send.

mod live;
mod stream;
mod wire;

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

pub use crate::db::feed::FeedFilter as Filter;
use crate::{
    budget::Budget,
    changes::scope::Scope,
    commit::committer::Committer,
    db::Database,
    fair::pace::Pacer,
    limits::{STREAM_CHUNKS_WAITING_MAX, STREAMS_MAX, STREAMS_PER_TENANT_MAX},
};
use live::Live;
use stream::{Stream, next_heartbeat};

/// Too many streams are open, of this tenant or of all.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyStreams;

/// Opens streams. Shared by all requests.
pub struct Feeds {
    database: Database,
    budget: Arc<Budget>,
    live: Arc<Live>,
    open: Arc<Mutex<OpenStreams>>,
    stopped: watch::Receiver<bool>,
}

#[derive(Default)]
struct OpenStreams {
    all: usize,
    tenants: HashMap<Scope, TenantStreams>,
}

#[derive(Default)]
struct TenantStreams {
    count: usize,
    pacer: Arc<Pacer>,
}

impl Feeds {
    /// Starts the task that forwards committed events. The task and all streams end when the host stops.
    #[expect(clippy::disallowed_methods, reason = "the task that forwards committed events; it ends with the host")]
    pub fn start(
        database: Database,
        budget: Arc<Budget>,
        committer: &Committer,
        stopped: watch::Receiver<bool>,
    ) -> (Feeds, JoinHandle<()>) {
        let live = Arc::new(Live::default());
        let task = tokio::spawn(live.clone().forward(committer.subscribe(), stopped.clone()));
        (Feeds { database, budget, live, open: Arc::default(), stopped }, task)
    }

    /// Opens a stream that begins after `last_id`, or now, and returns its chunks. Dropping the receiver ends the
    /// stream.
    #[expect(clippy::disallowed_methods, reason = "one task for each stream; its receiver ends it")]
    pub fn open(
        &self,
        scope: Scope,
        filter: Filter,
        last_id: Option<String>,
    ) -> Result<mpsc::Receiver<Bytes>, TooManyStreams> {
        let permit = StreamPermit::take(&self.open, scope.clone())?;
        let (chunks, receiver) = mpsc::channel(STREAM_CHUNKS_WAITING_MAX);
        let notifications = self.live.subscribe(&scope);
        let (database, budget, pacer) = (self.database.clone(), self.budget.clone(), permit.pacer.clone());
        let heartbeat_at = next_heartbeat();
        let stream = Stream { database, budget, pacer, scope, filter, chunks, notifications, heartbeat_at };
        let stopped = self.stopped.clone();
        tokio::spawn(async move {
            stream.run(last_id, stopped).await;
            drop(permit);
        });
        Ok(receiver)
    }

    /// Returns the number of open streams, for metrics.
    pub fn count(&self) -> usize {
        self.open.lock().all
    }
}

/// A permit for one open stream.
struct StreamPermit {
    open: Arc<Mutex<OpenStreams>>,
    scope: Scope,
    /// Shared by the streams of the tenant.
    pacer: Arc<Pacer>,
}

impl StreamPermit {
    fn take(open: &Arc<Mutex<OpenStreams>>, scope: Scope) -> Result<StreamPermit, TooManyStreams> {
        let mut state = open.lock();
        let count = state.tenants.get(&scope).map_or(0, |streams| streams.count);
        if state.all >= STREAMS_MAX || count >= STREAMS_PER_TENANT_MAX {
            return Err(TooManyStreams);
        }
        state.all += 1;
        let streams = state.tenants.entry(scope.clone()).or_default();
        streams.count += 1;
        Ok(StreamPermit { open: open.clone(), scope, pacer: streams.pacer.clone() })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut state = self.open.lock();
        state.all = state.all.saturating_sub(1);
        if let Some(streams) = state.tenants.get_mut(&self.scope) {
            streams.count = streams.count.saturating_sub(1);
            if streams.count == 0 {
                state.tenants.remove(&self.scope);
            }
        }
    }
}
