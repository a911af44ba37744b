//! One call into a plugin: fresh store and instance, run, commit, run again after a conflict, answer.
//!
//! Owns the loop from the pinned generation to the durable answer. Never touches HTTP (that is `http`) nor the database
//! (that is `changes`). Invariants: nothing is answered before what it rests on is durable; a call that was accepted is
//! never reported as if nothing had happened; every re-run has the same time, ids and randomness.

mod bulkhead;
mod guest;
mod idempotency;
mod message;

use std::{sync::Arc, time::Duration};

use tenon_bindings::exports::tenon::plugin::handler::{Answer as GuestAnswer, Feed, Request};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

pub use crate::capability::{CallState, Inputs};
pub use bulkhead::Bulkhead;
pub use guest::GuestFault;

use super::{
    exchange::{Admitted, Answer, FeedWish, Reply},
    generation::Generation,
};
use crate::{
    changes::{
        committer::{Changes, CommitError, Committer, Turn},
        draft::{CallIdentity, Draft},
        scope::Scope,
    },
    clock::Clock,
    db::disk::DiskGauge,
    failure::Failure,
    limits::{DURABLE_WAIT_MS, LOSSES_BEFORE_TURN, RUNS_MAX},
};
use idempotency::{Gates, Kept};

/// Performs calls; one for the host, cheap to share.
pub struct Calls {
    committer: Committer,
    clock: Clock,
    disk: DiskGauge,
    /// Slots of the engine's pool: an exhausted pool fails where a semaphore waits.
    slots: Arc<Semaphore>,
    gates: Gates,
}

/// One call on its way: what stays the same over all of its runs.
struct Call<'a> {
    calls: &'a Calls,
    generation: &'a Generation,
    admitted: &'a Admitted<Arc<Generation>>,
    request: Request,
    inputs: Inputs,
    identity: CallIdentity,
    kept: Option<Kept>,
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

/// How a call fares against others.
#[derive(Default)]
struct Contest {
    runs: u32,
    losses: u32,
    turn: Option<Turn>,
}

/// What one run came to.
enum Step {
    Answered(Answer),
    Streams(FeedWish),
    Again,
    Failed(Failure),
    Broken(Failure),
    Outdated,
}

impl Calls {
    pub fn new(committer: Committer, clock: Clock, disk: DiskGauge, slots: Arc<Semaphore>) -> Calls {
        Calls { committer, clock, disk, slots, gates: Gates::default() }
    }

    /// From an admitted request to an answer whose effects are on disk. Whatever else it comes to was logged, once.
    pub async fn perform(&self, admitted: &Admitted<Arc<Generation>>) -> Result<Reply, Ended> {
        let ended = self.attempt(admitted).await;
        if let Err(Ended::Failed(failure)) = &ended {
            log_failure(admitted, *failure);
        }
        ended
    }

    async fn attempt(&self, admitted: &Admitted<Arc<Generation>>) -> Result<Reply, Ended> {
        let generation = &admitted.mounted.owner;
        let _running = generation.enter();
        let deadline = admitted.deadline;
        if admitted.route.writes() && self.disk.is_low() {
            return Err(Failure::Unavailable.into());
        }
        // The gate goes first: who waits for an equal request must not keep a seat from others meanwhile.
        let kept = Kept::of(admitted);
        let _gate = match &kept {
            Some(kept) => Some(self.gates.pass(kept, deadline).await?),
            None => None,
        };
        let call = self.prepare(admitted, kept)?;
        let mut contest = Contest::default();
        for _ in 0..RUNS_MAX {
            match call.run(&mut contest).await {
                Step::Answered(answer) => return Ok(Reply::Whole(answer)),
                Step::Streams(feed) => return Ok(Reply::Feed(feed)),
                Step::Failed(failure) => return Err(failure.into()),
                Step::Broken(failure) => return Err(Ended::Broken(failure)),
                Step::Outdated => return Err(Ended::Outdated),
                Step::Again => generation.metrics.count_rerun(),
            }
        }
        Err(Failure::Unavailable.into())
    }

    /// Runs the guest once and drops what it collected: nothing is checked, committed or answered.
    pub async fn rehearse(&self, admitted: &Admitted<Arc<Generation>>) -> Result<(), Failure> {
        let call = self.prepare(admitted, None)?;
        let draft = self.committer.begin(call.identity.clone());
        let run = guest::run_handle(call.generation, &call.request, &call.inputs, draft, admitted.deadline).await;
        run.outcome.map(|_answer| ()).map_err(|_fault| Failure::PluginFailed)
    }

