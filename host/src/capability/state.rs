//! What one instance may see and use while it runs: the data of its `wasmtime::Store`.
//!
//! Made for one run of one call and dropped with it, so nothing of one tenant can reach the next. Every import passes
//! `meter` or `count` first.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use prometheus::IntCounter;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tenon_bindings::tenon::plugin::log::Level;
use wasmtime::bail;

use super::{
    ClosedWasi, Passwords, Questions,
    log_limit::{Admission, LogBudget, LogLimit, LogShare},
    memory_meter::{MemoryMeter, whole_steps},
    sampler::{Sampler, Sampling},
};
use crate::clock::Timestamp;
use crate::outbound::OutboundConfig;
use crate::{
    budget::Charge,
    chains::Chains,
    changes::{change_set::DecidedBy, endpoint::SigningKey, envelope::Envelope},
    commit::draft::Draft,
    config::{DestinationConfig, PluginLimits},
    fair::cores::CoreUse,
    keyring::Keyring,
    limits::{
        CALL_LOG_BYTES_MAX, CALL_LOG_LINES_MAX, EPOCH_TICK_MS, PLUGIN_LOG_BYTES_PER_SECOND_MAX,
        PLUGIN_LOG_LINES_PER_SECOND_MAX,
    },
    outbound::{Outside, UrlRefusal, check_base_url, check_url},
};

/// What all plugins of a host share.
#[derive(Clone)]
pub struct Shared {
    pub outside: Arc<Outside>,
    pub keyring: Arc<Keyring>,
    pub chains: Chains,
}

#[cfg(test)]
impl Shared {
    /// Nothing may be called, everything is signed with zeroes, and there are no keys.
    pub fn bare() -> Shared {
        let outside = Outside {
            signing: crate::secrets::SigningRoot::new(Default::default()),
            sealing: Arc::new(crate::secrets::SealingRoot::new(Default::default())),
            addresses: OutboundConfig::default(),
        };
        Shared { outside: Arc::new(outside), keyring: Arc::new(Keyring::closed().unwrap()), chains: Chains::default() }
    }
}

/// Log output of a generation in one second.
pub struct LogLimits {
    /// Limit of the lines that it logs and prints.
    pub lines: LogLimit,
    /// Limit of the lines about its faults: a plugin that logs too much must not hide them.
    pub faults: LogLimit,
}

impl LogLimits {
    /// `dropped` counts the lines of both kinds that were not written.
    pub fn new(dropped: &IntCounter) -> LogLimits {
        let share = LogShare { lines: PLUGIN_LOG_LINES_PER_SECOND_MAX, bytes: PLUGIN_LOG_BYTES_PER_SECOND_MAX };
        LogLimits { lines: LogLimit::new(share, dropped.clone()), faults: LogLimit::new(share, dropped.clone()) }
    }

    #[cfg(test)]
    pub fn bare() -> LogLimits {
        LogLimits::new(&IntCounter::new("dropped", "dropped").unwrap())
    }
}

/// A limit of the call is used up, which ends the call. The text is for the operator and the author.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LimitReached(String);

/// What a running call needs to know of its generation.
pub struct Facts {
    pub plugin: Arc<str>,
    /// Counts the generations of this process, over all plugins; for metrics and logs.
    pub generation: u64,
    pub decided_by: Arc<DecidedBy>,
    pub limits: PluginLimits,
    pub settings: BTreeMap<String, serde_json::Value>,
    pub shared: Shared,
    /// Whether private keys may be shown.
    pub shows_private_keys: bool,
    /// Destinations that are the operator's.
    pub named: BTreeMap<Arc<str>, Arc<DestinationConfig>>,
    /// What it may emit, each with what surrounds it.
    pub event_types: HashMap<String, Envelope>,
    /// What it may schedule, and what effects may come back as.
    pub tasks: HashSet<String>,
    pub log: LogLimits,
    pub sampling: Sampling,
}

