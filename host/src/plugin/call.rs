//! A call into a plugin: new store and instance, run, commit, retry after a conflict, answer.
//!
//! Owns the loop from the pinned generation to the durable answer. Accesses neither HTTP (see `http`) nor the database
//! (see `commit`). Invariants: an answer is returned only after the data that it depends on is durable. A call whose
//! commit was accepted is never reported as having changed nothing. Each run of a call has the same time, ids and
//! random numbers, and the replies to all questions so far.
//!
//! - `answer_cache`: answers of read-only calls.
//! - `running`: steps that requests and tasks share. `task`: runs a due task. `follow_up`: schedules the task that
//!   follows a failed request.
//! - `attachment`: whether a call ends with its caller. `guest`: one run. `exports`: the exports of a component.
//!   `seeds`: random seeds of calls. `message`: converts requests and answers. `bulkhead`: permits for calls.
//!   `limiter`: permits for questions and passwords. `idempotency`: idempotency records.

mod answer_cache;
mod attachment;
mod bulkhead;
mod exports;
mod follow_up;
mod guest;
mod idempotency;
mod limiter;
mod message;
mod running;
mod seeds;
mod task;

use std::sync::Arc;

use tenon_bindings::exports::tenon::plugin::handler::{Answer as GuestAnswer, Feed, Request, Response};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

pub use crate::capability::{CallState, Inputs};
pub use attachment::Attachment;
pub use bulkhead::{Bulkhead, PoolPart};
pub use exports::Callable;
pub use guest::GuestFault;
pub use task::{SettledEffect, TaskFault, TaskPermit, TaskRunOutcome};

use super::{
    exchange::{Admitted, Answer, CallResponse, StreamRequest},
    generation::Generation,
};
use crate::{
    budget::{Budget, Charge, Party},
    clock::Clock,
    commit::{committer::Committer, draft::Draft},
    db::disk::DiskGauge,
    destinations::Destinations,
    fair::{Request as FairRequest, cores::Cores, pace::Pacers},
    host_error::HostError,
    limits::{
        BODY_COPIES, CACHED_ANSWER_BYTES_PER_CORE_US, CACHED_ANSWER_CORE_US, FAULT_CORE_US, PASSWORDS_AT_ONCE,
        QUESTIONS_RUNNING_MAX, RUNS_MAX, TENANT_PASSWORDS_AT_ONCE, TENANT_PASSWORDS_WAITING_MAX,
        TENANT_QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_WAITING_MAX,
    },
};
use answer_cache::{AnswerCache, RequestKey, key_of};
use guest::Run;
use idempotency::{IdempotencyLocks, IdempotentRequest};
use limiter::TenantLimiter;
use running::{Call, Caller, RetryState, RunError};

/// Performs calls. A host has one instance.
pub struct Calls {
    committer: Committer,
    clock: Clock,
    disk: DiskGauge,
    /// Slots of the engine's pool. An exhausted pool fails, whereas a semaphore waits.
    slots: Arc<Semaphore>,
    budget: Arc<Budget>,
    cores: Arc<Cores>,
    /// Destinations of questions.
    destinations: Destinations,
    question_limiter: TenantLimiter,
    password_limiter: TenantLimiter,
    idempotency_locks: IdempotencyLocks,
    /// Paces callers whose calls fault: a fault costs more than an answer, and its response holds no permit.
    fault_pacers: Pacers<Party>,
    answer_cache: AnswerCache,
    /// Paces callers whose answers come from the cache: such requests hold no permit.
    cached_answer_pacers: Pacers<Party>,
}

/// Dependencies of calls.
pub struct Parts {
    pub committer: Committer,
    pub clock: Clock,
    pub disk: DiskGauge,
    pub slots: Arc<Semaphore>,
    pub budget: Arc<Budget>,
    pub destinations: Destinations,
}

