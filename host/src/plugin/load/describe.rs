//! Runs `describe` once, in its own instance, under the plugin's limits. Every import of the contract traps: the
//! manifest of a plugin must not depend on the host. WASI is linked without effects.

use std::time::Duration;

use tenon_bindings::{Offered, OfferedPre};
use wasmtime::{
    Engine, ResourceLimiter, Store, UpdateDeadline,
    component::{Component, Linker, types::ComponentItem},
};
use wasmtime_wasi::{
    Deterministic, HostMonotonicClock, HostWallClock, ResourceTable, WasiCtx, WasiCtxView, WasiView,
    p2::pipe::MemoryOutputPipe,
};

use crate::{
    config::PluginLimits,
    limits,
    plugin::{backtrace, engine::ServingEngine},
};

/// Returns the manifest as JSON. `component` is that of [`ServingEngine::trial`].
pub async fn describe(serving: &ServingEngine, component: &Component, limits: &PluginLimits) -> Result<String, String> {
    let engine = serving.trial();
    let linker = link_traps(engine, component).map_err(|error| format!("does not fit the contract: {error:#}"))?;
    let code = linker
        .instantiate_pre(component)
        .and_then(OfferedPre::new)
        .map_err(|error| format!("does not fit the contract: {error:#}"))?;
    // Uses no slot of the pool, but the epoch runs at full speed only while a permit is held.
    let _slot = serving.slots().acquire().await.map_err(|_| "the host is stopping".to_owned())?;
    let allowed = Duration::from_millis(limits.deadline_ms);
    let output = MemoryOutputPipe::new(limits::GUEST_OUTPUT_BYTES_MAX);
    match tokio::time::timeout(allowed, run(engine, &code, limits, &output)).await {
        Ok(Ok(text)) if text.len() <= limits::MANIFEST_BYTES_MAX => Ok(text),
        Ok(Ok(text)) => {
            Err(format!("describe returned {} bytes, {} are the limit", text.len(), limits::MANIFEST_BYTES_MAX))
        }
        Ok(Err(error)) => Err(explain(&error, &output)),
        Err(_elapsed) => Err(format!("describe took longer than {} ms", limits.deadline_ms)),
    }
}

async fn run(
    engine: &Engine,
    code: &OfferedPre<Trial>,
    limits: &PluginLimits,
    output: &MemoryOutputPipe,
) -> wasmtime::Result<String> {
    let mut store = Store::new(engine, Trial::new(limits.memory_bytes, output));
    store.limiter(|trial| &mut trial.memory);
    store.set_hostcall_fuel(limits::MANIFEST_BYTES_MAX.saturating_mul(2));
    store.set_epoch_deadline(1);
    let mut ticks = limits.compute_ms.div_ceil(limits::EPOCH_TICK_MS);
    let compute_ms = limits.compute_ms;
    store.epoch_deadline_callback(move |_| {
        ticks = ticks.saturating_sub(1);
        if ticks == 0 {
            return Err(wasmtime::Error::msg(format!("it computed for more than {compute_ms} ms")));
        }
        Ok(UpdateDeadline::Yield(1))
    });
    let instance: Offered = code.instantiate_async(&mut store).await?;
    instance.tenon_plugin_handler().call_describe(&mut store).await
}

/// Returns the causes, the printed output (a panic, an exception), and the backtrace.
fn explain(error: &wasmtime::Error, output: &MemoryOutputPipe) -> String {
    let mut text = format!("describe failed: {}", backtrace::causes(error));
    let printed = output.contents();
    let printed = String::from_utf8_lossy(&printed);
    if !printed.trim().is_empty() {
        text.push_str(&format!("; it printed: {}", truncate(printed.trim())));
    }
    if let Some(frames) = backtrace::frames(error) {
        text.push_str(&format!("; backtrace: {frames}"));
    }
    text
}

fn truncate(text: &str) -> &str {
    text.get(..text.floor_char_boundary(limits::REFUSAL_OUTPUT_BYTES_MAX)).unwrap_or_default()
}

/// Links closed WASI, and a trap with a message for every imported function of the contract.
fn link_traps(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<Trial>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = import.ty else { continue };
        if !name.starts_with("tenon:plugin/") {
            continue;
        }
        let mut linked = linker.instance(name)?;
        for (function, item) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(_) = item.ty {
                let sentence = format!("describe may not use the host, it called {function} of {name}");
                linked.func_new(function, move |_, _, _, _| Err(wasmtime::Error::msg(sentence.clone())))?;
            }
        }
    }
    Ok(linker)
}

/// State of an instance while it runs `describe`.
struct Trial {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: MemoryBound,
}

impl Trial {
    fn new(memory_bytes: u64, output: &MemoryOutputPipe) -> Trial {
        let wasi = WasiCtx::builder()
            .stdout(output.clone())
            .stderr(output.clone())
            .secure_random(Deterministic::new(vec![7]))
            .insecure_random(Deterministic::new(vec![7]))
            .insecure_random_seed(7)
            .max_random_size(limits::WASI_RANDOM_BYTES_MAX)
            .wall_clock(FrozenClock)
            .monotonic_clock(FrozenClock)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::RESOURCE_HANDLES_MAX);
        Trial { wasi, table, memory: MemoryBound { left: memory_bytes } }
    }
}

impl WasiView for Trial {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A clock that does not advance during `describe`.
struct FrozenClock;

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for FrozenClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }
    fn now(&self) -> u64 {
        0
    }
}

/// Limits the sum of the linear memories of one instance.
struct MemoryBound {
    /// Bytes by which the memories may still grow.
    left: u64,
}

impl ResourceLimiter for MemoryBound {
    fn memory_growing(&mut self, current: usize, desired: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current) as u64;
        match self.left.checked_sub(growth) {
            Some(left) => self.left = left,
            None => return Ok(false),
        }
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= limits::TABLE_ELEMENTS_MAX)
    }
}
