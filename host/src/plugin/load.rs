//! From the bytes of a component to a generation: inspect, compile, link, try. The only maker of a `Generation`.
//!
//! Never publishes anything and never looks at what serves now. Everything that can be wrong with a component is found
//! here, and each step's time is noted.

mod describe;
mod soundness;

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
    compile::{CompileError, Compiler, Job, Retries},
    compiling::Compiling,
    components::{ComponentStore, LoadedCode},
    engine::ServingEngine,
    generation::{Code, Facts, Generation},
    grants, inspect,
    native::Natives,
    wording::Wording,
};
use crate::manifest::{EventType, Manifest};
use crate::{
    capability::{LogLimits, Shared, sampler::Sampling},
    changes::{change_set::DecidedBy, envelope::Envelope},
    config::{PluginConfig, PluginLimits},
    db::model::DataModel,
    limits,
    metrics::Metrics,
};

/// Fills the linker of one plugin: closed WASI, and the interfaces that it was granted.
pub type LinkCalls = Arc<dyn Fn(&mut Linker<CallState>, &[String]) -> wasmtime::Result<()> + Send + Sync>;

/// Why a component does not serve: the reasons that were found, as sentences for the operator. Names and texts of the component
/// stand in them: they are cut, and so are their number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", reasons.join("; "))]
pub struct SwapRefusal {
    pub reasons: Vec<String>,
    /// Whether the same change may pass later.
    pub retries: Retries,
}

impl SwapRefusal {
    pub fn because(reason: impl Into<String>) -> SwapRefusal {
        let reason = cut(reason.into(), limits::REFUSAL_BYTES_MAX);
        SwapRefusal { reasons: vec![reason], retries: Retries::None }
    }

    /// The same for a cause outside of the component.
    pub fn transient(reason: impl Into<String>) -> SwapRefusal {
        SwapRefusal { retries: Retries::Endless, ..SwapRefusal::because(reason) }
    }
}

impl From<Vec<String>> for SwapRefusal {
    fn from(reasons: Vec<String>) -> SwapRefusal {
        let mut reasons: Vec<String> =
            reasons.into_iter().map(|reason| cut(reason, limits::REFUSAL_REASON_BYTES_MAX)).collect();
        let more = reasons.len().saturating_sub(limits::REFUSAL_REASONS_MAX);
        if more > 0 {
            // The last one may say what to do about the others.
            let first = limits::REFUSAL_REASONS_MAX.saturating_sub(1);
            reasons.splice(first..first.saturating_add(more), [format!("and {more} more")]);
        }
        SwapRefusal { reasons, retries: Retries::None }
    }
}

impl From<CompileError> for SwapRefusal {
    fn from(error: CompileError) -> SwapRefusal {
        SwapRefusal { retries: error.retries(), ..SwapRefusal::because(error.to_string()) }
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

/// The steps of a swap that were taken, in order, with milliseconds.
#[derive(Clone, Debug)]
pub struct Steps {
    pub taken: Vec<(String, f64)>,
    since: Instant,
}

impl Steps {
    pub fn start() -> Steps {
        Steps { taken: Vec::new(), since: Instant::now() }
    }

    /// Ends a step that began where the last one ended.
    pub fn end(&mut self, step: &str) {
        let now = Instant::now();
        let ms = now.duration_since(self.since).as_secs_f64() * 1_000.0;
        self.taken.push((step.to_owned(), (ms * 1_000.0).round() / 1_000.0));
        self.since = now;
    }

    /// What happened since the last step counts for none.
    pub fn resume(&mut self) {
        self.since = Instant::now();
    }
}

/// What may become a generation.
#[derive(Clone)]
pub struct Candidate {
    pub plugin: Arc<str>,
    pub bytes: Bytes,
    /// Hex SHA-256 of `bytes`.
    pub hash: Arc<str>,
    pub config: Arc<PluginConfig>,
}

/// Resources that the host has for routes; a manifest cannot require more.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// Limit of a request's body.
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
    pub offers: Offers,
}

/// Makes generations. Shared by the task that swaps and by `tenon plugin check`.
pub struct Loader {
    engine: Arc<ServingEngine>,
    components: Arc<ComponentStore>,
    compiler: Compiler,
    link: LinkCalls,
    metrics: Metrics,
    shared: Shared,
    natives: Natives,
    offers: Offers,
    progress: Compiling,
    /// Of plugins with a generation.
    parts: Mutex<HashMap<Arc<str>, Weak<PoolPart>>>,
    made: AtomicU64,
}

impl Loader {
    pub fn new(parts: LoaderParts) -> Loader {
        let LoaderParts { engine, components, compiler, link, metrics, shared, offers } = parts;
        let (made, natives, progress) = (AtomicU64::new(0), Natives::new(), Compiling::default());
        let parts = Mutex::default();
        Loader { engine, components, compiler, link, metrics, shared, natives, offers, progress, parts, made }
    }

