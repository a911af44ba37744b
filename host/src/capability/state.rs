//! State of one running instance: the data of its `wasmtime::Store`.
//!
//! It is created for one run of one call and dropped with it, so no data of one tenant can reach another. Every host
//! function of the contract calls `meter`, `count` or a variant of them first.

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
use crate::outbound::OutboundConfig;
use crate::{
    budget::Charge,
    chains::Chains,
    changes::{change_set::DecidedBy, endpoint::SigningKey, envelope::Envelope},
    clock::Timestamp,
    commit::draft::Draft,
    config::{DestinationConfig, PluginLimits},
    fair::cores::CoreUse,
    keyring::Keyring,
    limits::{
        CALL_LOG_BYTES_MAX, CALL_LOG_LINES_MAX, EPOCH_TICK_MS, PLUGIN_LOG_BYTES_PER_SECOND_MAX,
        PLUGIN_LOG_LINES_PER_SECOND_MAX,
    },
    outbound::{OutboundContext, UrlError, check_base_url, check_url},
};

/// Resources that all plugins of a host share.
#[derive(Clone)]
pub struct Shared {
    pub outbound_context: Arc<OutboundContext>,
    pub keyring: Arc<Keyring>,
    pub chains: Chains,
}

#[cfg(test)]
impl Shared {
    /// Returns resources for tests: only public addresses are allowed, secrets are derived from zeroes, no keys.
    pub fn bare() -> Shared {
        let outbound_context = OutboundContext {
            signing: crate::secrets::SigningRoot::new(Default::default()),
            sealing: Arc::new(crate::secrets::SealingRoot::new(Default::default())),
            addresses: OutboundConfig::default(),
        };
        Shared {
            outbound_context: Arc::new(outbound_context),
            keyring: Arc::new(Keyring::closed().unwrap()),
            chains: Chains::default(),
        }
    }
}

/// Limits of the log output of a generation in each second.
pub struct LogLimits {
    /// Limit of the lines that the plugin logs and prints.
    pub lines: LogLimit,
    /// Limit of the lines about the plugin's faults: a plugin that logs too much must not hide them.
    pub faults: LogLimit,
}

impl LogLimits {
    /// Creates the limits. `dropped` counts the lines of both kinds that were not written.
    pub fn new(dropped: &IntCounter) -> LogLimits {
        let share = LogShare { lines: PLUGIN_LOG_LINES_PER_SECOND_MAX, bytes: PLUGIN_LOG_BYTES_PER_SECOND_MAX };
        LogLimits { lines: LogLimit::new(share, dropped.clone()), faults: LogLimit::new(share, dropped.clone()) }
    }

    #[cfg(test)]
    pub fn bare() -> LogLimits {
        LogLimits::new(&IntCounter::new("dropped", "dropped").unwrap())
    }
}

/// Trap for a call that has used up a limit. The message is for the operator and the plugin's author.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LimitReached(String);

/// Properties of a generation that a running call needs.
pub struct Facts {
    pub plugin: Arc<str>,
    /// Number of the generation, counted over all plugins of this process. For metrics and logs.
    pub generation: u64,
    pub decided_by: Arc<DecidedBy>,
    pub limits: PluginLimits,
    pub settings: BTreeMap<String, serde_json::Value>,
    pub shared: Shared,
    /// Whether the plugin may read private keys.
    pub shows_private_keys: bool,
    /// Destinations of the operator, by name.
    pub operator_destinations: BTreeMap<Arc<str>, Arc<DestinationConfig>>,
    /// Event types that the plugin may emit, each with its envelope.
    pub event_types: HashMap<String, Envelope>,
    /// Tasks that the plugin may schedule, also as outcomes of effects.
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
    /// Remaining engine ticks of guest computation.
    ticks_left: u64,
    /// A host call waited for longer than a tick: the next counted tick is not charged to the guest.
    waited_past_tick: bool,
    /// The call's share of the processor. `None` if the processor is not shared.
    core: Option<CoreUse>,
    /// The guest stated that its answer depends only on its request and on the records that it read.
    repeatable: bool,
    /// The guest called only host functions that read records or settings.
    reads_only: bool,
}

