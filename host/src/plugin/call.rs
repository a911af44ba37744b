//! One call into a plugin: fresh store and instance, run, commit, run again after a conflict, answer.
//!
//! Owns the loop from the pinned generation to the durable answer. Never touches HTTP (that is `http`) nor the database
//! (that is `changes`). Invariants: nothing is answered before what it rests on is durable; a call that was accepted is
//! never reported as if nothing had happened; every re-run has the same time, ids, randomness and replies.
//!
//! - `answer_cache`: answers of calls that only read.
//! - `running`: what requests and tasks share. `task`: a task that fell due. `follow`: the task that follows a failed request.
//! - `attachment`: whether a call ends with its caller. `guest`: one run. `exports`: what it calls. `seeds`: its randomness. `message`: words in and out. `bulkhead`: permits. `turns`: at questions and passwords. `idempotency`: answers that are kept.

mod answer_cache;
mod attachment;
mod bulkhead;
mod exports;
mod follow;
mod guest;
mod idempotency;
mod message;
mod running;
mod seeds;
mod task;
mod turns;

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
pub use task::{Failed, SettledEffect, TaskEnd, Turn};

use super::{
    exchange::{Admitted, Answer, FeedWish, Reply},
    generation::Generation,
};
use crate::{
    budget::{Budget, Charge, Payer},
    clock::Clock,
    commit::{committer::Committer, draft::Draft},
    db::disk::DiskGauge,
    destinations::Destinations,
    failure::Failure,
    fair::{Request as FairRequest, cores::Cores, pace::Pacers},
    limits::{
        BODY_COPIES, CACHED_ANSWER_BYTES_PER_CORE_US, CACHED_ANSWER_CORE_US, FAULT_CORE_US, PASSWORDS_AT_ONCE,
        QUESTIONS_RUNNING_MAX, RUNS_MAX, TENANT_PASSWORDS_AT_ONCE, TENANT_PASSWORDS_WAITING_MAX,
        TENANT_QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_WAITING_MAX,
    },
};
use answer_cache::{AnswerCache, RequestKey, key_of};
use guest::Run;
use idempotency::{Gates, Kept};
use running::{Call, Caller, Contest, Unsettled};
use turns::Turns;

/// Performs calls; one for the host, cheap to share.
pub struct Calls {
    committer: Committer,
    clock: Clock,
    disk: DiskGauge,
    /// Slots of the engine's pool: an exhausted pool fails where a semaphore waits.
    slots: Arc<Semaphore>,
    budget: Arc<Budget>,
    cores: Arc<Cores>,
    /// Whom questions are put to.
    destinations: Destinations,
    asking: Turns,
    /// At computing passwords.
    computing: Turns,
    gates: Gates,
    /// Paces of callers whose calls fault: a fault costs more than an answer, and its reply holds no permit.
    faults: Pacers<Payer>,
    answers: AnswerCache,
    /// Paces of callers whose answers come from the cache: these hold no permit.
    cached: Pacers<Payer>,
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

/// A request on its way.
struct RequestCall<'a> {
    call: Call<'a>,
    admitted: &'a Admitted<Arc<Generation>>,
    request: Request,
    kept: Option<Kept>,
    /// Cache key of the answer; `None` if it must not be cached.
    cache_key: Option<RequestKey>,
    attachment: &'a Attachment,
}

/// How a call ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Failed(Failure),
    /// The same; what broke was logged with its cause.
    Broken(Failure),
    /// Another generation has written what this one cannot read, or cannot read what this one would write: the request
    /// belongs there. Nothing was applied.
    Outdated,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        Ended::Failed(failure)
    }
}

impl Calls {
    /// `cores` counts the threads of the runtime that calls it.
    pub fn new(parts: Parts) -> Calls {
        let Parts { committer, clock, disk, slots, budget, destinations } = parts;
        let cores = Cores::of_runtime();
        let asking = Turns::new(QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_WAITING_MAX);
        let computing = Turns::new(PASSWORDS_AT_ONCE, TENANT_PASSWORDS_AT_ONCE, TENANT_PASSWORDS_WAITING_MAX);
        let gates = Gates::default();
        Calls {
            committer,
            clock,
            disk,
            slots,
            budget,
            cores,
            destinations,
            asking,
            computing,
            gates,
            faults: Pacers::of_machine(),
            answers: AnswerCache::default(),
            cached: Pacers::of_machine(),
        }
    }