    /// Plugins of these names run without a sandbox.
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

    /// [`ServingEngine::slots`]
    pub fn slots(&self) -> &Arc<Semaphore> {
        self.engine.slots()
    }

    /// Plugins that are being compiled now.
    pub fn progress(&self) -> &Compiling {
        &self.progress
    }

    /// All steps from *inspect* to *try*. Dropping the future abandons it and kills the process that compiles.
    pub async fn load(&self, candidate: &Candidate, steps: &mut Steps) -> Result<Arc<Generation>, SwapRefusal> {
        let Candidate { plugin, config, .. } = candidate;
        let LoadedCode { serving: component, trial } = self.inspect_and_compile(candidate, steps).await?;
        inspect::check_resources(&component, config)?;
        let code = self.link(&component, &config.grants)?;
        steps.end("link");

        let manifest = self.try_out(trial, candidate).await?;
        steps.end("try");

        let facts = Facts {
            plugin: plugin.clone(),
            generation: self.made.fetch_add(1, Ordering::Relaxed).saturating_add(1),
            decided_by: Arc::new(DecidedBy {
                version: manifest.version.clone(),
                component: candidate.hash.to_string(),
            }),
            limits: config.limits.clone(),
            settings: config.settings.clone(),
            shared: self.shared.clone(),
            shows_private_keys: config.shows_private_keys,
            named: config.destinations.clone(),
            event_types: event_types(&manifest).map_err(SwapRefusal::because)?,
            tasks: manifest.tasks.iter().map(|task| task.name.clone()).collect(),
            log: LogLimits::new(&self.metrics.dropped_log_lines(plugin)),
            sampling: Sampling::default(),
        };
        let operations = manifest.routes.iter().map(|route| route.operation.as_str());
        let (slots, pool) = (inspect::count_slots(&component), self.pool_part(plugin, &config.limits));
        Ok(Arc::new(Generation {
            model: Arc::new(model_of(plugin, &manifest)?),
            wording: Arc::new(Wording::compile(&manifest).map_err(SwapRefusal::because)?),
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

    /// That of the plugin's other generations, unless its limits were changed.
    fn pool_part(&self, plugin: &Arc<str>, limits: &PluginLimits) -> Arc<PoolPart> {
        let slots = self.engine.part(limits.calls);
        let mut parts = self.parts.lock();
        parts.retain(|_, part| part.strong_count() > 0);
        let known = parts.get(plugin).and_then(Weak::upgrade).filter(|part| part.is_of(slots, limits));
        known.unwrap_or_else(|| {
            let part = Arc::new(PoolPart::new(slots, limits));
            parts.insert(plugin.clone(), Arc::downgrade(&part));
            part
        })
    }

    async fn inspect_and_compile(&self, candidate: &Candidate, steps: &mut Steps) -> Result<LoadedCode, SwapRefusal> {
        let Candidate { plugin, bytes, config, .. } = candidate;
        let wrong_grants = grants::check_grants(plugin, &config.grants);
        if !wrong_grants.is_empty() {
            return Err(wrong_grants.into());
        }
        let (name, bytes, section) = (plugin.clone(), bytes.clone(), config.clone());
        blocking(move || inspect::inspect(&name, &bytes, &section)).await??;
        steps.end("inspect");
        let code = self.compile(candidate).await?;
        steps.end("compile");
        Ok(code)
    }

    /// Cached code, or that of a compilation whose result is cached.
    async fn compile(&self, candidate: &Candidate) -> Result<LoadedCode, SwapRefusal> {
        let (engine, components, hash) = (self.engine.clone(), self.components.clone(), candidate.hash.clone());
        let found = blocking(move || components.find_compiled(&engine, &hash)).await?;
        if let Some(code) = found {
            return Ok(code);
        }
        let Candidate { plugin, bytes, hash, .. } = candidate;
        let places = self.components.places(&self.engine, plugin, hash).map_err(not_kept)?;
        let progress = self.progress.clone();
        let job = Job { plugin: plugin.clone(), component: bytes.clone(), places, progress };
        let code = self.compiler.compile(job).await?;
        let (engine, components, hash) = (self.engine.clone(), self.components.clone(), hash.clone());
        let load = move || components.keep_compiled(&engine, &hash, code).map_err(not_kept);
        blocking(load).await?
    }

    fn link(&self, component: &Component, grants: &[String]) -> Result<Callable, SwapRefusal> {
        let mut linker = Linker::new(self.engine.engine());
        let linked = (self.link)(&mut linker, grants).and_then(|()| Callable::new(linker.instantiate_pre(component)?));
        let code = linked.map_err(|error| SwapRefusal::because(format!("does not fit the contract: {error:#}")))?;
        component
            .initialize_copy_on_write_image()
            .map_err(|error| SwapRefusal::because(format!("its memory cannot be prepared: {error:#}")))?;
        Ok(code)
    }

    /// Lets it describe itself, twice: the same component must always give the same text.
    async fn try_out(&self, component: Component, candidate: &Candidate) -> Result<Manifest, SwapRefusal> {
        let limits = &candidate.config.limits;
        let text = describe::describe(&self.engine, &component, limits).await.map_err(SwapRefusal::because)?;
        if describe::describe(&self.engine, &component, limits).await.map_err(SwapRefusal::because)? != text {
            return Err(SwapRefusal::because("describe gave two different texts, one after the other"));
        }
        let (plugin, config, offers) = (candidate.plugin.clone(), candidate.config.clone(), self.offers);
        let check = move || {
            soundness::sizes::check_text(&text).map_err(SwapRefusal::because)?;
            let manifest: Manifest =
                serde_json::from_str(&text).map_err(|error| SwapRefusal::because(format!("its manifest: {error}")))?;
            let reasons = soundness::check(&manifest, &plugin, &config, &offers);
            if reasons.is_empty() { Ok(manifest) } else { Err(reasons.into()) }
        };
        blocking(check).await?
    }
}

/// The folder's errors have a kind; an error of the kind "other" is the engine's.
fn not_kept(error: io::Error) -> SwapRefusal {
    match error.kind() {
        io::ErrorKind::Other => SwapRefusal::because(format!("the engine refuses its compiled code: {error}")),
        _ => SwapRefusal::transient(format!("its compiled code cannot be kept in the data folder: {error}")),
    }
}

/// Runs what reads files or computes for milliseconds where that holds up nothing else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SwapRefusal> {
    spawn_blocking(work).await.map_err(|_panicked| SwapRefusal::because("the host failed while it read the component"))
}

/// What it may emit, each with what surrounds it.
fn event_types(manifest: &Manifest) -> Result<HashMap<String, Envelope>, String> {
    let envelope = |event: &EventType| event.envelope.as_ref().or(manifest.envelope.as_ref()).map(Envelope::compile);
    let entry = |event: &EventType| Ok((event.name.clone(), envelope(event).transpose()?.unwrap_or_default()));
    manifest.event_types.iter().map(entry).collect()
}

/// The collections that it declares, as the database keeps them.
pub fn model_of(plugin: &str, manifest: &Manifest) -> Result<DataModel, SwapRefusal> {
    DataModel::new(plugin, &manifest.collections, manifest.data_version, manifest.reads_data_from)
        .map_err(|error| SwapRefusal::because(error.to_string()))
}

#[cfg(test)]
mod tests;
