//! wasmtime and its settings: the engines that serve, run `describe` and compile, and the ticker that interrupts
//! endless loops.
//!
//! Independent of plugins. Invariants: a process has one engine that serves and one that runs `describe`, and neither
//! compiles: an engine in a separate process does (`compile`). All have the same code settings, so that the engines
//! accept the code of the compiler (their fingerprints are compared).

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroUsize,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::Semaphore;
use wasmtime::{CacheStore, Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::{fair::machine_cores, limits, metrics::PoolReading};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the WebAssembly engine cannot start: {0:#}")]
    Start(wasmtime::Error),
    #[error("the thread for {purpose} cannot start: {cause}")]
    Thread { purpose: &'static str, cause: String },
    #[error("{0:#}")]
    Compile(wasmtime::Error),
}

/// The engine that runs every call, its clock for computing time, and the slots of its pool.
pub struct ServingEngine {
    engine: Engine,
    trial: Engine,
    slots: Arc<Semaphore>,
    /// Number of calls that all plugins may run at the same time.
    calls: usize,
    /// Number of slots of the pool.
    pool: usize,
    fingerprint: Arc<str>,
    pooled: bool,
    _ticker: Ticker,
}

impl ServingEngine {
    /// Starts the engine. `calls`: number of calls that all plugins may run at the same time, by their limits. If the
    /// system has no address space for a pool (`ulimit -v`, small machines), instances are allocated one by one, which
    /// is slower.
    pub fn start(calls: usize) -> Result<ServingEngine, EngineError> {
        let pool = pool_calls(calls);
        let (engine, pooled) = match Engine::new(&pooled_config(pool)) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "failed to reserve a pool of instances; they are allocated one by one"
                );
                (Engine::new(&code_config()).map_err(EngineError::Start)?, false)
            }
        };
        let trial = Engine::new(&code_config()).map_err(EngineError::Start)?;
        let fingerprint = fingerprint(&engine).into();
        let slots = Arc::new(Semaphore::new(pool));
        let ticker = Ticker::start([engine.weak(), trial.weak()], slots.clone())?;
        Ok(ServingEngine { engine, trial, slots, calls, pool, fingerprint, pooled, _ticker: ticker })
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the engine that runs `describe`, with the code settings of [`ServingEngine::engine`]. It has no pool:
    /// `describe` writes half a megabyte, and a slot of the pool would reset that much memory after each later call.
    pub fn trial(&self) -> &Engine {
        &self.trial
    }

    /// Returns a semaphore with one permit for each slot of the pool. A run that instantiates in the pool holds
    /// [`Generation::slots`] permits, because an exhausted pool fails, whereas a semaphore waits.
    ///
    /// [`Generation::slots`]: super::generation::Generation
    pub fn slots(&self) -> &Arc<Semaphore> {
        &self.slots
    }

    /// Returns the number of slots of the pool that a plugin with `calls` calls may hold. The parts of all plugins fit
    /// into the pool.
    pub fn part(&self, calls: usize) -> usize {
        part_of_pool(calls, self.calls, self.pool)
    }

    /// Returns sixteen hex digits. Two engines with equal digits accept the compiled code of each other.
    pub fn fingerprint(&self) -> &Arc<str> {
        &self.fingerprint
    }

    pub fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Returns the state of the pool, or zeros without a pool.
    pub fn read_pool(&self) -> PoolReading {
        let Some(pool) = self.engine.pooling_allocator_metrics() else { return PoolReading::default() };
        let bytes = pool.unused_memory_bytes_resident() + pool.unused_table_bytes_resident();
        PoolReading {
            instances: pool.component_instances(),
            warm_slots: u64::from(pool.unused_warm_memories()),
            warm_bytes: bytes.saturating_add(pool.unused_stack_bytes_resident().unwrap_or_default()) as u64,
        }
    }
}

/// Compiles a component on `threads` threads. Reads and fills `functions`. Takes 50 ms for a small component, seconds
/// for an interpreter.
pub fn precompile(bytes: &[u8], threads: usize, functions: Arc<dyn CacheStore>) -> Result<Vec<u8>, EngineError> {
    let mut config = code_config();
    config.enable_incremental_compilation(functions).map_err(EngineError::Start)?;
    let engine = Engine::new(&config).map_err(EngineError::Start)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|_| "tenon-compile".into())
        .build()
        .map_err(|error| EngineError::Thread { purpose: "compiling", cause: error.to_string() })?;
    pool.install(|| engine.precompile_component(bytes)).map_err(EngineError::Compile)
}

/// Returns the settings that determine the generated code. Shared by serving and compiling.
fn code_config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false) // calls are five times cheaper, and most advisories of its release line concern it
        .epoch_interruption(true)
        .max_wasm_stack(limits::WASM_STACK_BYTES)
        .wasm_backtrace_max_frames(NonZeroUsize::new(limits::PROFILE_FRAMES_MAX)) // of profiles, and of errors
        .async_stack_size(limits::CALL_STACK_BYTES)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false) // results may differ between processors; a call must be repeatable
        .parallel_compilation(true); // in the pool of threads that `precompile` makes
    config
}

