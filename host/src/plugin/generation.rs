//! A generation: a checked, callable version of a plugin. Immutable; requests hold it by `Arc` and finish on it.
//!
//! Invariant: only `load::Loader` creates one, after every step of the pipeline before *compare* has passed. Counts the
//! calls that run on it, so that operators see when the last one has ended.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::Notify;

pub use crate::capability::Facts;

use super::{
    call::{Bulkhead, Callable, PoolPart},
    error_bodies::ErrorBodies,
    estimate::MemoryEstimate,
    native::Native,
};
use crate::{
    config::PluginConfig,
    db::model::DataModel,
    limits::TASK_DELAYS_MS,
    manifest::{Manifest, Task},
    metrics::{self, GenerationMetrics},
};

pub struct Generation {
    /// Properties of the generation that its calls need.
    pub facts: Arc<Facts>,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
    pub manifest: Arc<Manifest>,
    pub config: Arc<PluginConfig>,
    pub model: Arc<DataModel>,
    /// Error responses in the format of the interface.
    pub error_bodies: Arc<ErrorBodies>,
    pub bulkhead: Bulkhead,
    /// The plugin's part of the pool, shared by its generations.
    pub pool: Arc<PoolPart>,
    /// Memory that tasks need; requests have an estimate for each route.
    pub task_memory: MemoryEstimate,
    pub metrics: GenerationMetrics,
    /// Permits of [`ServingEngine::slots`] that one instance needs.
    ///
    /// [`ServingEngine::slots`]: super::engine::ServingEngine::slots
    pub slots: u32,
    pub code: Code,
    pub(super) calls: Calls,
}

/// The code that a call runs.
pub enum Code {
    Component(Callable),
    /// Only in programs that link a plugin, never in `tenon` (see `native`).
    Native(Arc<dyn Native>),
}

impl Generation {
    pub fn plugin(&self) -> &Arc<str> {
        &self.facts.plugin
    }

    pub fn number(&self) -> u64 {
        self.facts.generation
    }

    /// Returns the declaration of a task.
    pub fn find_task(&self, name: &str) -> Option<&Task> {
        self.manifest.tasks.iter().find(|task| task.name == name)
    }

    /// Returns the delays between runs that end in a fault: those of the configuration, else those of the declaration,
    /// else the default.
    pub fn task_delays_ms(&self, name: &str) -> &[u64] {
        let declared = || self.find_task(name)?.delays_ms.as_deref();
        self.config.tasks.delays_ms.as_deref().or_else(declared).unwrap_or(&TASK_DELAYS_MS)
    }

    /// Pins a call to this generation until the guard is dropped.
    pub fn enter(&self) -> InFlight<'_> {
        self.calls.running.fetch_add(1, Ordering::AcqRel);
        InFlight { generation: self, _gauge: self.metrics.enter() }
    }

    /// Returns the number of calls that run on the generation.
    pub fn in_flight(&self) -> u64 {
        self.calls.running.load(Ordering::Acquire)
    }

    /// Waits until no call runs on the generation. A request that took the old table just before a publish may still
    /// enter afterwards and is served: a drained generation is parked and not destroyed.
    pub async fn drained(&self) {
        loop {
            let ended = self.calls.ended.notified();
            if self.in_flight() == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// Counts the calls that run on a generation.
#[derive(Default)]
pub(super) struct Calls {
    running: AtomicU64,
    ended: Notify,
}

/// A call on one generation.
pub struct InFlight<'a> {
    generation: &'a Generation,
    _gauge: metrics::InFlight,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.generation.calls.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.generation.calls.ended.notify_waiters();
        }
    }
}