/// The data of one run's store.
pub struct CallState {
    facts: Arc<Facts>,
    request_id: Arc<str>,
    now: Timestamp,
    random: ChaCha8Rng,
    wasi: ClosedWasi,
    draft: Box<Draft>,
    questions: Questions,
    host_calls_left: u64,
    host_call_bytes_left: u64,
    log_budget: LogBudget,
    pub memory: MemoryMeter,
    /// Ticks of the engine's clock that the guest may still compute.
    ticks_left: u64,
    /// A host call waited through a tick: the next one that is counted was not the guest's.
    excused: bool,
    /// Its part of the processor; absent where the processor is not shared.
    core: Option<CoreUse>,
    /// The guest stated that its answer follows from its request and from what it read.
    repeatable: bool,
    /// It called no host function but those that read records or settings.
    reads_only: bool,
}

/// What the inputs of a call are besides the request; the same in every re-run, so that it can be replayed exactly.
#[derive(Clone)]
pub struct Inputs {
    pub request_id: Arc<str>,
    pub now: Timestamp,
    pub seed: [u8; 32],
}

impl CallState {
    pub fn new(facts: Arc<Facts>, inputs: &Inputs, draft: Box<Draft>, questions: Questions) -> CallState {
        let limits = &facts.limits;
        CallState {
            request_id: inputs.request_id.clone(),
            now: inputs.now,
            random: ChaCha8Rng::from_seed(inputs.seed),
            wasi: ClosedWasi::new(inputs.now, inputs.seed),
            draft,
            questions,
            host_calls_left: limits.host_calls,
            host_call_bytes_left: limits.host_call_bytes,
            log_budget: LogBudget::new(LogShare { lines: CALL_LOG_LINES_MAX, bytes: CALL_LOG_BYTES_MAX }),
            memory: MemoryMeter::new(limits),
            ticks_left: limits.compute_ms.div_ceil(EPOCH_TICK_MS),
            excused: false,
            core: None,
            repeatable: false,
            reads_only: true,
            facts,
        }
    }

    /// Sets the memory and processor time that the call may use, besides the limits of its plugin.
    pub fn with_resources(mut self, charge: Charge, core: CoreUse) -> CallState {
        self.memory.set_charge(charge);
        self.core = Some(core);
        self
    }

    /// To be awaited at each tick, before the guest computes on.
    pub fn next_tick(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        self.core.as_ref().map(CoreUse::next_tick)
    }

    /// Counts a host call that may wait for the database: others may compute meanwhile. Gives the moment for `excuse`.
    pub fn meter(&mut self, bytes: usize) -> wasmtime::Result<Instant> {
        self.count(bytes)?;
        if let Some(core) = &self.core {
            core.pause();
        }
        Ok(Instant::now())
    }

    /// Counts a host call and the bytes of its arguments, which the draft may keep. The call ends when its share is used up.
    pub fn count(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.reads_only = false;
        self.spend(bytes)?;
        self.charge_held(bytes)
    }

    /// Like [`CallState::meter`] for a host call that only reads records.
    pub fn meter_read(&mut self, bytes: usize) -> wasmtime::Result<Instant> {
        let reads_only = self.reads_only;
        let begun = self.meter(bytes)?;
        self.reads_only = reads_only;
        Ok(begun)
    }

    /// Like [`CallState::count`] for a host call whose result is the same in every call of the generation.
    pub fn count_constant(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let reads_only = self.reads_only;
        self.count(bytes)?;
        self.reads_only = reads_only;
        Ok(())
    }

    /// The guest states that its answer follows from its request, except `id` and `now`, and from what it read.
    pub fn note_repeatable(&mut self) {
        self.repeatable = true;
    }

    /// Whether an equal request would get an equal answer while what the call read is unchanged.
    pub fn is_repeatable(&self) -> bool {
        self.repeatable && self.reads_only && !self.wasi.is_open()
    }

