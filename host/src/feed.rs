//! Streams of events: what was committed for a tenant, as it happens, over HTTP (server-sent events).
//!
//! Owns who listens, where each one stands, and what becomes of those who do not read. Every stream reads the stored feed up
//! to its end and then follows the news of commits; where it cannot keep up it reads the feed again, so that nobody ever
//! misses an event or sees one twice.
//!
//! - `live`: what is passed on to streams as it is committed. `stream`: one stream. `pace`: how often the streams of a tenant
//!   send. `wire`: the bytes of a stream.

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
    open: Arc<Mutex<Open>>,
    stopped: watch::Receiver<bool>,
}

#[derive(Default)]
struct Open {
    all: usize,
    tenants: HashMap<Scope, OpenOfTenant>,
}

#[derive(Default)]
struct OpenOfTenant {
    count: usize,
    pacer: Arc<Pacer>,
}

impl Feeds {
    /// Streams end when the host is told to stop; so does the task, which passes on what is committed.
    #[expect(clippy::disallowed_methods, reason = "the worker that passes on what is committed; it ends with the host")]
    pub fn start(
        database: Database,
        budget: Arc<Budget>,
        committer: &Committer,
        stopped: watch::Receiver<bool>,
    ) -> (Feeds, JoinHandle<()>) {
        let live = Arc::new(Live::default());
        let task = tokio::spawn(live.clone().pass_on(committer.follow(), stopped.clone()));
        (Feeds { database, budget, live, open: Arc::default(), stopped }, task)
    }

    /// Chunks of one stream, from the event after `last_id` on, or from now. Dropping the receiver ends it.
    #[expect(clippy::disallowed_methods, reason = "one task for each stream; its receiver ends it")]
    pub fn open(
        &self,
        scope: Scope,
        filter: Filter,
        last_id: Option<String>,
    ) -> Result<mpsc::Receiver<Bytes>, TooManyStreams> {
        let seat = Seat::take(&self.open, scope.clone())?;
        let (chunks, receiver) = mpsc::channel(STREAM_CHUNKS_WAITING_MAX);
        let news = self.live.listen(&scope);
        let (database, budget, pacer) = (self.database.clone(), self.budget.clone(), seat.pacer.clone());
        let heartbeat_at = next_heartbeat();
        let stream = Stream { database, budget, pacer, scope, filter, chunks, news, heartbeat_at };
        let stopped = self.stopped.clone();
        tokio::spawn(async move {
            stream.run(last_id, stopped).await;
            drop(seat);
        });
        Ok(receiver)
    }

    /// For metrics.
    pub fn count(&self) -> usize {
        self.open.lock().all
    }
}

/// One stream's place among those that may be open.
struct Seat {
    open: Arc<Mutex<Open>>,
    scope: Scope,
    /// Shared by the streams of the tenant.
    pacer: Arc<Pacer>,
}

impl Seat {
    fn take(open: &Arc<Mutex<Open>>, scope: Scope) -> Result<Seat, TooManyStreams> {
        let mut state = open.lock();
        let of_tenant = state.tenants.get(&scope).map_or(0, |of_tenant| of_tenant.count);
        if state.all >= STREAMS_MAX || of_tenant >= STREAMS_PER_TENANT_MAX {
            return Err(TooManyStreams);
        }
        state.all += 1;
        let of_tenant = state.tenants.entry(scope.clone()).or_default();
        of_tenant.count += 1;
        Ok(Seat { open: open.clone(), scope, pacer: of_tenant.pacer.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.open.lock();
        state.all = state.all.saturating_sub(1);
        if let Some(of_tenant) = state.tenants.get_mut(&self.scope) {
            of_tenant.count = of_tenant.count.saturating_sub(1);
            if of_tenant.count == 0 {
                state.tenants.remove(&self.scope);
            }
        }
    }
}