    fn prepare<'a>(&'a self, admitted: &'a Admitted<Arc<Generation>>, kept: Option<Kept>) -> Result<Call<'a>, Failure> {
        let generation = &*admitted.mounted.owner;
        let mut seed = [0; 32];
        if let Err(error) = getrandom::fill(&mut seed) {
            tracing::error!("the operating system gave no random numbers: {error}");
            return Err(Failure::Unavailable);
        }
        let inputs = Inputs { request_id: admitted.request_id.clone(), now: self.clock.now(), seed };
        let identity = CallIdentity {
            scope: Scope::new(generation.facts.plugin.clone(), admitted.principal.tenant.clone()),
            model: generation.model.clone(),
            now: inputs.now,
            subject: admitted.principal.subject.clone(),
            operation: admitted.route.declared.operation.as_str().into(),
            request_id: inputs.request_id.clone(),
            seed,
        };
        let request = message::request(admitted, inputs.now);
        Ok(Call { calls: self, generation, admitted, request, inputs, identity, kept })
    }
}

impl Call<'_> {
    /// One run: look for a kept answer, run the guest, commit what it collected.
    async fn run(&self, contest: &mut Contest) -> Step {
        let deadline = self.admitted.deadline;
        if Instant::now() >= deadline {
            return Step::Failed(Failure::DeadlineExceeded);
        }
        let place = match self.take_place(contest).await {
            Ok(place) => place,
            Err(failure) => return Step::Failed(failure),
        };
        let mut draft = self.calls.committer.begin(self.identity.clone());
        if let Some(kept) = &self.kept {
            let said = match timeout_at(deadline, kept.find(&mut draft)).await {
                Err(_) => return Step::Failed(Failure::DeadlineExceeded),
                Ok(found) => found.transpose(),
            };
            if let Some(said) = said {
                drop(place);
                return self.settle(draft, contest, said).await;
            }
        }
        let run = guest::run_handle(self.generation, &self.request, &self.inputs, draft, deadline).await;
        drop(place);
        match (run.outcome, run.draft) {
            (Ok(answer), Some(draft)) => self.conclude(answer, draft, contest).await,
            (Err(fault), draft) => self.fault(&fault, draft, contest).await,
            (Ok(_), None) => self.fault(&GuestFault::Deadline, None, contest).await,
        }
    }

    /// A seat of the plugin and slots of the pool that all plugins share; given back before the disk, or a turn, is
    /// waited for. Only a first run may be turned away: who was let in is seen through.
    async fn take_place(&self, contest: &mut Contest) -> Result<[SemaphorePermit<'_>; 2], Failure> {
        let deadline = self.admitted.deadline;
        contest.runs += 1;
        let bulkhead = &self.generation.bulkhead;
        let waiting = self.generation.metrics.wait();
        let seat =
            if contest.runs == 1 { bulkhead.take_seat(deadline).await? } else { bulkhead.await_seat(deadline).await? };
        drop(waiting);
        match timeout_at(deadline, self.calls.slots.acquire_many(self.generation.slots)).await {
            Ok(slots) => Ok([seat, slots.map_err(|_closed| Failure::Unavailable)?]),
            Err(_) => Err(Failure::DeadlineExceeded),
        }
    }

    async fn conclude(&self, answer: GuestAnswer, draft: Draft, contest: &mut Contest) -> Step {
        let (response, commits) = match answer {
            GuestAnswer::Commit(response) => (response, true),
            GuestAnswer::Refuse(response) => (response, false),
            GuestAnswer::Wait => return self.fault(&GuestFault::NotOffered("questions"), Some(draft), contest).await,
            GuestAnswer::Stream(feed) => return self.stream(feed, draft, contest).await,
        };
        if let Err(fault) = guest::check_answer(&response, &self.generation.facts.limits) {
            return self.fault(&fault, Some(draft), contest).await;
        }
        let answer = message::answer(response);
        let changes = match &self.kept {
            _ if !commits => draft.into_refusal(),
            None => draft.into_changes(None),
            Some(kept) => match kept.keep(&answer) {
                Ok(sealed) => draft.into_changes(Some(sealed)),
                // Without its answer the effect must not be either: the key would not hold.
                Err(failure) => return Step::Failed(failure),
            },
        };
        let writes = commits && !changes.is_look();
        match self.commit(changes, contest).await {
            None => {
                if writes {
                    self.generation.metrics.count_commit();
                }
                Step::Answered(answer)
            }
            Some(step) => step,
        }
    }

    /// Nothing is changed; what the plugin decided on is durable before the stream begins.
    async fn stream(&self, feed: Feed, draft: Draft, contest: &mut Contest) -> Step {
        let Some(scope) = self.identity.scope.clone() else {
            let fault = GuestFault::BadAnswer("a stream on an open route, whose callers have no events".into());
            return self.fault(&fault, Some(draft), contest).await;
        };
        if self.kept.is_some() {
            let fault = GuestFault::BadAnswer("a stream cannot be kept for an idempotency key".into());
            return self.fault(&fault, Some(draft), contest).await;
        }
        match self.commit(draft.into_refusal(), contest).await {
            Some(step) => step,
            None => Step::Streams(FeedWish { scope, event_types: feed.event_types, subjects: feed.subjects }),
        }
    }

    /// A fault of a writing route counts only if what it read still holds: nobody is failed by a state that is gone.
    async fn fault(&self, fault: &GuestFault, draft: Option<Draft>, contest: &mut Contest) -> Step {
        if let GuestFault::Outdated(_) = fault {
            return Step::Outdated;
        }
        if let (Some(draft), false) = (draft, !self.admitted.route.writes())
            && let Some(step @ Step::Again) = self.commit(draft.into_refusal(), contest).await
        {
            return step;
        }
        let facts = &self.generation.facts;
        tracing::error!(
            plugin = &*facts.plugin,
            generation = facts.generation,
            operation = self.admitted.route.declared.operation,
            request_id = &*self.inputs.request_id,
            "plugin {} {fault}",
            facts.plugin
        );
        self.generation.metrics.count_fault(fault.kind());
        Step::Broken(match fault {
            GuestFault::Deadline => Failure::DeadlineExceeded,
            GuestFault::Database(_) => Failure::Unavailable,
            _ => Failure::PluginFailed,
        })
    }

    /// An answer that changes nothing: it goes out when what it rests on is durable.
    async fn settle(&self, draft: Draft, contest: &mut Contest, said: Result<Answer, Failure>) -> Step {
        match (self.commit(draft.into_refusal(), contest).await, said) {
            (Some(step), _) => step,
            (None, Ok(answer)) => Step::Answered(answer),
            (None, Err(failure)) => Step::Failed(failure),
        }
    }

    /// `None`: all of it is on disk. Otherwise what to do instead of answering.
    async fn commit(&self, changes: Changes, contest: &mut Contest) -> Option<Step> {
        let patience = self.admitted.deadline.max(Instant::now()) + Duration::from_millis(DURABLE_WAIT_MS);
        let changes = changes.until(self.admitted.deadline);
        match timeout_at(patience, self.calls.committer.commit(changes, contest.turn.as_mut())).await {
            Ok(Ok(())) => None,
            Ok(Err(CommitError::Conflict(lost))) => {
                contest.losses += 1;
                if contest.losses >= LOSSES_BEFORE_TURN && contest.turn.is_none() {
                    match timeout_at(self.admitted.deadline, self.calls.committer.take_turn(&lost)).await {
                        Ok(taken) => contest.turn = Some(taken),
                        Err(_) => return Some(Step::Failed(Failure::DeadlineExceeded)),
                    }
                }
                Some(Step::Again)
            }
            Ok(Err(CommitError::Discarded)) => Some(Step::Again),
            Ok(Err(CommitError::Late)) => Some(Step::Failed(Failure::DeadlineExceeded)),
            Ok(Err(CommitError::Busy)) => Some(Step::Failed(Failure::Unavailable)),
            Ok(Err(error)) => Some(Step::Broken(self.report(&error))),
            Err(_) => Some(Step::Broken(self.report(&CommitError::OutcomeUnknown))),
        }
    }

    fn report(&self, error: &CommitError) -> Failure {
        tracing::error!(
            plugin = &*self.generation.facts.plugin,
            operation = self.admitted.route.declared.operation,
            request_id = &*self.inputs.request_id,
            "commit failed: {error}"
        );
        match error {
            CommitError::OutcomeUnknown => Failure::OutcomeUnknown,
            CommitError::Poisoned(_) => Failure::PluginFailed,
            _ => Failure::Unavailable,
        }
    }
}

/// What nobody broke: too many at once, no time left, a key of idempotency in use.
fn log_failure(admitted: &Admitted<Arc<Generation>>, failure: Failure) {
    let (plugin, generation) = (&*admitted.mounted.plugin, admitted.mounted.number);
    let (request_id, failed) = (&*admitted.request_id, failure.name());
    match failure {
        Failure::Unavailable | Failure::DeadlineExceeded => {
            tracing::info!(plugin, generation, request_id, failure = failed, "call failed");
        }
        _ => tracing::debug!(plugin, generation, request_id, failure = failed, "call failed"),
    }
}
