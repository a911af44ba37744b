//! A run of a guest: a new store, a new instance, a call of one export. Contains no commit logic.
//!
//! The store is dropped when the run ends, even after a trap, a deadline or a limit. A store is never used twice.

use std::sync::Arc;

use tenon_bindings::{
    exports::tenon::plugin::handler::{Answer as GuestAnswer, Request, Response, Task, Verdict},
    tenon::plugin::{log::Level, types::Content},
};
use tokio::time::{Instant, timeout_at};
use wasmtime::{Store, StoreContextMut, UpdateDeadline, component::Instance};

use super::{CallState, Callable, Inputs};
use crate::{
    budget::Charge,
    capability::{Facts, LimitReached, Questions},
    commit::draft::{Draft, DraftError},
    config::PluginLimits,
    fair::cores::CoreUse,
    limits::{
        COMPONENT_HANDLES_MAX, HEADER_VALUE_BYTES_MAX, HEADERS_BYTES_MAX, HEADERS_MAX, TABLE_ELEMENTS_MAX,
        WASM_STACK_BYTES,
    },
    metrics::FaultKind,
    plugin::{
        backtrace,
        generation::{Code, Generation},
        native::Native,
    },
};

/// Message of the engine when its limit of copied bytes is exceeded. The engine has no public error type for that.
const COPY_LIMIT_MESSAGE: &str = "too much data is being copied between the host and the guest";

/// Result of a run, with its draft and its questions.
pub struct Run<T> {
    pub outcome: Result<T, GuestFault>,
    /// Absent only if the run was cut off: the deadline ended it, or it found no core.
    pub left: Option<(Box<Draft>, Questions)>,
    /// Memory charge of the run, for its answer. Absent in the same case. The draft has its own part.
    pub charge: Option<Charge>,
    /// Bytes of memory that the guest and its draft needed. Absent if the run was cut off, and without a sandbox.
    pub memory_bytes: Option<u64>,
    /// Whether an equal request gets the same answer while the data that the run read is unchanged.
    pub is_repeatable: bool,
}

impl<T> Run<T> {
    /// Returns a run that was interrupted. Its draft is lost with its store.
    pub fn cut_off(fault: GuestFault) -> Run<T> {
        Run { outcome: Err(fault), left: None, charge: None, memory_bytes: None, is_repeatable: false }
    }
}

/// Input of an export of the guest.
pub trait Input: Sync {
    type Output: Send;

    /// Calls the export of a component.
    fn call(
        &self,
        code: &Callable,
        instance: &Instance,
        store: &mut Store<CallState>,
    ) -> impl Future<Output = wasmtime::Result<Result<Self::Output, String>>> + Send;

    /// Calls the function of a native plugin.
    fn call_native(&self, native: &dyn Native, state: &mut CallState) -> Result<Self::Output, String>;
}

impl Input for Request {
    type Output = GuestAnswer;

    async fn call(
        &self,
        code: &Callable,
        instance: &Instance,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<Result<GuestAnswer, String>> {
        code.handle().call(instance, store, self).await
    }

    fn call_native(&self, native: &dyn Native, state: &mut CallState) -> Result<GuestAnswer, String> {
        native.handle(self, state)
    }
}

impl Input for Task {
    type Output = Verdict;

