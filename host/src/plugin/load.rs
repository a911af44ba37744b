//! Loads a generation from the bytes of a component: inspect, compile, link, try. Only this module creates a
//! `Generation`.
//!
//! Publishes nothing and does not depend on the serving generations. Reports the mistakes of a component, and measures
//! the duration of each step.

mod describe;
mod validation;

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::Semaphore, task::spawn_blocking, time::Instant};
use wasmtime::component::{Component, Linker};

use super::{
    call::{Bulkhead, CallState, Callable, PoolPart},
    compile::{CompileError, Compiler, Job, RetryPolicy},
    compiling::Compiling,
    components::{ComponentStore, LoadedCode},
    engine::ServingEngine,
    error_bodies::ErrorBodies,
    generation::{Code, Facts, Generation},
    grants, inspect,
    native::Natives,
};
use crate::{
    capability::{LogLimits, Shared, sampler::Sampling},
    changes::{change_set::DecidedBy, envelope::Envelope},
    config::{PluginConfig, PluginLimits},
    db::model::DataModel,
    limits,
    manifest::{EventType, Manifest},
    metrics::Metrics,
};

/// Fills the linker of one plugin with closed WASI (`capability::wasi`) and the granted interfaces.
pub type LinkCalls = Arc<dyn Fn(&mut Linker<CallState>, &[String]) -> wasmtime::Result<()> + Send + Sync>;

/// Reasons why a swap failed, as sentences for operators. They contain names and strings of the component, so their
/// length and number are bounded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", reasons.join("; "))]
pub struct SwapError {
    pub reasons: Vec<String>,
    /// Whether the host prepares the same change again.
    pub retries: RetryPolicy,
}

impl SwapError {
    pub fn new(reason: impl Into<String>) -> SwapError {
        let reason = cut(reason.into(), limits::REFUSAL_BYTES_MAX);
        SwapError { reasons: vec![reason], retries: RetryPolicy::None }
    }

    /// Returns an error whose cause is outside of the component.
    pub fn transient(reason: impl Into<String>) -> SwapError {
        SwapError { retries: RetryPolicy::Unlimited, ..SwapError::new(reason) }
    }
}

impl From<Vec<String>> for SwapError {
    fn from(reasons: Vec<String>) -> SwapError {
        let mut reasons: Vec<String> =
            reasons.into_iter().map(|reason| cut(reason, limits::REFUSAL_REASON_BYTES_MAX)).collect();
        let more = reasons.len().saturating_sub(limits::REFUSAL_REASONS_MAX);
        if more > 0 {
            // The last reason is kept: it may contain a hint about the others.
            let first = limits::REFUSAL_REASONS_MAX.saturating_sub(1);
            reasons.splice(first..first.saturating_add(more), [format!("and {more} more")]);
        }
        SwapError { reasons, retries: RetryPolicy::None }
    }
}

impl From<CompileError> for SwapError {
    fn from(error: CompileError) -> SwapError {
        SwapError { retries: error.retries(), ..SwapError::new(error.to_string()) }
    }
}

fn cut(mut reason: String, bytes_max: usize) -> String {
    const MARK: &str = "…";
    if reason.len() > bytes_max {
        reason.truncate(reason.floor_char_boundary(bytes_max.saturating_sub(MARK.len())));
        reason.push_str(MARK);
    }
    reason
}

/// The completed steps of a swap in order, with the milliseconds of each.
#[derive(Clone, Debug)]
pub struct Steps {
    pub taken: Vec<(String, f64)>,
    since: Instant,
}

impl Steps {
    pub fn start() -> Steps {
        Steps { taken: Vec::new(), since: Instant::now() }
    }

    /// Ends a step that began at the end of the last one.
    pub fn end(&mut self, step: &str) {
        let now = Instant::now();
        let ms = now.duration_since(self.since).as_secs_f64() * 1_000.0;
        self.taken.push((step.to_owned(), (ms * 1_000.0).round() / 1_000.0));
        self.since = now;
    }

    /// Begins the next step now. The time since the last one belongs to no step.
    pub fn resume(&mut self) {
        self.since = Instant::now();
    }
}

/// Input of a load.
#[derive(Clone)]
pub struct Candidate {
    pub plugin: Arc<str>,
    pub bytes: Bytes,
    /// Hex SHA-256 of `bytes`.
    pub hash: Arc<str>,
    pub config: Arc<PluginConfig>,
}

/// Features of the host that routes may require. A manifest cannot require more.
#[derive(Clone, Copy, Debug)]
pub struct HostFeatures {
    /// Maximum size of a request body.
    pub body_bytes_max: u64,
    /// True if the configuration names an address that absolute links begin with.
    pub link_base: bool,
}