    /// From an admitted request to an answer whose effects are on disk. Whatever else it comes to was logged, once, and the
    /// task that follows it, where its route has one, is durable.
    pub async fn perform(&self, admitted: &Admitted<Arc<Generation>>, attachment: &Attachment) -> Result<Reply, Ended> {
        let mut contest = Contest::default();
        let ended = self.attempt(admitted, attachment, &mut contest).await;
        if let Err(Ended::Failed(failure)) = &ended {
            log_failure(admitted, *failure);
        }
        // The next generation performs a call that is outdated here: its failure is followed as well.
        if contest.has_questions() {
            attachment.note_question();
        }
        if let Err(Ended::Failed(failure) | Ended::Broken(failure)) = &ended {
            self.follow(admitted, *failure, attachment.has_questions()).await;
        }
        if let Err(Ended::Broken(_)) = &ended {
            self.faults.wait(&admitted.payer, FAULT_CORE_US).await;
        }
        ended
    }

    /// A call that no generation could run: the failure that its caller gets.
    pub async fn give_up(&self, admitted: &Admitted<Arc<Generation>>, attachment: &Attachment) -> Failure {
        self.follow(admitted, Failure::PluginFailed, attachment.has_questions()).await;
        Failure::PluginFailed
    }

    async fn attempt(
        &self,
        admitted: &Admitted<Arc<Generation>>,
        attachment: &Attachment,
        contest: &mut Contest,
    ) -> Result<Reply, Ended> {
        let generation = &admitted.mounted.owner;
        let _running = generation.enter();
        if admitted.route.writes() && self.disk.refuses_writes(&admitted.principal.tenant) {
            return Err(Failure::Unavailable.into());
        }
        let cache_key = key_of(admitted);
        if let Some(key) = &cache_key
            && let Some(reply) = self.find_answer(admitted, key).await
        {
            return Ok(reply);
        }
        // The gate goes first: who waits for an equal request must not keep a seat from others meanwhile.
        let kept = Kept::of(admitted);
        let _gate = match &kept {
            Some(kept) => Some(self.gates.pass(kept, admitted.deadline).await?),
            None => None,
        };
        let call = RequestCall { cache_key, ..self.prepare(admitted, kept, attachment)? };
        for _ in 0..RUNS_MAX {
            match call.run(contest).await {
                Ok(reply) => return Ok(reply),
                Err(Unsettled::Failed(failure)) => return Err(failure.into()),
                Err(Unsettled::Broken(failure)) => return Err(Ended::Broken(failure)),
                Err(Unsettled::Outdated) => return Err(Ended::Outdated),
                Err(Unsettled::Again) => generation.metrics.count_rerun(),
            }
        }
        Err(Failure::Unavailable.into())
    }

    /// Returns the cached answer to an equal request. `None` if there is none, or no memory to send it.
    async fn find_answer(&self, admitted: &Admitted<Arc<Generation>>, key: &RequestKey) -> Option<Reply> {
        let answer = self.answers.find(key)?;
        let bytes = answer.charged_bytes();
        let charge = self.budget.charge_call(&admitted.payer, FairRequest::of(bytes), Instant::now()).await.ok()?;
        let us = CACHED_ANSWER_CORE_US + bytes / CACHED_ANSWER_BYTES_PER_CORE_US;
        // Late, the request is like any other that finds no permit in time.
        timeout_at(admitted.deadline, self.cached.wait(&admitted.payer, us)).await.ok()?;
        admitted.mounted.owner.metrics.count_cached_answer();
        Some(Reply::Whole(answer, Some(self.budget.keep_answer(charge, bytes))))
    }

    /// Runs the guest once and drops what it collected: nothing is checked, committed or answered.
    pub async fn rehearse(&self, admitted: &Admitted<Arc<Generation>>) -> Result<(), Failure> {
        let attachment = Attachment::default();
        let RequestCall { call, request, .. } = self.prepare(admitted, None, &attachment)?;
        let mut contest = Contest::default();
        let permits = call.take_permits(&mut contest).await?;
        let run = call.run(&request, call.begin(), &mut contest, permits).await;
        run.outcome.map(|_answer| ()).map_err(|_fault| Failure::PluginFailed)
    }