fn pooled_config(calls: usize) -> Config {
    let calls = u32::try_from(calls).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(limits::COMPONENT_CORE_INSTANCES_MAX))
        .total_memories(calls)
        .total_tables(calls.saturating_mul(limits::TABLES_PER_CALL))
        .total_stacks(calls)
        .max_core_instances_per_component(limits::COMPONENT_CORE_INSTANCES_MAX)
        .max_memories_per_component(limits::COMPONENT_MEMORIES_MAX)
        .max_tables_per_component(limits::COMPONENT_TABLES_MAX)
        .max_component_instance_size(limits::INSTANCE_BYTES_MAX)
        .max_core_instance_size(limits::INSTANCE_BYTES_MAX)
        .max_tables_per_module(limits::TABLES_PER_CALL)
        .table_elements(limits::TABLE_ELEMENTS_MAX)
        .max_memory_size(limits::POOL_MEMORY_BYTES)
        .linear_memory_keep_resident(limits::MEMORY_RESIDENT_BYTES)
        .table_keep_resident(limits::TABLE_RESIDENT_BYTES)
        .async_stack_keep_resident(limits::STACK_RESIDENT_BYTES)
        .max_unused_warm_slots(warm_slots())
        .decommit_batch_size(limits::POOL_DECOMMIT_BATCH)
        .pagemap_scan(Enabled::Auto);
    let mut config = code_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Returns the number of warm slots: as many as calls run at the same time, and some for waiting ones.
fn warm_slots() -> u32 {
    limits::POOL_WARM_SLOTS_PER_CORE.saturating_mul(u32::try_from(machine_cores()).unwrap_or(u32::MAX))
}

/// Returns the slots of the pool: twice the calls of all plugins, because the calls of two generations overlap during a
/// swap.
fn pool_calls(calls: usize) -> usize {
    calls.saturating_mul(2).clamp(limits::POOL_CALLS_MIN, limits::POOL_CALLS_MAX)
}

/// Returns the part of a plugin. It is reduced in proportion if the pool is smaller than all parts.
fn part_of_pool(calls: usize, all_calls: usize, pool: usize) -> usize {
    let (part, all_parts) = (calls.saturating_mul(2), all_calls.saturating_mul(2));
    match all_parts > pool {
        true => part.saturating_mul(pool) / all_parts,
        false => part,
    }
    .clamp(1, pool)
}

fn fingerprint(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The thread that increments the epoch. It ends with the serving engine.
struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread. If all `slots` are free, no guest runs, and the thread ticks slowly.
    fn start(engines: [EngineWeak; 2], slots: Arc<Semaphore>) -> Result<Ticker, EngineError> {
        let calls = slots.available_permits();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("tenon-epoch".into())
            .spawn(move || {
                let tick = || {
                    let is_idle = slots.available_permits() == calls;
                    Duration::from_millis(if is_idle { limits::IDLE_TICK_MS } else { limits::EPOCH_TICK_MS })
                };
                while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(tick()) {
                    for engine in &engines {
                        let Some(engine) = engine.upgrade() else { return };
                        engine.increment_epoch();
                    }
                }
            })
            .map_err(|error| EngineError::Thread { purpose: "the epoch", cause: error.to_string() })?;
        Ok(Ticker { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct EmptyCache;

    impl CacheStore for EmptyCache {
        fn get(&self, _: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
            None
        }

        fn insert(&self, _: &[u8], _: Vec<u8>) -> bool {
            false
        }
    }

    #[test]
    fn code_of_the_compiling_engine_fits_the_serving_one() {
        let serving = ServingEngine::start(1).unwrap();
        let mut config = code_config();
        config.enable_incremental_compilation(Arc::new(EmptyCache)).unwrap();
        let compiling = Engine::new(&config).unwrap();
        assert_eq!(&*serving.fingerprint, fingerprint(&compiling));
    }

    #[test]
    fn pool_has_room_for_two_generations_and_is_bounded() {
        assert_eq!(pool_calls(1), limits::POOL_CALLS_MIN);
        assert_eq!(pool_calls(192), 384);
        assert_eq!(pool_calls(usize::MAX), limits::POOL_CALLS_MAX);
    }

    #[test]
    fn parts_of_all_plugins_fit_into_the_pool() {
        assert_eq!(part_of_pool(64, 128, pool_calls(128)), 128);
        assert_eq!(part_of_pool(1, 1, pool_calls(1)), 2);
        for plugins in [vec![1_024, 1_024, 64], vec![1_024, 1, 1_000], vec![300; 7]] {
            let all = plugins.iter().sum();
            let parts: usize = plugins.iter().map(|calls| part_of_pool(*calls, all, pool_calls(all))).sum();
            assert!(parts <= pool_calls(all), "{plugins:?}: {parts}");
        }
    }

    #[test]
    fn bytes_that_are_not_a_component_do_not_compile() {
        assert!(matches!(precompile(b"not wasm", 1, Arc::new(EmptyCache)), Err(EngineError::Compile(_))));
    }
}