    fn spend(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let Some(calls_left) = self.host_calls_left.checked_sub(1) else {
            let text = format!("made more than {} host calls (limits.host-calls)", self.facts.limits.host_calls);
            return Err(wasmtime::Error::new(LimitReached(text)));
        };
        let Some(bytes_left) = self.host_call_bytes_left.checked_sub(bytes as u64) else {
            let most = self.facts.limits.host_call_bytes;
            let text = format!("passed more than {most} bytes to the host (limits.host-call-bytes)");
            return Err(wasmtime::Error::new(LimitReached(text)));
        };
        (self.host_calls_left, self.host_call_bytes_left) = (calls_left, bytes_left);
        Ok(())
    }

    /// To be awaited at the end of a host call that `meter` counted. Waiting for the database is not computing.
    pub async fn excuse(&mut self, since: Instant) {
        self.excused |= since.elapsed() >= Duration::from_millis(EPOCH_TICK_MS);
        if let Some(resume) = self.core.as_ref().and_then(CoreUse::resume) {
            resume.await;
        }
    }

    /// A tick passed while the guest ran; `false` when it has used up its share.
    pub fn count_tick(&mut self) -> bool {
        if std::mem::take(&mut self.excused) {
            return true;
        }
        let left = self.ticks_left.checked_sub(1);
        self.ticks_left = left.unwrap_or_default();
        left.is_some()
    }

    /// The profile of the plugin that runs now.
    pub fn sampler(&self) -> Option<Arc<Sampler>> {
        self.facts.sampling.current()
    }

    /// Whether the tick that is counted next passed in a host call, which waited for longer than a tick.
    pub fn has_waited(&self) -> bool {
        self.excused
    }

    pub fn operation(&self) -> &Arc<str> {
        &self.draft.call().operation
    }

    /// Counts the bytes of the whole result of a host call, and charges them: they are copied into the guest.
    pub fn meter_answer(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.host_calls_left = self.host_calls_left.saturating_add(1);
        self.spend(bytes)?;
        self.charge_held(bytes)
    }

    /// Charges what the host holds for the call, and what comes to it, together with the memory of the guest. If the budget has
    /// no room, `memory` notes it: the run ends as after a refused growth.
    pub fn charge_held(&mut self, more: usize) -> wasmtime::Result<()> {
        let held = self.draft.held_bytes().saturating_add(self.questions.open_bytes());
        if !self.memory.charge_held(held.saturating_add(more) as u64) {
            bail!("made the host hold more than the memory budget has room for");
        }
        Ok(())
    }

    /// The charge of the run for what comes after it. The draft keeps the part for its changes until they are durable or
    /// dropped.
    pub fn take_charge(&mut self) -> Option<Charge> {
        let (mut charge, held) = self.memory.take_charge()?;
        let kept = held.min(whole_steps(self.draft.changed_bytes() as u64));
        if kept > 0 {
            self.draft.keep_charge(charge.split(kept));
        }
        Some(charge)
    }

    pub fn draft(&mut self) -> &mut Draft {
        &mut self.draft
    }

    /// What the run collected and asked, once it is over.
    pub fn into_parts(self) -> (Box<Draft>, Questions) {
        (self.draft, self.questions)
    }

    pub(super) fn questions(&mut self) -> &mut Questions {
        &mut self.questions
    }

    pub(super) fn passwords(&mut self) -> &mut Passwords {
        &mut self.questions.passwords
    }