    fn prepare<'a>(
        &'a self,
        admitted: &'a Admitted<Arc<Generation>>,
        kept: Option<Kept>,
        attachment: &'a Attachment,
    ) -> Result<RequestCall<'a>, Failure> {
        let caller = Caller {
            tenant: admitted.principal.tenant.clone(),
            payer: admitted.payer.clone(),
            subject: admitted.principal.subject.clone(),
            operation: &admitted.route.declared.operation,
            request_id: admitted.request_id.clone(),
            memory: &admitted.route.memory,
            hops: admitted.hops,
        };
        let call = Call::new(self, &admitted.mounted.owner, caller, admitted.deadline)?;
        let request = message::request(admitted, call.inputs.now);
        Ok(RequestCall { call, admitted, request, kept, cache_key: None, attachment })
    }
}

impl RequestCall<'_> {
    /// One run: look for a kept answer, run the guest, commit what it collected.
    async fn run(&self, contest: &mut Contest) -> Result<Reply, Unsettled> {
        let call = &self.call;
        if call.is_late() {
            return Err(Unsettled::Failed(Failure::DeadlineExceeded));
        }
        let permits = call.take_permits(contest).await.map_err(Unsettled::Failed)?;
        if !self.attachment.begin() {
            return Err(Unsettled::Failed(Failure::Unavailable));
        }
        let mut draft = call.begin();
        if let Some(kept) = &self.kept {
            let said = match timeout_at(call.deadline, kept.find(&mut draft)).await {
                Err(_) => return Err(Unsettled::Failed(Failure::DeadlineExceeded)),
                Ok(found) => found.transpose(),
            };
            if let Some(said) = said {
                return self.replay(said, permits.into_charge(), draft, contest).await;
            }
        }
        let Run { outcome, left, charge, is_repeatable, .. } = call.run(&self.request, draft, contest, permits).await;
        match (outcome, left) {
            (Ok(answer), Some((draft, questions))) => {
                contest.keep_questions(questions, matches!(answer, GuestAnswer::Wait));
                match answer {
                    GuestAnswer::Commit(response) if is_repeatable && self.cache_key.is_some() => {
                        self.answer_repeatable((response, charge), draft, contest).await
                    }
                    answer => self.conclude(answer, charge, draft, contest).await,
                }
            }
            (Err(GuestFault::NoCore), _) => Err(Unsettled::Failed(Failure::Unavailable)),
            (Ok(_), None) => Err(self.fault(&GuestFault::Deadline, None, contest).await),
            (Err(fault), left) => {
                drop(charge);
                let (draft, questions) = left.unzip();
                contest.keep_questions(questions.unwrap_or_default(), false);
                if call.waits_for_memory(&fault, contest) {
                    return Err(Unsettled::Again);
                }
                match contest.questions.passwords.take_wanted() {
                    Some(work) => {
                        // The call holds no memory while it waits for its turn among passwords.
                        drop(draft);
                        Err(call.compute(work, contest).await)
                    }
                    None => Err(self.fault(&fault, draft, contest).await),
                }
            }
        }
    }

    /// Answers with the idempotency record, which the estimate of the route may not cover. It changes nothing: it goes out
    /// when what it rests on is durable.
    async fn replay(
        &self,
        said: Result<Answer, Failure>,
        mut charge: Charge,
        draft: Box<Draft>,
        contest: &mut Contest,
    ) -> Result<Reply, Unsettled> {
        let call = &self.call;
        if let Ok(answer) = &said
            && !charge.grow_to(answer.charged_bytes())
        {
            let fault = GuestFault::Budget(answer.charged_bytes());
            drop((said, charge));
            return Err(match call.waits_for_memory(&fault, contest) {
                true => Unsettled::Again,
                false => Unsettled::Failed(Failure::Unavailable),
            });
        }
        call.commit(draft.into_refusal().beside(charge.bytes()), contest).await?;
        said.map(|answer| call.keep_answer(answer, Some(charge))).map_err(Unsettled::Failed)
    }

    async fn conclude(
        &self,
        answer: GuestAnswer,
        charge: Option<Charge>,
        draft: Box<Draft>,
        contest: &mut Contest,
    ) -> Result<Reply, Unsettled> {
        match answer {
            GuestAnswer::Commit(response) => self.answer((response, charge), true, draft, contest).await,
            GuestAnswer::Refuse(response) => self.answer((response, charge), false, draft, contest).await,
            GuestAnswer::Stream(feed) => {
                drop(charge);
                self.stream(feed, draft, contest).await
            }
            GuestAnswer::Wait => {
                // The call holds nothing while it waits for replies.
                drop((draft, charge));
                let waited = match self.charge_body(contest).await {
                    Ok(()) => self.call.wait(contest).await,
                    Err(fault) => Err(fault),
                };
                Err(match waited {
                    Ok(()) => Unsettled::Again,
                    Err(fault) => self.fault(&fault, None, contest).await,
                })
            }
        }
    }

    /// A small body is part of its connection, which a call that waits may outlive.
    async fn charge_body(&self, contest: &mut Contest) -> Result<(), GuestFault> {
        if self.admitted.body_charge.is_some() || !contest.charges.is_empty() {
            return Ok(());
        }
        let bytes = (self.admitted.content.bytes().len() as u64).saturating_mul(BODY_COPIES);
        let charge = self.call.calls.budget.charge_arrived(&self.admitted.payer, bytes).await;
        contest.charges.push(charge.ok_or(GuestFault::Budget(bytes))?);
        Ok(())
    }

    async fn answer(
        &self,
        (response, charge): (Response, Option<Charge>),
        commits: bool,
        draft: Box<Draft>,
        contest: &mut Contest,
    ) -> Result<Reply, Unsettled> {
        let generation = self.call.generation;
        if let Err(fault) = guest::check_answer(&response, &generation.facts.limits) {
            drop((response, charge));
            return Err(self.fault(&fault, Some(draft), contest).await);
        }
        let answer = message::answer(response);
        let answer_bytes = answer.charged_bytes();
        let reply = self.call.keep_answer(answer, charge);
        let changes = match &self.kept {
            _ if !commits => draft.into_refusal(),
            None => draft.into_changes(None),
            // Without its answer the effect must not be either: the key would not hold.
            Some(kept) => draft.into_changes(kept.keep_reply(&reply).map_err(Unsettled::Failed)?),
        };
        let writes = commits && !changes.is_look();
        self.call.commit(changes.beside(answer_bytes), contest).await?;
        if writes {
            generation.metrics.count_commit();
        }
        Ok(reply)
    }

    /// Answers, and caches the answer if what it rests on is unchanged.
    async fn answer_repeatable(
        &self,
        (response, charge): (Response, Option<Charge>),
        draft: Box<Draft>,
        contest: &mut Contest,
    ) -> Result<Reply, Unsettled> {
        if let Err(fault) = guest::check_answer(&response, &self.call.generation.facts.limits) {
            drop((response, charge));
            return Err(self.fault(&fault, Some(draft), contest).await);
        }
        let answer = message::answer(response);
        let reads = self.call.register_reads(draft.into_changes(None), contest).await?;
        if let (Some(key), Some(reads)) = (&self.cache_key, reads) {
            self.call.calls.answers.insert(key.clone(), &answer, reads);
        }
        Ok(self.call.keep_answer(answer, charge))
    }

    /// Nothing is changed; what the plugin decided on is durable before the stream begins.
    async fn stream(&self, feed: Feed, draft: Box<Draft>, contest: &mut Contest) -> Result<Reply, Unsettled> {
        let Some(scope) = self.call.identity.scope.clone() else {
            let fault = GuestFault::BadAnswer("a stream on an open route, whose callers have no events".into());
            return Err(self.fault(&fault, Some(draft), contest).await);
        };
        if self.kept.is_some() {
            let fault = GuestFault::BadAnswer("a stream cannot be kept for an idempotency key".into());
            return Err(self.fault(&fault, Some(draft), contest).await);
        }
        self.call.commit(draft.into_refusal(), contest).await?;
        Ok(Reply::Feed(FeedWish { scope, event_types: feed.event_types, subjects: feed.subjects }))
    }

    /// A fault of a writing route counts only if what it read still holds: nobody is failed by a state that is gone.
    async fn fault(&self, fault: &GuestFault, draft: Option<Box<Draft>>, contest: &mut Contest) -> Unsettled {
        if let GuestFault::Outdated(_) = fault {
            return Unsettled::Outdated;
        }
        if let (Some(draft), true) = (draft, self.admitted.route.writes())
            && let Err(Unsettled::Again) = self.call.commit(draft.into_refusal(), contest).await
        {
            return Unsettled::Again;
        }
        Unsettled::Broken(self.call.log_fault(fault))
    }
}

/// Logs a call that failed without a fault: too many at once, no time left, an idempotency key in use. Metrics count such calls;
/// at a higher level one caller could fill the log.
fn log_failure(admitted: &Admitted<Arc<Generation>>, failure: Failure) {
    let (plugin, generation) = (&*admitted.mounted.plugin, admitted.mounted.number);
    let (request_id, failed) = (&*admitted.request_id, failure.name());
    tracing::debug!(plugin, generation, request_id, failure = failed, "call failed");
}
