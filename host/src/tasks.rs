//! Durable timers and outgoing calls: what was committed to happen later happens, also after a crash.
//!
//! Owns when a record of `host_collections::TASKS` or `EFFECTS` is looked at, how often it is tried, and what is noted about it. A
//! task runs through the same door as a request (`plugin::call`), an effect goes out through `destinations`. The database
//! is the queue: in memory there is only when each plugin and tenant has something due, and which records commits have just
//! reported. Invariants:
//!
//! - Nothing runs before its time, and what is due stays in the database until the commit that ends it.
//! - An attempt is written down before it is made, and how it ended before anything follows from it, or in the same commit.
//! - What fails waits longer each time, and is never dropped: in the end an operator has it.
//!
//! - `agenda`: who has something due, when; pure. `engine`: the loop around it. `line`: one of them at work. `slots`: how
//!   many calls at once.
//! - `effect`: one attempt of an outgoing call. `note`: what is written about a task that did not end.
//! - `operate`: what operators do to those that wait.

mod agenda;
mod effect;
mod engine;
mod line;
mod note;
mod operate;
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
        FIRST_EFFECTS_RUNNING_MAX, FURTHER_EFFECTS_RUNNING_MAX, TASK_LOOKS_MAX, TASKS_RUNNING_MAX, TENANT_SLOTS_KEPT,
    },
    metrics::TaskMetrics,
    plugin::{call::Calls, generation::Generation},
};

pub use operate::{Intervention, intervene};
use slots::{Slots, TenantSlots};

/// The generation of a plugin that serves now.
pub type Serving = Arc<dyn Fn(&str) -> Option<Arc<Generation>> + Send + Sync>;

/// What tasks are made of.
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

/// What all lines share.
struct Shared {
    parts: Parts,
    /// Runs of tasks, by plugin: one that is slow is slow for itself.
    tasks: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    /// Outgoing calls of effects, of all plugins and tenants.
    slots: Slots,
    /// Of each that is at work.
    tenant_slots: Mutex<HashMap<Scope, Arc<TenantSlots>>>,
    /// Questions to the database.
    looks: Semaphore,
    /// Nothing new is taken up any more.
    stopping: AtomicBool,
}

impl Shared {
    fn tasks_of(&self, plugin: &Arc<str>) -> Arc<Semaphore> {
        let mut tasks = self.tasks.lock();
        tasks.entry(plugin.clone()).or_insert_with(|| Arc::new(Semaphore::new(TASKS_RUNNING_MAX))).clone()
    }

    /// Those of tenants at rest are forgotten.
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
    /// Returns when it is known what is due. Before the first call of a plugin, so that no commit goes unnoticed.
    #[expect(clippy::disallowed_methods, reason = "the worker of tasks; `stop` awaits it")]
    pub async fn start(parts: Parts, stopped: watch::Receiver<bool>) -> Result<Tasks, DbError> {
        let shared = Shared {
            parts,
            tasks: Mutex::default(),
            slots: Slots::new(FIRST_EFFECTS_RUNNING_MAX, FURTHER_EFFECTS_RUNNING_MAX),
            tenant_slots: Mutex::default(),
            looks: Semaphore::new(TASK_LOOKS_MAX),
            stopping: AtomicBool::new(false),
        };
        let engine = engine::Engine::open(Arc::new(shared)).await?;
        Ok(Tasks { engine: tokio::spawn(engine.run(stopped)) })
    }

    /// What is under way gets a few seconds; what has not been committed by then is done again at the next start.
    pub async fn stop(self) {
        if let Err(error) = self.engine.await {
            tracing::error!("tasks ended badly: {error}");
        }
    }
}