    /// What was not declared would run in vain.
    pub(super) fn check_task(&self, name: &str) -> wasmtime::Result<()> {
        if !self.facts.tasks.contains(name) {
            bail!("named the task {name:.80?}, which its manifest does not declare");
        }
        Ok(())
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn random_array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    pub fn fill_random(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }

    pub fn setting(&self, key: &str) -> Option<&serde_json::Value> {
        self.facts.settings.get(key)
    }

    fn tenant(&self) -> &str {
        self.draft.call().scope.as_ref().map_or("", |scope| scope.tenant())
    }

    /// Whether the calling tenant may have something sent there; names are looked up when they are connected to.
    pub fn check_url(&self, url: &str) -> Result<(), UrlRefusal> {
        let (tenant, addresses) = (self.tenant(), &self.facts.shared.outside.addresses);
        check_url(url, addresses.rule(tenant), OutboundConfig::scheme(tenant)).map(|_| ())
    }

    /// The same for an address that paths come below.
    pub fn check_base_url(&self, url: &str) -> Result<(), UrlRefusal> {
        let (tenant, addresses) = (self.tenant(), &self.facts.shared.outside.addresses);
        check_base_url(url, addresses.rule(tenant), OutboundConfig::scheme(tenant)).map(|_| ())
    }

    pub fn outside(&self) -> Arc<Outside> {
        self.facts.shared.outside.clone()
    }

    pub(super) fn keyring(&self) -> Arc<Keyring> {
        self.facts.shared.keyring.clone()
    }

    pub(super) fn chains(&self) -> &Chains {
        &self.facts.shared.chains
    }

    pub(super) fn shows_private_keys(&self) -> bool {
        self.facts.shows_private_keys
    }

    /// Whether the operator has a destination of this name for the calling tenant.
    pub fn is_named(&self, name: &str) -> bool {
        self.facts.named.get(name).is_some_and(|named| named.is_named_for(self.tenant()))
    }

    /// What an endpoint of the calling tenant signs with. `None` for an anonymous call.
    pub fn secret_text(&self, endpoint: &str, key: &SigningKey) -> Option<String> {
        let scope = self.draft.call().scope.as_ref()?;
        let secret = self.facts.shared.outside.signing.text(&key.signer(scope, endpoint));
        secret.ok().map(|secret| secret.expose().to_owned())
    }

    /// Collects an event; `only` names the one endpoint that a test event goes to.
    pub fn emit(&mut self, about: (&str, &str), payload: &str, only: Option<&str>) -> wasmtime::Result<String> {
        let Some(envelope) = self.facts.event_types.get(about.0) else {
            bail!("emitted the event type {:?}, which its manifest does not declare", about.0);
        };
        self.draft.emit(envelope, about, payload, only).map_err(wasmtime::Error::new)
    }

    /// For lines of the journal.
    pub(super) fn decided_by(&self) -> Arc<DecidedBy> {
        self.facts.decided_by.clone()
    }

    pub(crate) fn wasi_mut(&mut self) -> &mut ClosedWasi {
        &mut self.wasi
    }

    /// What the guest printed (a panic message, as a rule).
    pub fn output(&self) -> Option<String> {
        self.wasi.output()
    }

    /// Writes a line of the plugin, under its own name and never under the host's, within the limits of a call and a second.
    pub fn log_line(&mut self, level: Level, message: &str, fields: &str) {
        let admission = self.facts.log.lines.admit_of_call(&mut self.log_budget, message.len() + fields.len());
        let (plugin, generation, request) = (&*self.facts.plugin, self.facts.generation, &*self.request_id);
        match (admission, level) {
            (Admission::Drop, _) => {}
            (Admission::Announce, _) => announce_dropped(plugin, generation, request),
            (_, Level::Trace) => tracing::trace!(target: "plugin", plugin, generation, request, fields, "{message}"),
            (_, Level::Debug) => tracing::debug!(target: "plugin", plugin, generation, request, fields, "{message}"),
            (_, Level::Info) => tracing::info!(target: "plugin", plugin, generation, request, fields, "{message}"),
            (_, Level::Warn) => tracing::warn!(target: "plugin", plugin, generation, request, fields, "{message}"),
            (_, Level::Error) => tracing::error!(target: "plugin", plugin, generation, request, fields, "{message}"),
        }
    }
}

/// Reports once for a call, and once for a plugin in a second, that lines are missing.
pub fn announce_dropped(plugin: &str, generation: u64, request: &str) {
    tracing::warn!(
        plugin,
        generation,
        request,
        "log lines are dropped: a call may write {CALL_LOG_LINES_MAX} lines and {CALL_LOG_BYTES_MAX} bytes, a plugin \
         {PLUGIN_LOG_LINES_PER_SECOND_MAX} lines and {PLUGIN_LOG_BYTES_PER_SECOND_MAX} bytes a second"
    );
}