    async fn call(
        &self,
        code: &Callable,
        instance: &Instance,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<Result<Verdict, String>> {
        code.run().call(instance, store, self).await
    }

    fn call_native(&self, native: &dyn Native, state: &mut CallState) -> Result<Verdict, String> {
        native.run(self, state)
    }
}

/// Reason why a guest returned no answer. The message is for operators and authors, never for the caller.
#[derive(Debug, thiserror::Error)]
pub enum GuestFault {
    #[error("trapped: {0}")]
    Trap(String),
    #[error("computed for more than {0} ms (limits.compute-ms)")]
    ComputeTime(u64),
    #[error("requested more than {0} bytes of memory (limits.memory-bytes)")]
    Memory(u64),
    #[error("found no room for {0} bytes in the memory budget")]
    Budget(u64),
    #[error("{0}")]
    Limit(String),
    #[error("returned an error: {0}")]
    Returned(String),
    #[error("gave an answer that cannot be sent: {0}")]
    BadAnswer(String),
    #[error("waited {0}")]
    Waited(&'static str),
    #[error("the deadline passed while it ran")]
    Deadline,
    /// The guest was not run.
    #[error("found no core: calls of its plugin and tenant keep threads for long")]
    NoCore,
    #[error("{0}")]
    Outdated(String),
    #[error("the database did not answer: {0}")]
    Database(String),
}

/// State with which a run starts, besides its input.
pub struct Start<'a> {
    pub inputs: &'a Inputs,
    pub draft: Box<Draft>,
    pub questions: Questions,
    pub deadline: Instant,
    pub charge: Charge,
    pub core: CoreUse,
}

/// Calls the export that belongs to the input once.
pub async fn run<I: Input>(generation: &Generation, input: &I, start: Start<'_>) -> Run<I::Output> {
    match &generation.code {
        Code::Component(code) => run_component(code, &generation.facts, input, start).await,
        Code::Native(native) => {
            let mut state = CallState::new(generation.facts.clone(), start.inputs, start.draft, start.questions);
            let outcome = input.call_native(&**native, &mut state).map_err(GuestFault::Returned);
            let is_repeatable = state.is_repeatable();
            let left = Some(state.into_parts());
            Run { outcome, left, charge: Some(start.charge), memory_bytes: None, is_repeatable }
        }
    }
}

async fn run_component<I: Input>(code: &Callable, facts: &Arc<Facts>, input: &I, start: Start<'_>) -> Run<I::Output> {
    let Start { inputs, draft, questions, deadline, charge, core } = start;
    let state = CallState::new(facts.clone(), inputs, draft, questions).with_resources(charge, core);
    let mut store = new_store(code, state, facts);
    let called = async {
        let instance = code.instantiate(&mut store).await?;
        input.call(code, &instance, &mut store).await
    };
    let outcome = match timeout_at(deadline, called).await {
        Ok(Ok(Ok(output))) => Ok(output),
        Ok(Ok(Err(text))) => Err(GuestFault::Returned(text)),
        Ok(Err(error)) => Err(fault_of(&error, &store, &facts.limits)),
        Err(_) => return Run::cut_off(GuestFault::Deadline),
    };
    if outcome.is_ok() {
        // Charges the bytes that the last host calls collected. If the budget refuses them, the meter records it.
        let _ = store.data_mut().charge_held(0);
    }
    // The guest may continue after a refused growth. Its answer must not depend on the load of the host.
    let outcome = match store.data().memory.over_budget {
        Some(bytes) => Err(GuestFault::Budget(bytes)),
        None => outcome,
    };
    // A trap is logged together with the printed output. A run that exceeded the memory budget is no fault of its
    // plugin.
    if !matches!(outcome, Err(GuestFault::Trap(_) | GuestFault::Budget(_)))
        && let Some(output) = store.data().output()
    {
        store.data_mut().log_line(Level::Warn, &format!("printed: {output}"), "");
    }
    let mut state = store.into_data();
    let is_repeatable = state.is_repeatable();
    let (memory_bytes, charge) = (Some(state.memory.bytes()), state.take_charge());
    Run { outcome, left: Some(state.into_parts()), charge, memory_bytes, is_repeatable }
}

fn new_store(code: &Callable, state: CallState, facts: &Facts) -> Store<CallState> {
    let answer_bytes = usize::try_from(facts.limits.answer_bytes).unwrap_or(usize::MAX);
    let host_call_bytes = usize::try_from(facts.limits.host_call_bytes).unwrap_or(usize::MAX);
    let mut store = Store::new(code.engine(), state);
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(answer_bytes.max(host_call_bytes));
    store.set_max_component_handles(COMPONENT_HANDLES_MAX);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(count_tick);
    store
}

/// Counts a tick of the engine's clock while the guest computes. Yields the core to other tasks, and interrupts the
/// guest when its ticks are used up. Samples its stack first if a profile of the plugin runs.
fn count_tick(mut store: StoreContextMut<'_, CallState>) -> wasmtime::Result<UpdateDeadline> {
    if let Some(sampler) = store.data().sampler() {
        sampler.sample(&store);
    }
    let state = store.data_mut();
    if !state.count_tick() {
        return Ok(UpdateDeadline::Interrupt);
    }
    Ok(match state.next_tick() {
        Some(next_tick) => UpdateDeadline::YieldCustom(1, Box::pin(next_tick)),
        None => UpdateDeadline::Yield(1),
    })
}

fn fault_of(error: &wasmtime::Error, store: &Store<CallState>, limits: &PluginLimits) -> GuestFault {
    if let Some(wasmtime::Trap::Interrupt) = error.downcast_ref::<wasmtime::Trap>() {
        return GuestFault::ComputeTime(limits.compute_ms);
    }
    if let Some(wasmtime::Trap::StackOverflow) = error.downcast_ref::<wasmtime::Trap>() {
        return GuestFault::Limit(format!("used up its stack of {WASM_STACK_BYTES} bytes"));
    }
    if error.root_cause().to_string().contains(COPY_LIMIT_MESSAGE) {
        return GuestFault::Limit(
            "passed more bytes at once than limits.answer-bytes and limits.host-call-bytes".to_owned(),
        );
    }
    if let Some(reached) = error.downcast_ref::<LimitReached>() {
        return GuestFault::Limit(reached.to_string());
    }
    match error.downcast_ref::<DraftError>() {
        Some(DraftError::Limit(text)) => return GuestFault::Limit(text.clone()),
        Some(DraftError::Database(error)) => return GuestFault::Database(error.to_string()),
        Some(error @ (DraftError::Unreadable { .. } | DraftError::Superseded(_))) => {
            return GuestFault::Outdated(error.to_string());
        }
        _ => {}
    }
    if store.data().memory.exceeded {
        return GuestFault::Memory(limits.memory_bytes);
    }
    if store.data().memory.table_exceeded {
        return GuestFault::Limit(format!("requested a table of more than {TABLE_ELEMENTS_MAX} elements"));
    }
    let printed = store.data().output().map(|text| format!("; it printed: {}", text.trim_end())).unwrap_or_default();
    let frames = backtrace::frames(error).map(|frames| format!("; backtrace: {frames}")).unwrap_or_default();
    GuestFault::Trap(format!("{}{frames}{printed}", backtrace::causes(error)))
}

impl GuestFault {
    /// Returns the kind of the fault in the metrics.
    pub fn kind(&self) -> FaultKind {
        match self {
            GuestFault::Trap(_) => FaultKind::Trap,
            GuestFault::ComputeTime(_) | GuestFault::Deadline => FaultKind::Deadline,
            GuestFault::Memory(_) | GuestFault::Budget(_) => FaultKind::Memory,
            GuestFault::Limit(_) => FaultKind::Limit,
            GuestFault::Returned(_) | GuestFault::BadAnswer(_) | GuestFault::Waited(_) => FaultKind::Contract,
            GuestFault::Database(_) | GuestFault::Outdated(_) | GuestFault::NoCore => FaultKind::Host,
        }
    }
}

/// Checks that an answer can be sent: status 200 to 599, headers that HTTP allows, within the limit of bytes, and valid
/// JSON if that is its media type.
pub fn check_answer(response: &Response, limits: &PluginLimits) -> Result<(), GuestFault> {
    let bytes = match &response.content {
        Content::Empty => 0,
        Content::Json(text) => text.len(),
        Content::Other(blob) => blob.bytes.len(),
    };
    if bytes as u64 > limits.answer_bytes {
        let max = limits.answer_bytes;
        return Err(GuestFault::Limit(format!(
            "gave an answer of {bytes} bytes, more than {max} (limits.answer-bytes)"
        )));
    }
    if !(200..=599).contains(&response.status) {
        return Err(GuestFault::BadAnswer(format!("status {}, outside of 200 to 599", response.status)));
    }
    check_header_sizes(response)?;
    for header in &response.headers {
        let valid = http::HeaderName::from_bytes(header.name.as_bytes()).is_ok()
            && http::HeaderValue::from_str(&header.value).is_ok();
        if !valid {
            return Err(GuestFault::BadAnswer(format!(
                "header {:?} has a name or value that HTTP does not allow",
                header.name
            )));
        }
    }
    check_content(&response.content)
}

fn check_header_sizes(response: &Response) -> Result<(), GuestFault> {
    let headers = &response.headers;
    if headers.len() > HEADERS_MAX {
        return Err(GuestFault::Limit(format!(
            "gave an answer with {} headers, more than {HEADERS_MAX}",
            headers.len()
        )));
    }
    if let Some(long) = headers.iter().find(|header| header.value.len() > HEADER_VALUE_BYTES_MAX) {
        let (name, bytes) = (&long.name, long.value.len());
        let text = format!("gave the header {name:.80?} a value of {bytes} bytes, more than {HEADER_VALUE_BYTES_MAX}");
        return Err(GuestFault::Limit(text));
    }
    let bytes: usize = headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    if bytes > HEADERS_BYTES_MAX {
        let text = format!("gave an answer with {bytes} bytes of headers, more than {HEADERS_BYTES_MAX}");
        return Err(GuestFault::Limit(text));
    }
    Ok(())
}

/// Checks that JSON is valid and that the media type can be sent. After the commit it is too late for that.
fn check_content(content: &Content) -> Result<(), GuestFault> {
    match content {
        Content::Empty => Ok(()),
        Content::Json(text) => serde_json::from_str::<&serde_json::value::RawValue>(text)
            .map(|_| ())
            .map_err(|error| GuestFault::BadAnswer(format!("a body that is not JSON: {error}"))),
        Content::Other(blob) if blob.media_type.len() > HEADER_VALUE_BYTES_MAX => {
            let (bytes, max) = (blob.media_type.len(), HEADER_VALUE_BYTES_MAX);
            Err(GuestFault::Limit(format!("gave a media type of {bytes} bytes, more than {max}")))
        }
        Content::Other(blob) => http::HeaderValue::from_str(&blob.media_type).map(|_| ()).map_err(|_| {
            GuestFault::BadAnswer(format!("the media type {:?}, which HTTP does not allow", blob.media_type))
        }),
    }
}