/// A request that is being performed.
struct RequestCall<'a> {
    call: Call<'a>,
    admitted: &'a Admitted<Arc<Generation>>,
    request: Request,
    /// Present if the request has an idempotency key.
    idempotent: Option<IdempotentRequest>,
    /// Cache key of the answer; `None` if it must not be cached.
    cache_key: Option<RequestKey>,
    attachment: &'a Attachment,
}

/// Reason why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    Failed(HostError),
    /// Like `Failed`, but the cause, such as a fault, is already logged as an error and must not be logged again.
    Broken(HostError),
    /// Another generation has written data that this one cannot read, or cannot read data that this one would write.
    /// The request must be performed on that generation. Nothing was applied.
    Outdated,
}

impl From<HostError> for CallError {
    fn from(failure: HostError) -> CallError {
        CallError::Failed(failure)
    }
}

impl Calls {
    /// Creates the instance of a host. Must be called within the runtime that performs the calls: the number of its
    /// threads bounds the cores.
    pub fn new(parts: Parts) -> Calls {
        let Parts { committer, clock, disk, slots, budget, destinations } = parts;
        let cores = Cores::of_runtime();
        let question_limiter =
            TenantLimiter::new(QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_WAITING_MAX);
        let password_limiter =
            TenantLimiter::new(PASSWORDS_AT_ONCE, TENANT_PASSWORDS_AT_ONCE, TENANT_PASSWORDS_WAITING_MAX);
        let idempotency_locks = IdempotencyLocks::default();
        Calls {
            committer,
            clock,
            disk,
            slots,
            budget,
            cores,
            destinations,
            question_limiter,
            password_limiter,
            idempotency_locks,
            fault_pacers: Pacers::of_machine(),
            answer_cache: AnswerCache::default(),
            cached_answer_pacers: Pacers::of_machine(),
        }
    }

    /// Performs an admitted request and returns its answer once its changes are durable.
    ///
    /// The returned error must not be logged again. If the route declares a follow-up task for the error, that task is
    /// durable, unless its commit failed. That failure is logged.
    pub async fn perform(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        attachment: &Attachment,
    ) -> Result<CallResponse, CallError> {
        let mut state = RetryState::default();
        let result = self.attempt(admitted, attachment, &mut state).await;
        if let Err(CallError::Failed(failure)) = &result {
            log_failure(admitted, *failure);
        }
        // The next generation performs a call that is outdated here. If the call fails there, that generation schedules
        // the follow-up task, so the attachment records that a question was sent.
        if state.has_questions() {
            attachment.note_question();
        }
        if let Err(CallError::Failed(failure) | CallError::Broken(failure)) = &result {
            self.schedule_follow_up(admitted, *failure, attachment.has_questions()).await;
        }
        if let Err(CallError::Broken(_)) = &result {
            self.fault_pacers.wait(&admitted.party, FAULT_CORE_US).await;
        }
        result
    }

    /// Ends a call that no generation could run. Returns the error for its caller.
    pub async fn give_up(&self, admitted: &Admitted<Arc<Generation>>, attachment: &Attachment) -> HostError {
        self.schedule_follow_up(admitted, HostError::PluginFailed, attachment.has_questions()).await;
        HostError::PluginFailed
    }

    async fn attempt(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        attachment: &Attachment,
        state: &mut RetryState,
    ) -> Result<CallResponse, CallError> {
        let generation = &admitted.mounted.owner;
        let _running = generation.enter();
        if admitted.route.writes() && self.disk.rejects_writes(&admitted.principal.tenant) {
            return Err(HostError::Unavailable.into());
        }
        let cache_key = key_of(admitted);
        if let Some(key) = &cache_key
            && let Some(reply) = self.find_cached_answer(admitted, key).await
        {
            return Ok(reply);
        }
        // Locked before permits are taken: a request that waits for an equal one must not hold a permit.
        let idempotent = IdempotentRequest::of(admitted);
        let _guard = match &idempotent {
            Some(idempotent) => Some(self.idempotency_locks.lock(idempotent, admitted.deadline).await?),
            None => None,
        };
        let call = RequestCall { cache_key, ..self.prepare(admitted, idempotent, attachment)? };
        for _ in 0..RUNS_MAX {
            match call.run(state).await {
                Ok(reply) => return Ok(reply),
                Err(RunError::Failed(failure)) => return Err(failure.into()),
                Err(RunError::Broken(failure)) => return Err(CallError::Broken(failure)),
                Err(RunError::Outdated) => return Err(CallError::Outdated),
                Err(RunError::Retry) => generation.metrics.count_rerun(),
            }
        }
        Err(HostError::Unavailable.into())
    }

