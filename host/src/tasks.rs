//! Durable timers and outgoing calls. Both are scheduled by a commit and survive a crash.
//!
//! Owns when a record of `host_collections::TASKS` or `EFFECTS` is processed, how often it is tried, and what is
//! written about it. A task runs like a request (`plugin::call`). An effect is sent through `destinations`. The records
//! in the database are the queue. Memory holds only the next due time of each task queue (plugin, tenant, and the
//! destination of effects), and the records that commits have just reported.
//!
//! Invariants:
//!
//! - No task runs before its due time. A due record stays in the database until the commit that ends it.
//! - The start of an attempt is durable before the attempt is made. Its outcome is durable before anything follows from
//!   it, or in the same commit.
//! - A failing task runs again after the next of its delays and is never dropped. After its last run an operator
//!   decides.
//!
//! Modules:
//!
//! - `agenda`: due times of the task queues; pure. `engine`: the loop around it. `queue`: the worker of one task queue.
//!   `slots`: limits of concurrent calls.
//! - `effect`: one attempt of an outgoing call. `note`: what is written about a task that did not end.
//! - `operate`: what operators do to waiting tasks.

mod agenda;
mod effect;
mod engine;
mod note;
mod operate;
mod queue;
mod slots;

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use parking_lot::Mutex;

use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use crate::{
    changes::scope::Scope,
    clock::Clock,
    commit::committer::Committer,
    db::{Database, DbError},
    destinations::Destinations,
    limits::{
        FIRST_EFFECTS_RUNNING_MAX, FURTHER_EFFECTS_RUNNING_MAX, TASK_QUERIES_MAX, TASKS_RUNNING_MAX, TENANT_SLOTS_KEPT,
    },
    metrics::TaskMetrics,
    plugin::{call::Calls, generation::Generation},
};

pub use operate::{Intervention, intervene};
use slots::{Slots, TenantSlots};

/// Returns the generation of the named plugin that serves now.
pub type Serving = Arc<dyn Fn(&str) -> Option<Arc<Generation>> + Send + Sync>;

/// Dependencies of [`Tasks`].
#[derive(Clone)]
pub struct Parts {
    pub database: Database,
    pub committer: Committer,
    pub calls: Arc<Calls>,
    pub destinations: Destinations,
    pub serving: Serving,
    pub clock: Clock,
    pub metrics: TaskMetrics,
}

/// State shared by all task queues.
struct Shared {
    parts: Parts,
    /// Limits of concurrent task runs by plugin, so that a slow plugin delays only its own tasks.
    tasks: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    /// Limits of concurrent outgoing calls of all plugins and tenants.
    slots: Slots,
    /// Limits by plugin and tenant. Unused entries are evicted if there are too many.
    tenant_slots: Mutex<HashMap<Scope, Arc<TenantSlots>>>,
    /// Limit of concurrent searches in the database.
    queries: Semaphore,
    /// Set at shutdown: no new work is started.
    stopping: AtomicBool,
}

impl Shared {
    fn tasks_of(&self, plugin: &Arc<str>) -> Arc<Semaphore> {
        let mut tasks = self.tasks.lock();
        tasks.entry(plugin.clone()).or_insert_with(|| Arc::new(Semaphore::new(TASKS_RUNNING_MAX))).clone()
    }

    /// Returns the limits of a plugin and tenant. Evicts those that are not in use if there are too many.
    fn slots_of(&self, scope: &Scope) -> Arc<TenantSlots> {
        let mut all = self.tenant_slots.lock();
        if all.len() >= TENANT_SLOTS_KEPT {
            all.retain(|_, slots| Arc::strong_count(slots) > 1);
        }
        all.entry(scope.clone()).or_default().clone()
    }
}

/// Runs tasks until it is stopped.
pub struct Tasks {
    engine: JoinHandle<()>,
}

impl Tasks {
    /// Starts the engine and returns when it has read the due times of all queues. Must be called before the first call
    /// of a plugin, so that no commit is missed.
    #[expect(clippy::disallowed_methods, reason = "the engine of tasks; `stop` awaits it")]
    pub async fn start(parts: Parts, stopped: watch::Receiver<bool>) -> Result<Tasks, DbError> {
        let shared = Shared {
            parts,
            tasks: Mutex::default(),
            slots: Slots::new(FIRST_EFFECTS_RUNNING_MAX, FURTHER_EFFECTS_RUNNING_MAX),
            tenant_slots: Mutex::default(),
            queries: Semaphore::new(TASK_QUERIES_MAX),
            stopping: AtomicBool::new(false),
        };
        let engine = engine::Engine::open(Arc::new(shared)).await?;
        Ok(Tasks { engine: tokio::spawn(engine.run(stopped)) })
    }

    /// Waits a few seconds for running work. Work that is not committed by then is repeated at the next start.
    pub async fn stop(self) {
        if let Err(error) = self.engine.await {
            tracing::error!("engine of tasks failed: {error}");
        }
    }
}