/// Inputs of a call besides the request. They are the same in every run, so that a call can be replayed exactly.
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
            waited_past_tick: false,
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

    /// Returns a future to await at each tick before the guest continues.
    pub fn next_tick(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        self.core.as_ref().map(CoreUse::next_tick)
    }

    /// Counts a host call that may wait for the database, and begins its wait. A host call that may return to the guest
    /// without a wait uses [`CallState::count`], and [`CallState::begin_wait`] after its checks.
    pub fn meter(&mut self, bytes: usize) -> wasmtime::Result<Instant> {
        self.count(bytes)?;
        Ok(self.begin_wait())
    }

    /// Releases the core while a host call waits. Returns the start time for `end_wait`, without which the guest would
    /// continue without a core.
    pub fn begin_wait(&self) -> Instant {
        if let Some(core) = &self.core {
            core.pause();
        }
        Instant::now()
    }

    /// Counts a host call and the bytes of its arguments, which the draft may keep. Returns a trap if a limit of the
    /// call is used up or the memory budget has no room.
    pub fn count(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.reads_only = false;
        self.spend(bytes)?;
        self.charge_held(bytes)
    }

    /// Counts a host call that only reads records, like [`CallState::meter`].
    pub fn meter_read(&mut self, bytes: usize) -> wasmtime::Result<Instant> {
        let reads_only = self.reads_only;
        let wait_started = self.meter(bytes)?;
        self.reads_only = reads_only;
        Ok(wait_started)
    }

    /// Counts a host call whose result is the same in every call of the generation, like [`CallState::count`].
    pub fn count_constant(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let reads_only = self.reads_only;
        self.count(bytes)?;
        self.reads_only = reads_only;
        Ok(())
    }

    /// Notes that the guest's answer depends only on its request, except `id` and `now`, and on the records that it
    /// read.
    pub fn note_repeatable(&mut self) {
        self.repeatable = true;
    }

    /// Returns whether an equal request would get an equal answer as long as the records that the call read are
    /// unchanged.
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

    /// Ends the wait of a host call. Waiting for the database is not charged as computation.
    pub async fn end_wait(&mut self, since: Instant) {
        self.waited_past_tick |= since.elapsed() >= Duration::from_millis(EPOCH_TICK_MS);
        if let Some(resume) = self.core.as_ref().and_then(CoreUse::resume) {
            resume.await;
        }
    }

    /// Counts a tick that passed while the guest ran. Returns `false` if the guest has used up its limit.
    pub fn count_tick(&mut self) -> bool {
        if std::mem::take(&mut self.waited_past_tick) {
            return true;
        }
        let left = self.ticks_left.checked_sub(1);
        self.ticks_left = left.unwrap_or_default();
        left.is_some()
    }

    /// Returns the sampler of the plugin's running profile.
    pub fn sampler(&self) -> Option<Arc<Sampler>> {
        self.facts.sampling.current()
    }

    /// Returns whether the next counted tick passed in a host call that waited for longer than a tick.
    pub fn has_waited(&self) -> bool {
        self.waited_past_tick
    }

    pub fn operation(&self) -> &Arc<str> {
        &self.draft.call().operation
    }

    /// Counts and charges the bytes of the whole result of a host call, which are copied into the guest.
    pub fn meter_result(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.host_calls_left = self.host_calls_left.saturating_add(1);
        self.spend(bytes)?;
        self.charge_held(bytes)
    }

    /// Charges the bytes that the host holds for the call, plus `more`, together with the memory of the guest.
    ///
    /// # Errors
    ///
    /// Fails if the budget has no room. `memory` notes it, and the run ends as after a denied memory growth.
    pub fn charge_held(&mut self, more: usize) -> wasmtime::Result<()> {
        let held = self.draft.held_bytes().saturating_add(self.questions.pending_bytes());
        if !self.memory.charge_held(held.saturating_add(more) as u64) {
            bail!("made the host hold more than the memory budget has room for");
        }
        Ok(())
    }

    /// Takes the charge of the run for the work after it. The draft keeps the part for its changes until they are
    /// durable or dropped.
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

    /// Returns the collected changes and the questions of a run that is over.
    pub fn into_parts(self) -> (Box<Draft>, Questions) {
        (self.draft, self.questions)
    }

    pub(super) fn questions(&mut self) -> &mut Questions {
        &mut self.questions
    }

    pub(super) fn passwords(&mut self) -> &mut Passwords {
        &mut self.questions.passwords
    }

    /// Checks that the manifest declares the task. An undeclared task could not run.
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

    /// Checks whether the calling tenant may use this URL as a target. Host names are resolved at connect time.
    pub fn check_url(&self, url: &str) -> Result<(), UrlError> {
        let (tenant, addresses) = (self.tenant(), &self.facts.shared.outbound_context.addresses);
        check_url(url, addresses.rule(tenant), OutboundConfig::scheme(tenant)).map(|_| ())
    }

    /// Checks a URL that paths are appended to.
    pub fn check_base_url(&self, url: &str) -> Result<(), UrlError> {
        let (tenant, addresses) = (self.tenant(), &self.facts.shared.outbound_context.addresses);
        check_base_url(url, addresses.rule(tenant), OutboundConfig::scheme(tenant)).map(|_| ())
    }

    pub fn outbound_context(&self) -> Arc<OutboundContext> {
        self.facts.shared.outbound_context.clone()
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

    /// Returns whether the operator has a destination of this name for the calling tenant.
    pub fn is_operator_destination(&self, name: &str) -> bool {
        self.facts.operator_destinations.get(name).is_some_and(|destination| destination.is_named_for(self.tenant()))
    }

    /// Returns the signing secret of an endpoint of the calling tenant, or `None` for an anonymous call.
    pub fn secret_text(&self, endpoint: &str, key: &SigningKey) -> Option<String> {
        let scope = self.draft.call().scope.as_ref()?;
        let secret = self.facts.shared.outbound_context.signing.text(&key.signer(scope, endpoint));
        secret.ok().map(|secret| secret.expose().to_owned())
    }

    /// Collects an event. `only` restricts a test event to one endpoint.
    pub fn emit(&mut self, about: (&str, &str), payload: &str, only: Option<&str>) -> wasmtime::Result<String> {
        let Some(envelope) = self.facts.event_types.get(about.0) else {
            bail!("emitted the event type {:?}, which its manifest does not declare", about.0);
        };
        self.draft.emit(envelope, about, payload, only).map_err(wasmtime::Error::new)
    }

    /// Returns the author of journal lines.
    pub(super) fn decided_by(&self) -> Arc<DecidedBy> {
        self.facts.decided_by.clone()
    }

    pub(crate) fn wasi_mut(&mut self) -> &mut ClosedWasi {
        &mut self.wasi
    }

    /// Returns what the guest printed, usually a panic message.
    pub fn output(&self) -> Option<String> {
        self.wasi.output()
    }

    /// Writes a log line under the plugin's name, within the limits of a call and of a second.
    pub fn log_line(&mut self, level: Level, message: &str, fields: &str) {
        let admission = self.facts.log.lines.admit_for_call(&mut self.log_budget, message.len() + fields.len());
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

/// Logs that lines are missing. Called once for a call, and once for a plugin in a second.
pub fn announce_dropped(plugin: &str, generation: u64, request: &str) {
    tracing::warn!(
        plugin,
        generation,
        request,
        "log lines are dropped: a call may write {CALL_LOG_LINES_MAX} lines and {CALL_LOG_BYTES_MAX} bytes, a plugin \
         {PLUGIN_LOG_LINES_PER_SECOND_MAX} lines and {PLUGIN_LOG_BYTES_PER_SECOND_MAX} bytes a second"
    );
}