    /// Returns the cached answer to an equal request. Returns `None` if no answer is cached, if memory to send it is
    /// lacking, or if its pause does not end before the deadline.
    async fn find_cached_answer(&self, admitted: &Admitted<Arc<Generation>>, key: &RequestKey) -> Option<CallResponse> {
        let answer = self.answer_cache.find(key)?;
        let bytes = answer.charged_bytes();
        let charge = self.budget.charge_call(&admitted.party, FairRequest::of(bytes), Instant::now()).await.ok()?;
        let us = CACHED_ANSWER_CORE_US + bytes / CACHED_ANSWER_BYTES_PER_CORE_US;
        // After the deadline, the request continues like one without a cached answer and finds no permit in time.
        timeout_at(admitted.deadline, self.cached_answer_pacers.wait(&admitted.party, us)).await.ok()?;
        admitted.mounted.owner.metrics.count_cached_answer();
        Some(CallResponse::Whole(answer, Some(self.budget.keep_answer(charge, bytes))))
    }

    /// Runs the guest once and discards its draft: the answer is not checked, committed or returned.
    pub async fn dry_run(&self, admitted: &Admitted<Arc<Generation>>) -> Result<(), HostError> {
        let attachment = Attachment::default();
        let RequestCall { call, request, .. } = self.prepare(admitted, None, &attachment)?;
        let mut state = RetryState::default();
        let permits = call.take_permits(&mut state).await?;
        let run = call.run(&request, call.begin(), &mut state, permits).await;
        run.outcome.map(|_answer| ()).map_err(|_fault| HostError::PluginFailed)
    }

    fn prepare<'a>(
        &'a self,
        admitted: &'a Admitted<Arc<Generation>>,
        // Present if the request has an idempotency key.
        idempotent: Option<IdempotentRequest>,
        attachment: &'a Attachment,
    ) -> Result<RequestCall<'a>, HostError> {
        let caller = Caller {
            tenant: admitted.principal.tenant.clone(),
            party: admitted.party.clone(),
            subject: admitted.principal.subject.clone(),
            operation: &admitted.route.declared.operation,
            request_id: admitted.request_id.clone(),
            memory: &admitted.route.memory,
            hops: admitted.hops,
        };
        let call = Call::new(self, &admitted.mounted.owner, caller, admitted.deadline)?;
        let request = message::request(admitted, call.inputs.now);
        Ok(RequestCall { call, admitted, request, idempotent, cache_key: None, attachment })
    }
}