/// Dependencies of the loader.
pub struct LoaderParts {
    pub engine: Arc<ServingEngine>,
    pub components: Arc<ComponentStore>,
    pub compiler: Compiler,
    pub link: LinkCalls,
    pub metrics: Metrics,
    pub shared: Shared,
    pub features: HostFeatures,
}

/// Loads generations. Shared by the task that swaps and `tenon plugin check`.
pub struct Loader {
    engine: Arc<ServingEngine>,
    components: Arc<ComponentStore>,
    compiler: Compiler,
    link: LinkCalls,
    metrics: Metrics,
    shared: Shared,
    natives: Natives,
    features: HostFeatures,
    progress: Compiling,
    /// Parts of the pool, for each plugin that has a generation.
    pool_parts: Mutex<HashMap<Arc<str>, Weak<PoolPart>>>,
    generation_count: AtomicU64,
}

impl Loader {
    pub fn new(parts: LoaderParts) -> Loader {
        let LoaderParts { engine, components, compiler, link, metrics, shared, features } = parts;
        let (generation_count, natives, progress) = (AtomicU64::new(0), Natives::new(), Compiling::default());
        let pool_parts = Mutex::default();
        Loader {
            engine,
            components,
            compiler,
            link,
            metrics,
            shared,
            natives,
            features,
            progress,
            pool_parts,
            generation_count,
        }
    }

    /// Sets the plugins that run natively, without a sandbox.
    pub fn with_natives(self, natives: Natives) -> Loader {
        Loader { natives, ..self }
    }

    pub fn engine(&self) -> &Arc<ServingEngine> {
        &self.engine
    }

