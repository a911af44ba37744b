//! Steps that calls of requests and tasks share: permits, runs, commits, questions, and the log of faults.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::{
    sync::SemaphorePermit,
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use super::{
    Calls, Inputs,
    bulkhead::CallPermit,
    guest::{self, GuestFault, Input, Run},
    limiter::LimiterKey,
    seeds,
};
use crate::{
    budget::{Charge, Party},
    capability::{self, Questions, announce_dropped, log_limit::Admission},
    changes::{outgoing::OutgoingCall, scope::Scope},
    commit::{
        committer::{Changes, CommitError, Conflict, RegisteredReads, Reservation},
        draft::{CallIdentity, Draft},
    },
    fair::{Queueing, Request, cores::CoreUse},
    host_error::HostError,
    limits::{
        CONFLICTS_BEFORE_RESERVATION, DURABLE_WAIT_MS, HELD_BYTES_MAX, HELD_STEP_BYTES, PERMIT_WAIT_PERCENT,
        QUESTION_ROUNDS_MAX,
    },
    plugin::{
        estimate::MemoryEstimate,
        exchange::{Answer, CallResponse},
        generation::Generation,
    },
    secrets::password::PasswordWork,
};

/// A call that is being performed: the values that are the same in all of its runs.
pub(super) struct Call<'a> {
    pub calls: &'a Calls,
    pub generation: &'a Generation,
    /// Operation of the route, or name of the task.
    pub operation: &'a str,
    pub deadline: Instant,
    /// Party whose share of permits, memory and processor the call uses: a tenant, or an address.
    party: Party,
    memory: &'a MemoryEstimate,
    /// Latest time of a permit for the first run: a call that begins later would hardly be answered in time.
    permit_by: Instant,
    pub inputs: Inputs,
    pub identity: CallIdentity,
}

/// Caller and purpose of a call.
pub(super) struct Caller<'a> {
    pub tenant: Arc<str>,
    pub party: Party,
    pub subject: Arc<str>,
    pub operation: &'a str,
    pub request_id: Arc<str>,
    pub hops: u8,
    /// Memory that such calls need.
    pub memory: &'a MemoryEstimate,
}

/// Permits that one run holds.
pub(super) struct RunPermits<'a> {
    _call: CallPermit,
    _own: CallPermit,
    _slots: SemaphorePermit<'a>,
    charge: Charge,
}

impl RunPermits<'_> {
    /// Releases the permit of the plugin and the slots.
    pub fn into_charge(self) -> Charge {
        self.charge
    }
}

/// State of a call between its runs: conflicts, and the questions so far.
#[derive(Default)]
pub(super) struct RetryState {
    runs: u32,
    conflicts: u32,
    question_rounds: u32,
    /// Minimum number of bytes to charge for the next run. 0 until a run exceeds the memory budget.
    memory_bytes: u64,
    /// Conflict for which the next run takes a reservation.
    last_conflict: Option<Conflict>,
    reservation: Option<Reservation>,
    pub questions: Questions,
    /// Charges of the questions, of their replies, and of a small body.
    pub charges: Vec<Charge>,
}

impl RetryState {
    /// Keeps the questions of the run that ended. Questions without a reply are kept only if the call `waits` for them.
    pub fn keep_questions(&mut self, questions: Questions, waits: bool) {
        self.questions = questions;
        if !waits {
            self.questions.remove_pending();
        }
    }

    /// Returns true if the call has sent a question.
    pub fn has_questions(&self) -> bool {
        self.question_rounds > 0
    }
}

/// Reason why a run has no result.
pub(super) enum RunError {
    /// The call runs again: after a conflict, an exceeded memory budget, a reply to a question, or a computed password.
    Retry,
    Failed(HostError),
    /// Like `Failed`; the cause was already logged as an error.
    Broken(HostError),
    /// See [`CallError::Outdated`](super::CallError::Outdated).
    Outdated,
}