impl RequestCall<'_> {
    /// Performs one run: finds an idempotency record, or runs the guest and commits its draft.
    async fn run(&self, state: &mut RetryState) -> Result<CallResponse, RunError> {
        let call = &self.call;
        if call.is_past_deadline() {
            return Err(RunError::Failed(HostError::DeadlineExceeded));
        }
        let permits = call.take_permits(state).await.map_err(RunError::Failed)?;
        if !self.attachment.begin() {
            return Err(RunError::Failed(HostError::Unavailable));
        }
        let mut draft = call.begin();
        if let Some(idempotent) = &self.idempotent {
            let recorded = match timeout_at(call.deadline, idempotent.find(&mut draft)).await {
                Err(_) => return Err(RunError::Failed(HostError::DeadlineExceeded)),
                Ok(found) => found.transpose(),
            };
            if let Some(recorded) = recorded {
                return self.replay(recorded, permits.into_charge(), draft, state).await;
            }
        }
        let Run { outcome, left, charge, is_repeatable, .. } = call.run(&self.request, draft, state, permits).await;
        match (outcome, left) {
            (Ok(answer), Some((draft, questions))) => {
                state.keep_questions(questions, matches!(answer, GuestAnswer::Wait));
                match answer {
                    GuestAnswer::Commit(response) if is_repeatable && self.cache_key.is_some() => {
                        self.answer_repeatable((response, charge), draft, state).await
                    }
                    answer => self.conclude(answer, charge, draft, state).await,
                }
            }
            (Err(GuestFault::NoCore), _) => Err(RunError::Failed(HostError::Unavailable)),
            (Ok(_), None) => Err(self.fault(&GuestFault::Deadline, None, state).await),
            (Err(fault), left) => {
                drop(charge);
                let (draft, questions) = left.unzip();
                state.keep_questions(questions.unwrap_or_default(), false);
                if call.waits_for_memory(&fault, state) {
                    return Err(RunError::Retry);
                }
                match state.questions.passwords.take_pending() {
                    Some(work) => {
                        // The call holds no memory while it waits for a permit to compute the password.
                        drop(draft);
                        Err(call.compute(work, state).await)
                    }
                    None => Err(self.fault(&fault, draft, state).await),
                }
            }
        }
    }

    /// Answers with the idempotency record, or with the error of reading it, and changes nothing. The answer is
    /// returned once the data that it depends on is durable. The charge grows if the memory estimate of the route does
    /// not cover the record.
    async fn replay(
        &self,
        recorded: Result<Answer, HostError>,
        mut charge: Charge,
        draft: Box<Draft>,
        state: &mut RetryState,
    ) -> Result<CallResponse, RunError> {
        let call = &self.call;
        if let Ok(answer) = &recorded
            && !charge.grow_to(answer.charged_bytes())
        {
            let fault = GuestFault::Budget(answer.charged_bytes());
            drop((recorded, charge));
            return Err(match call.waits_for_memory(&fault, state) {
                true => RunError::Retry,
                false => RunError::Failed(HostError::Unavailable),
            });
        }
        call.commit(draft.into_refusal().with_held_bytes(charge.bytes()), state).await?;
        recorded.map(|answer| call.charge_answer(answer, Some(charge))).map_err(RunError::Failed)
    }

    async fn conclude(
        &self,
        answer: GuestAnswer,
        charge: Option<Charge>,
        draft: Box<Draft>,
        state: &mut RetryState,
    ) -> Result<CallResponse, RunError> {
        match answer {
            GuestAnswer::Commit(response) => self.answer((response, charge), true, draft, state).await,
            GuestAnswer::Refuse(response) => self.answer((response, charge), false, draft, state).await,
            GuestAnswer::Stream(feed) => {
                drop(charge);
                self.stream(feed, draft, state).await
            }
            GuestAnswer::Wait => {
                // The call holds nothing while it waits for replies.
                drop((draft, charge));
                let waited = match self.charge_body(state).await {
                    Ok(()) => self.call.wait(state).await,
                    Err(fault) => Err(fault),
                };
                Err(match waited {
                    Ok(()) => RunError::Retry,
                    Err(fault) => self.fault(&fault, None, state).await,
                })
            }
        }
    }

    /// Charges a small body to the call. Such a body belongs to its connection, which a waiting call may outlive.
    async fn charge_body(&self, state: &mut RetryState) -> Result<(), GuestFault> {
        if self.admitted.body_charge.is_some() || !state.charges.is_empty() {
            return Ok(());
        }
        let bytes = (self.admitted.content.bytes().len() as u64).saturating_mul(BODY_COPIES);
        let charge = self.call.calls.budget.charge_arrived(&self.admitted.party, bytes).await;
        state.charges.push(charge.ok_or(GuestFault::Budget(bytes))?);
        Ok(())
    }

    async fn answer(
        &self,
        (response, charge): (Response, Option<Charge>),
        commits: bool,
        draft: Box<Draft>,
        state: &mut RetryState,
    ) -> Result<CallResponse, RunError> {
        let generation = self.call.generation;
        if let Err(fault) = guest::check_answer(&response, &generation.facts.limits) {
            drop((response, charge));
            return Err(self.fault(&fault, Some(draft), state).await);
        }
        let answer = message::answer(response);
        let answer_bytes = answer.charged_bytes();
        let reply = self.call.charge_answer(answer, charge);
        let changes = match &self.idempotent {
            _ if !commits => draft.into_refusal(),
            None => draft.into_changes(None),
            // The changes and the record are in one commit. Without the record, a repeated request would run again.
            Some(idempotent) => draft.into_changes(idempotent.make_record(&reply).map_err(RunError::Failed)?),
        };
        let writes = commits && !changes.is_read_only();
        self.call.commit(changes.with_held_bytes(answer_bytes), state).await?;
        if writes {
            generation.metrics.count_commit();
        }
        Ok(reply)
    }

    /// Answers, and caches the answer if the data that the plugin read is unchanged.
    async fn answer_repeatable(
        &self,
        (response, charge): (Response, Option<Charge>),
        draft: Box<Draft>,
        state: &mut RetryState,
    ) -> Result<CallResponse, RunError> {
        if let Err(fault) = guest::check_answer(&response, &self.call.generation.facts.limits) {
            drop((response, charge));
            return Err(self.fault(&fault, Some(draft), state).await);
        }
        let answer = message::answer(response);
        let reads = self.call.register_reads(draft.into_changes(None), state).await?;
        if let (Some(key), Some(reads)) = (&self.cache_key, reads) {
            self.call.calls.answer_cache.insert(key.clone(), &answer, reads);
        }
        Ok(self.call.charge_answer(answer, charge))
    }

    /// Begins a stream of events. Changes nothing. The data that the plugin read is durable before the stream begins.
    async fn stream(&self, feed: Feed, draft: Box<Draft>, state: &mut RetryState) -> Result<CallResponse, RunError> {
        let Some(scope) = self.call.identity.scope.clone() else {
            let fault = GuestFault::BadAnswer("a stream on an open route, whose callers have no tenant".into());
            return Err(self.fault(&fault, Some(draft), state).await);
        };
        if self.idempotent.is_some() {
            let fault = GuestFault::BadAnswer("a stream as the answer to a request with an idempotency key".into());
            return Err(self.fault(&fault, Some(draft), state).await);
        }
        self.call.commit(draft.into_refusal(), state).await?;
        Ok(CallResponse::Stream(StreamRequest { scope, event_types: feed.event_types, subjects: feed.subjects }))
    }

    /// Returns the error for a fault. A fault on a writing route is reported only if the data that the plugin read is
    /// unchanged. Otherwise the call is retried, so that outdated data fails no call.
    async fn fault(&self, fault: &GuestFault, draft: Option<Box<Draft>>, state: &mut RetryState) -> RunError {
        if let GuestFault::Outdated(_) = fault {
            return RunError::Outdated;
        }
        if let (Some(draft), true) = (draft, self.admitted.route.writes())
            && let Err(RunError::Retry) = self.call.commit(draft.into_refusal(), state).await
        {
            return RunError::Retry;
        }
        RunError::Broken(self.call.log_fault(fault))
    }
}

/// Logs a call that failed without a fault: too many concurrent calls, an exceeded deadline, an idempotency key in use.
/// Metrics count such calls. The level is debug, because at a higher level one caller could fill the log.
fn log_failure(admitted: &Admitted<Arc<Generation>>, failure: HostError) {
    let (plugin, generation) = (&*admitted.mounted.plugin, admitted.mounted.number);
    let (request_id, failed) = (&*admitted.request_id, failure.name());
    tracing::debug!(plugin, generation, request_id, failure = failed, "call failed");
}