    pub fn components(&self) -> &Arc<ComponentStore> {
        &self.components
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns [`ServingEngine::slots`].
    pub fn slots(&self) -> &Arc<Semaphore> {
        self.engine.slots()
    }

    /// Returns the plugins that are being compiled now.
    pub fn progress(&self) -> &Compiling {
        &self.progress
    }

    /// Performs all steps from *inspect* to *try*. Dropping the future cancels the load and kills the process that
    /// compiles.
    pub async fn load(&self, candidate: &Candidate, steps: &mut Steps) -> Result<Arc<Generation>, SwapError> {
        let Candidate { plugin, config, .. } = candidate;
        let LoadedCode { serving: component, trial } = self.inspect_and_compile(candidate, steps).await?;
        inspect::check_resources(&component, config)?;
        let code = self.link(&component, &config.grants)?;
        steps.end("link");

        let manifest = self.try_out(trial, candidate).await?;
        steps.end("try");

        let facts = Facts {
            plugin: plugin.clone(),
            generation: self.generation_count.fetch_add(1, Ordering::Relaxed).saturating_add(1),
            decided_by: Arc::new(DecidedBy {
                version: manifest.version.clone(),
                component: candidate.hash.to_string(),
            }),
            limits: config.limits.clone(),
            settings: config.settings.clone(),
            shared: self.shared.clone(),
            shows_private_keys: config.shows_private_keys,
            operator_destinations: config.destinations.clone(),
            event_types: event_types(&manifest).map_err(SwapError::new)?,
            tasks: manifest.tasks.iter().map(|task| task.name.clone()).collect(),
            log: LogLimits::new(&self.metrics.dropped_log_lines(plugin)),
            sampling: Sampling::default(),
        };
        let operations = manifest.routes.iter().map(|route| route.operation.as_str());
        let (slots, pool) = (inspect::count_slots(&component), self.pool_part(plugin, &config.limits));
        Ok(Arc::new(Generation {
            model: Arc::new(model_of(plugin, &manifest)?),
            error_bodies: Arc::new(ErrorBodies::compile(&manifest).map_err(SwapError::new)?),
            bulkhead: Bulkhead::new(&config.limits, pool.instances(slots)),
            pool,
            task_memory: Default::default(),
            metrics: self.metrics.generation(plugin, facts.generation, operations),
            facts: Arc::new(facts),
            hash: candidate.hash.clone(),
            manifest: Arc::new(manifest),
            config: config.clone(),
            slots,
            code: match self.natives.get(plugin) {
                Some(native) => Code::Native(native.clone()),
                None => Code::Component(code),
            },
            calls: Default::default(),
        }))
    }

    /// Returns the part of the pool that the plugin's other generations use. Creates one if there is none, or if the
    /// limits of the plugin have changed.
    fn pool_part(&self, plugin: &Arc<str>, limits: &PluginLimits) -> Arc<PoolPart> {
        let slots = self.engine.part(limits.calls);
        let mut pool_parts = self.pool_parts.lock();
        pool_parts.retain(|_, part| part.strong_count() > 0);
        let known = pool_parts.get(plugin).and_then(Weak::upgrade).filter(|part| part.matches(slots, limits));
        known.unwrap_or_else(|| {
            let part = Arc::new(PoolPart::new(slots, limits));
            pool_parts.insert(plugin.clone(), Arc::downgrade(&part));
            part
        })
    }

    async fn inspect_and_compile(&self, candidate: &Candidate, steps: &mut Steps) -> Result<LoadedCode, SwapError> {
        let Candidate { plugin, bytes, config, .. } = candidate;
        let invalid_grants = grants::check_grants(plugin, &config.grants);
        if !invalid_grants.is_empty() {
            return Err(invalid_grants.into());
        }
        let (name, bytes, section) = (plugin.clone(), bytes.clone(), config.clone());
        blocking(move || inspect::inspect(&name, &bytes, &section)).await??;
        steps.end("inspect");
        let code = self.compile(candidate).await?;
        steps.end("compile");
        Ok(code)
    }

    /// Returns cached code, or compiles the component and caches the code.
    async fn compile(&self, candidate: &Candidate) -> Result<LoadedCode, SwapError> {
        let (engine, components, hash) = (self.engine.clone(), self.components.clone(), candidate.hash.clone());
        let found = blocking(move || components.find_compiled(&engine, &hash)).await?;
        if let Some(code) = found {
            return Ok(code);
        }
        let Candidate { plugin, bytes, hash, .. } = candidate;
        let paths = self.components.compile_paths(&self.engine, plugin, hash).map_err(store_error)?;
        let progress = self.progress.clone();
        let job = Job { plugin: plugin.clone(), component: bytes.clone(), paths, progress };
        let code = self.compiler.compile(job).await?;
        let (engine, components, hash) = (self.engine.clone(), self.components.clone(), hash.clone());
        let load = move || components.keep_compiled(&engine, &hash, code).map_err(store_error);
        blocking(load).await?
    }

    fn link(&self, component: &Component, grants: &[String]) -> Result<Callable, SwapError> {
        let mut linker = Linker::new(self.engine.engine());
        let linked = (self.link)(&mut linker, grants).and_then(|()| Callable::new(linker.instantiate_pre(component)?));
        let code = linked.map_err(|error| SwapError::new(format!("does not fit the contract: {error:#}")))?;
        component
            .initialize_copy_on_write_image()
            .map_err(|error| SwapError::new(format!("its memory cannot be prepared: {error:#}")))?;
        Ok(code)
    }

    /// Calls `describe` twice: a component must always return the same manifest.
    async fn try_out(&self, component: Component, candidate: &Candidate) -> Result<Manifest, SwapError> {
        let limits = &candidate.config.limits;
        let text = describe::describe(&self.engine, &component, limits).await.map_err(SwapError::new)?;
        if describe::describe(&self.engine, &component, limits).await.map_err(SwapError::new)? != text {
            return Err(SwapError::new("describe returned two different manifests"));
        }
        let (plugin, config, features) = (candidate.plugin.clone(), candidate.config.clone(), self.features);
        let check = move || {
            validation::sizes::check_text(&text).map_err(SwapError::new)?;
            let manifest: Manifest = serde_json::from_str(&text)
                .map_err(|error| SwapError::new(format!("its manifest is not valid: {error}")))?;
            let reasons = validation::check(&manifest, &plugin, &config, &features);
            if reasons.is_empty() { Ok(manifest) } else { Err(reasons.into()) }
        };
        blocking(check).await?
    }
}

/// Converts an error from storing compiled code. Errors of the engine have the kind `Other`. Errors of the data folder
/// have other kinds.
fn store_error(error: io::Error) -> SwapError {
    match error.kind() {
        io::ErrorKind::Other => SwapError::new(format!("the engine rejects its compiled code: {error}")),
        _ => SwapError::transient(format!("its compiled code cannot be stored in the data folder: {error}")),
    }
}

/// Runs work that reads files or computes for milliseconds on Tokio's blocking thread pool.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SwapError> {
    spawn_blocking(work).await.map_err(|_panicked| SwapError::new("the host failed while it read the component"))
}

/// Returns the event types with their envelopes.
fn event_types(manifest: &Manifest) -> Result<HashMap<String, Envelope>, String> {
    let envelope = |event: &EventType| event.envelope.as_ref().or(manifest.envelope.as_ref()).map(Envelope::compile);
    let entry = |event: &EventType| Ok((event.name.clone(), envelope(event).transpose()?.unwrap_or_default()));
    manifest.event_types.iter().map(entry).collect()
}

/// Returns the data model of the declared collections.
pub fn model_of(plugin: &str, manifest: &Manifest) -> Result<DataModel, SwapError> {
    DataModel::new(plugin, &manifest.collections, manifest.data_version, manifest.reads_data_from)
        .map_err(|error| SwapError::new(error.to_string()))
}

#[cfg(test)]
mod tests;