impl<'a> Call<'a> {
    pub fn new(
        calls: &'a Calls,
        generation: &'a Generation,
        caller: Caller<'a>,
        deadline: Instant,
    ) -> Result<Call<'a>, HostError> {
        let seed = seeds::next().map_err(|error| {
            tracing::error!("failed to read random numbers from the operating system: {error}");
            HostError::Unavailable
        })?;
        let Caller { tenant, party, subject, operation, request_id, memory, hops } = caller;
        let inputs = Inputs { request_id: request_id.clone(), now: calls.clock.now(), seed };
        let identity = CallIdentity {
            scope: Scope::new(generation.facts.plugin.clone(), tenant),
            model: generation.model.clone(),
            now: inputs.now,
            subject,
            operation: operation.into(),
            request_id,
            seed,
            hops,
        };
        let begun = Instant::now();
        let permit_by = begun + deadline.saturating_duration_since(begun) * PERMIT_WAIT_PERCENT / 100;
        Ok(Call { calls, generation, operation, deadline, party, memory, permit_by, inputs, identity })
    }

    /// Begins a draft. It is boxed because it has 1.7 kB, and a run moves it a dozen times.
    pub fn begin(&self) -> Box<Draft> {
        Box::new(self.calls.committer.begin(self.identity.clone()))
    }

    /// Runs the guest once, with the replies so far. Permits are released when it ends; its charge is kept.
    pub async fn run<I: Input>(
        &self,
        input: &I,
        draft: Box<Draft>,
        state: &mut RetryState,
        permits: RunPermits<'_>,
    ) -> Run<I::Output> {
        let questions = std::mem::take(&mut state.questions);
        let party = (self.generation.facts.plugin.clone(), self.party.clone());
        let core = CoreUse::new(self.calls.cores.clone(), party);
        let start = guest::Start {
            inputs: &self.inputs,
            draft,
            questions,
            deadline: self.deadline,
            charge: permits.charge,
            core: core.clone(),
        };
        let run = {
            let run = pin!(guest::run(self.generation, input, start));
            let begin_by = if state.runs > 1 { self.deadline } else { self.permit_by };
            core.run(run, begin_by).await.unwrap_or_else(|| Run::cut_off(GuestFault::NoCore))
        };
        if let Some(bytes) = run.memory_bytes {
            self.memory.record(&self.party, bytes);
        }
        run
    }

    /// Returns true if a run that exceeded the memory budget may begin again with as much as it needed. The call holds
    /// nothing while it waits.
    pub fn waits_for_memory(&self, fault: &GuestFault, state: &mut RetryState) -> bool {
        let GuestFault::Budget(bytes) = fault else { return false };
        let limit = self.calls.budget.calls_limit();
        let usual_max = self.generation.facts.limits.memory_bytes.saturating_add(HELD_BYTES_MAX).min(limit);
        let bytes = state.memory_bytes.saturating_mul(2).min(usual_max).max(*bytes);
        let can_have = bytes > state.memory_bytes && bytes <= limit;
        state.memory_bytes = bytes;
        can_have
    }

    /// Keeps the bytes of an answer charged until they are sent.
    pub fn charge_answer(&self, answer: Answer, charge: Option<Charge>) -> CallResponse {
        let bytes = answer.charged_bytes();
        CallResponse::Whole(answer, charge.map(|charge| self.calls.budget.keep_answer(charge, bytes)))
    }

    pub fn is_past_deadline(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Takes a permit of the generation, memory, and slots of the plugin's part of the pool and of the pool. The caller
    /// releases them before it waits for the disk or for a reservation. Only a first run may be refused, while there is
    /// time to answer: a call that has run once is performed to its end.
    pub async fn take_permits(&self, state: &mut RetryState) -> Result<RunPermits<'_>, HostError> {
        if let Some(last_conflict) = state.last_conflict.take() {
            let taken = timeout_at(self.deadline, self.calls.committer.reserve(&last_conflict)).await;
            state.reservation = Some(taken.map_err(|_late| HostError::DeadlineExceeded)?);
        }
        state.runs += 1;
        let is_first = state.runs == 1;
        let (queueing, until) = match is_first {
            true => (Queueing::Bounded, self.permit_by),
            false => (Queueing::Reserved, self.deadline),
        };
        let _waiting = self.generation.metrics.wait();
        let call = self.generation.bulkhead.take_permit(&self.party, queueing, until).await?;
        let budget = &self.calls.budget;
        let amount = self.memory.bytes(&self.party).min(budget.estimate_max()).max(state.memory_bytes);
        let charge = budget.charge_call(&self.party, Request { amount, rank: 0, queueing }, until).await;
        let charge = charge.map_err(|_no_memory| HostError::Unavailable)?;
        let own = self.generation.pool.take_slots(&self.party, self.generation.slots, until).await?;
        match timeout_at(until, self.calls.slots.acquire_many(self.generation.slots)).await {
            Ok(slots) => {
                let slots = slots.map_err(|_closed| HostError::Unavailable)?;
                Ok(RunPermits { _call: call, _own: own, _slots: slots, charge })
            }
            Err(_) => Err(HostError::DeadlineExceeded),
        }
    }

    /// Commits a draft and returns once it is durable. Takes no reservation after a conflict: the caller still holds
    /// its answer.
    pub async fn commit(&self, changes: Changes, state: &mut RetryState) -> Result<(), RunError> {
        let changes = changes.until(self.deadline);
        let bytes = changes.bytes();
        let committed =
            timeout_at(self.commit_deadline(), self.calls.committer.commit(changes, state.reservation.as_mut())).await;
        committed.unwrap_or(Err(CommitError::OutcomeUnknown)).map_err(|error| self.run_error(error, state))?;
        if let Some(scope) = &self.identity.scope {
            self.calls.disk.record_written(scope.tenant(), bytes);
        }
        Ok(())
    }

    /// Commits a call that changed nothing, like [`Call::commit`], and registers its reads. Returns `None` if a value
    /// that it read may have changed, if it has too many reads, or if it belongs to no tenant.
    pub async fn register_reads(
        &self,
        changes: Changes,
        state: &mut RetryState,
    ) -> Result<Option<RegisteredReads>, RunError> {
        let registered = timeout_at(self.commit_deadline(), self.calls.committer.register_reads(changes)).await;
        registered.unwrap_or(Err(CommitError::OutcomeUnknown)).map_err(|error| self.run_error(error, state))
    }

    /// Returns the time until which a commit is awaited.
    fn commit_deadline(&self) -> Instant {
        self.deadline.max(Instant::now()) + Duration::from_millis(DURABLE_WAIT_MS)
    }

    fn run_error(&self, error: CommitError, state: &mut RetryState) -> RunError {
        match error {
            CommitError::Conflict(last_conflict) => {
                state.conflicts += 1;
                if (state.conflicts >= CONFLICTS_BEFORE_RESERVATION || last_conflict.is_reserved())
                    && state.reservation.is_none()
                {
                    state.last_conflict = Some(last_conflict);
                }
                RunError::Retry
            }
            CommitError::Discarded => {
                // The reservation ended when the change set was accepted.
                state.reservation = None;
                RunError::Retry
            }
            CommitError::Late => RunError::Failed(HostError::DeadlineExceeded),
            CommitError::Busy => RunError::Failed(HostError::Unavailable),
            error => RunError::Broken(self.report(&error)),
        }
    }

    fn report(&self, error: &CommitError) -> HostError {
        tracing::error!(
            plugin = &*self.generation.facts.plugin,
            operation = self.operation,
            request_id = &*self.inputs.request_id,
            "commit failed: {error}"
        );
        match error {
            CommitError::OutcomeUnknown => HostError::OutcomeUnknown,
            CommitError::Poisoned(_) => HostError::PluginFailed,
            _ => HostError::Unavailable,
        }
    }

    /// Sends the open questions and waits for their replies. Nothing else of the run is kept.
    ///
    /// # Errors
    ///
    /// No question is open, the call has waited too often, or the memory budget has no room for the questions.
    pub async fn wait(&self, state: &mut RetryState) -> Result<(), GuestFault> {
        let is_open = state.questions.pending().next().is_some();
        let Some(scope) = self.identity.scope.as_ref().filter(|_| is_open) else {
            return Err(GuestFault::Waited("without an open question"));
        };
        state.question_rounds += 1;
        state.reservation = None;
        if state.question_rounds > QUESTION_ROUNDS_MAX {
            return Err(GuestFault::Waited("in more rounds than a call has"));
        }
        self.charge_questions(state).await?;
        let replies = state.questions.pending().map(|(key, call)| self.answer_question(scope, key, call));
        for (key, reply, charge) in join_all(replies).await {
            state.questions.set_result(&key, reply);
            state.charges.extend(charge);
        }
        Ok(())
    }

    /// Charges the open questions until the call ends. Small questions are free, as while the call runs.
    async fn charge_questions(&self, state: &mut RetryState) -> Result<(), GuestFault> {
        let bytes = state.questions.pending_bytes() as u64;
        if bytes < HELD_STEP_BYTES {
            return Ok(());
        }
        let charge = self.calls.budget.charge_arrived(&self.party, bytes).await;
        state.charges.push(charge.ok_or(GuestFault::Budget(bytes))?);
        Ok(())
    }

    async fn answer_question(
        &self,
        scope: &Scope,
        key: &str,
        call: &OutgoingCall,
    ) -> (String, capability::QuestionResult, Option<Charge>) {
        let (reply, charge) = self.charge_reply(self.send_question(scope, call).await).await;
        (key.to_owned(), reply, charge)
    }

    /// Charges a reply until the call ends. Replaces a reply that exceeds the budget of the party with the error
    /// "too-large".
    async fn charge_reply(&self, reply: capability::QuestionResult) -> (capability::QuestionResult, Option<Charge>) {
        let bytes = reply.as_ref().map_or(0, |answer| answer.content.bytes().len() as u64);
        match self.calls.budget.charge_arrived(&self.party, bytes).await {
            Some(charge) => (reply, Some(charge)),
            None => (Err("too-large".to_owned()), None),
        }
    }

    /// Computes the password that a run needs, with a permit of its tenant. Nothing of that run is kept. A call that
    /// gets no permit fails with `Unavailable`.
    pub async fn compute(&self, work: PasswordWork, state: &mut RetryState) -> RunError {
        state.reservation = None;
        let permit = timeout_at(self.deadline, self.calls.password_limiter.acquire(self.limiter_key())).await;
        let Ok(Some(permit)) = permit else { return RunError::Failed(HostError::Unavailable) };
        let computed = spawn_blocking(move || {
            let outcome = work.compute();
            // Held until the work ends, even if the call ends earlier.
            drop(permit);
            (work, outcome)
        });
        match computed.await {
            Ok((work, outcome)) => state.questions.passwords.record(work, outcome),
            Err(error) => {
                tracing::error!("failed to compute a password: {error}");
                return RunError::Broken(HostError::Unavailable);
            }
        }
        RunError::Retry
    }

    /// Returns the plugin and the party. Callers of open routes are distinguished by their addresses.
    fn limiter_key(&self) -> LimiterKey {
        (self.generation.facts.plugin.clone(), self.party.clone())
    }

    /// Waits for a permit of its tenant and of the host, and sends a question.
    async fn send_question(&self, scope: &Scope, call: &OutgoingCall) -> capability::QuestionResult {
        let permit = timeout_at(self.deadline, self.calls.question_limiter.acquire(self.limiter_key())).await;
        let Ok(Some(_permit)) = permit else { return Err("timeout".to_owned()) };
        let within = self.deadline.saturating_duration_since(Instant::now());
        let reply = self.calls.destinations.call(scope, call, None, within).await;
        reply.map_err(|failure| {
            let operation = self.operation;
            tracing::info!(plugin = &**scope.plugin(), operation, "a question was not answered: {}", failure.message);
            failure.class.to_owned()
        })
    }

    /// Logs a fault for operators and returns the error for the caller.
    pub fn log_fault(&self, fault: &GuestFault) -> HostError {
        let facts = &self.generation.facts;
        let (plugin, generation, request_id) = (&*facts.plugin, facts.generation, &*self.inputs.request_id);
        let text = fault.to_string();
        match facts.log.faults.admit(text.len()) {
            Admission::Write => {
                tracing::error!(plugin, generation, operation = self.operation, request_id, "plugin {plugin} {text}");
            }
            Admission::Announce => announce_dropped(plugin, generation, request_id),
            Admission::Drop => {}
        }
        self.generation.metrics.count_fault(fault.kind());
        match fault {
            GuestFault::Deadline => HostError::DeadlineExceeded,
            GuestFault::Database(_) | GuestFault::Budget(_) | GuestFault::NoCore => HostError::Unavailable,
            _ => HostError::PluginFailed,
        }
    }
}
