//! A task that fell due, through the same door as a request: pinned to one generation, run, committed, run again.
//!
//! Reads the record of the task in every run, so that it is part of what the commit rests on: of two that run it, one does;
//! one that was cancelled or moved meanwhile does nothing. Never writes what went wrong: that is `tasks`.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tenon_bindings::exports::tenon::plugin::handler::{Outcome as GuestOutcome, Task, Verdict};
use tenon_bindings::tenon::plugin::types::Principal;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{Call, Caller, Calls, Contest, GuestFault, Unsettled, guest::Run};
use crate::clock::Timestamp;
use crate::{
    capability::outgoing,
    changes::{
        change_set::Version,
        effect::{Effect, Outcome, Progress},
        timer::{TaskKind, TaskPlace, Trouble},
    },
    commit::draft::{Draft, DraftError},
    failure::Failure,
    limits::RUNS_MAX,
    plugin::generation::Generation,
};

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// What it changed is durable, and it is over.
    Done,
    /// It wants to be run again then, if it is still the one of this version.
    Later { at: Timestamp, version: Version },
    /// There is no such task, or it is not due: nothing has run.
    NotDue,
    /// The plugin failed it.
    Fault(Failed),
    /// Not its own fault: no seat, no disk, no end of conflicts.
    Postponed(Failure),
    /// The run of a [`SettledEffect`] did not end the task. Nothing is written, so the outcome must be written next.
    Unwritten,
}

impl TaskEnd {
    /// The label in the metrics.
    pub fn name(&self) -> &'static str {
        match self {
            TaskEnd::Done => "done",
            TaskEnd::Later { .. } => "later",
            TaskEnd::NotDue => "not-due",
            TaskEnd::Fault(_) => "fault",
            TaskEnd::Postponed(_) => "postponed",
            TaskEnd::Unwritten => "unwritten",
        }
    }
}

/// An effect whose outcome is not on disk yet. The commit of the run that receives the outcome removes the effect.
pub struct SettledEffect {
    /// As it was written when the last attempt began.
    pub begun: Progress,
    pub effect: Effect,
}

/// A run that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Of the record that it was read from.
    pub version: Version,
    /// Counts from 1.
    pub run: u32,
    /// For operators.
    pub text: String,
}

/// A task as the plugin gets it, and the version of the record that it was read from.
struct Fired {
    task: Task,
    version: Version,
}

/// The turn of a task among others of its plugin; given back while it waits for replies.
pub struct Turn<'a> {
    slots: [&'a Semaphore; 2],
    held: Option<[SemaphorePermit<'a>; 2]>,
}

impl<'a> Turn<'a> {
    /// One slot of each, in this order. `None`: they are closed.
    pub async fn take(slots: [&'a Semaphore; 2]) -> Option<Turn<'a>> {
        let mut turn = Turn { slots, held: None };
        turn.take_again().await;
        turn.held.is_some().then_some(turn)
    }

    /// Takes a slot of each if both are free.
    pub fn try_take(slots: [&'a Semaphore; 2]) -> Option<Turn<'a>> {
        let [first, second] = slots;
        let held = Some([first.try_acquire().ok()?, second.try_acquire().ok()?]);
        Some(Turn { slots, held })
    }

    async fn take_again(&mut self) {
        let [first, second] = self.slots;
        if let (Ok(first), Ok(second)) = (first.acquire().await, second.acquire().await) {
            self.held = Some([first, second]);
        }
    }

    fn give_back(&mut self) {
        self.held = None;
    }
}

struct TaskCall<'a> {
    call: Call<'a>,
    place: &'a TaskPlace,
    settled: Option<&'a SettledEffect>,
}

impl Calls {
    /// `settled` is the effect whose outcome the run receives, if that outcome is not on disk yet.
    pub async fn run_task(
        &self,
        generation: &Arc<Generation>,
        place: &TaskPlace,
        settled: Option<&SettledEffect>,
        mut turn: Turn<'_>,
    ) -> TaskEnd {
        let _running = generation.enter();
        if self.disk.refuses_writes(place.scope.tenant()) {
            return TaskEnd::Postponed(Failure::Unavailable);
        }
        let name = place.name();
        let deadline_ms =
            generation.find_task(name).and_then(|task| task.deadline_ms).unwrap_or(generation.facts.limits.deadline_ms);
        let caller = Caller {
            tenant: place.scope.tenant().clone(),
            payer: place.scope.tenant().clone(),
            subject: "task".into(),
            operation: name,
            request_id: place.id.clone(),
            memory: &generation.task_memory,
            // Its record has it, which is read in each run.
            hops: 0,
        };
        let deadline = Instant::now() + Duration::from_millis(deadline_ms);
        let call = match Call::new(self, generation, caller, deadline) {
            Ok(call) => TaskCall { call, place, settled },
            Err(failure) => return TaskEnd::Postponed(failure),
        };
        let (mut contest, mut ran) = (Contest::default(), None);
        for _ in 0..RUNS_MAX {
            match call.run(&mut contest, &mut ran, &mut turn).await {
                Ok(end) => return end,
                Err(Unsettled::Again) => generation.metrics.count_rerun(),
                Err(Unsettled::Failed(failure) | Unsettled::Broken(failure)) => return unsettled(failure, ran),
                Err(Unsettled::Outdated) => return TaskEnd::Postponed(Failure::PluginFailed),
            }
        }
        unsettled(Failure::Unavailable, ran)
    }
}

/// Too little time, or changes that cannot be applied, are the task's own trouble once it has run; all else is the host's.
fn unsettled(failure: Failure, ran: Option<Ran>) -> TaskEnd {
    match (failure, ran) {
        (Failure::DeadlineExceeded | Failure::PluginFailed, Some(Ran { version, run })) => {
            TaskEnd::Fault(Failed { version, run, text: format!("ended in {}", failure.name()) })
        }
        _ => TaskEnd::Postponed(failure),
    }
}

/// The last run: of which version of the record, and the how manieth.
#[derive(Clone, Copy)]
struct Ran {
    version: Version,
    run: u32,
}

impl TaskCall<'_> {
    async fn run(
        &self,
        contest: &mut Contest,
        ran: &mut Option<Ran>,
        turn: &mut Turn<'_>,
    ) -> Result<TaskEnd, Unsettled> {
        let call = &self.call;
        if call.is_late() {
            return Err(Unsettled::Failed(Failure::DeadlineExceeded));
        }
        let permits = call.take_permits(contest).await.map_err(Unsettled::Failed)?;
        let mut draft = call.begin();
        let fired = match self.load(&mut draft).await {
            Ok(Some(fired)) => fired,
            Ok(None) => {
                drop(permits);
                // Whoever took it away may not be durable yet.
                call.commit(draft.into_refusal(), contest).await?;
                return Ok(TaskEnd::NotDue);
            }
            Err(error) => {
                tracing::error!(task = &*self.place.id, "a task cannot be read: {error}");
                return Err(Unsettled::Broken(Failure::Unavailable));
            }
        };
        let Run { outcome, left, .. } = call.run(&fired.task, draft, contest, permits).await;
        if let Err(GuestFault::NoCore) = outcome {
            return Err(Unsettled::Failed(Failure::Unavailable));
        }
        if self.settled.is_some() && !matches!(outcome, Ok(Verdict::Done)) {
            return Ok(TaskEnd::Unwritten);
        }
        *ran = Some(Ran { version: fired.version, run: fired.task.attempt });
        let draft = left.map(|(draft, questions)| {
            contest.keep_questions(questions, matches!(outcome, Ok(Verdict::Wait)));
            draft
        });
        if let Some(work) = contest.questions.passwords.take_wanted() {
            drop(draft);
            turn.give_back();
            return match call.compute(work, contest).await {
                Unsettled::Again => self.resume(turn).await,
                unsettled => Err(unsettled),
            };
        }
        if let Err(fault) = &outcome
            && call.waits_for_memory(fault, contest)
        {
            return Err(Unsettled::Again);
        }
        match (outcome, draft) {
            (Ok(Verdict::Done), Some(draft)) => self.finish(draft, contest).await,
            (Ok(Verdict::Later(at)), Some(draft)) => {
                call.commit(draft.into_refusal(), contest).await?;
                Ok(TaskEnd::Later { at, version: fired.version })
            }
            (Ok(Verdict::Wait), draft) => {
                // Nothing is held while somebody else is asked.
                drop(draft);
                turn.give_back();
                match call.wait(contest).await {
                    Ok(()) => self.resume(turn).await,
                    Err(fault) => self.fault(&fault, None, &fired, contest).await,
                }
            }
            (Ok(_), None) => self.fault(&GuestFault::Deadline, None, &fired, contest).await,
            (Err(fault), draft) => self.fault(&fault, draft, &fired, contest).await,
        }
    }

    /// What it waited for is there: in turn among others, from the beginning.
    async fn resume(&self, turn: &mut Turn<'_>) -> Result<TaskEnd, Unsettled> {
        match timeout_at(self.call.deadline, turn.take_again()).await {
            Ok(()) => Err(Unsettled::Again),
            Err(_) => Err(Unsettled::Failed(Failure::DeadlineExceeded)),
        }
    }

    async fn finish(&self, mut draft: Box<Draft>, contest: &mut Contest) -> Result<TaskEnd, Unsettled> {
        if let Err(error) = draft.finish_task(self.place.kind, &self.place.id).await {
            tracing::error!(task = &*self.place.id, "a task cannot be ended: {error}");
            return Err(Unsettled::Broken(Failure::Unavailable));
        }
        self.call.commit(draft.into_changes(None), contest).await?;
        self.call.generation.metrics.count_commit();
        Ok(TaskEnd::Done)
    }

    /// A fault counts only if what it read still holds.
    async fn fault(
        &self,
        fault: &GuestFault,
        draft: Option<Box<Draft>>,
        fired: &Fired,
        contest: &mut Contest,
    ) -> Result<TaskEnd, Unsettled> {
        if let GuestFault::Outdated(_) = fault {
            return Err(Unsettled::Outdated);
        }
        if let Some(draft) = draft
            && let Err(Unsettled::Again) = self.call.commit(draft.into_refusal(), contest).await
        {
            return Err(Unsettled::Again);
        }
        match self.call.log_fault(fault) {
            Failure::Unavailable => Err(Unsettled::Broken(Failure::Unavailable)),
            _ => {
                Ok(TaskEnd::Fault(Failed { version: fired.version, run: fired.task.attempt, text: fault.to_string() }))
            }
        }
    }

    /// `None` where it is gone, given up, or due later.
    async fn load(&self, draft: &mut Draft) -> Result<Option<Fired>, DraftError> {
        let now = self.call.inputs.now;
        Ok(match self.place.kind {
            TaskKind::Timer => draft
                .find_timer(&self.place.id)
                .await?
                .filter(|found| found.value.due.is_some_and(|due| due <= now))
                .map(|found| {
                    let timer = found.value;
                    draft.set_hops(timer.hops);
                    self.fired(found.version, (timer.name, timer.key), &timer.payload, &timer.trouble, None)
                }),
            TaskKind::Effect => draft.find_effect(&self.place.id).await?.and_then(|found| {
                draft.tell_effect(&self.place.id);
                let effect = match self.settled {
                    Some(settled) if found.value.progress != settled.begun => return None,
                    Some(settled) => settled.effect.clone(),
                    None => found.value,
                };
                draft.set_hops(effect.call.hops);
                let outcome = effect.outcome.filter(|_| effect.due.is_some_and(|due| due <= now))?;
                let names = (effect.then, effect.key);
                Some(self.fired(found.version, names, &effect.context, &effect.trouble, Some(words(outcome))))
            }),
        })
    }

    fn fired(
        &self,
        version: Version,
        (name, key): (String, String),
        payload: &RawValue,
        trouble: &Trouble,
        outcome: Option<GuestOutcome>,
    ) -> Fired {
        let delays = self.call.generation.task_delays_ms(self.place.name()).len();
        let task = Task {
            name,
            key,
            payload: payload.get().to_owned(),
            outcome,
            attempt: trouble.faults.saturating_add(1),
            last: usize::try_from(trouble.faults).is_ok_and(|faults| faults >= delays),
            principal: principal(self.place.scope.tenant()),
            now: self.call.inputs.now,
        };
        Fired { task, version }
    }
}

fn words(outcome: Outcome) -> GuestOutcome {
    match outcome {
        Outcome::Answered(answer) => GuestOutcome::Answered(outgoing::response(answer)),
        Outcome::NotSent(why) => GuestOutcome::NotSent(why),
        Outcome::Unknown(why) => GuestOutcome::Unknown(why),
    }
}

/// The host itself, for this tenant.
fn principal(tenant: &str) -> Principal {
    Principal {
        tenant: tenant.to_owned(),
        environment: tenant.rsplit_once('/').map_or("", |(_, environment)| environment).to_owned(),
        kind: "system".to_owned(),
        subject: "task".to_owned(),
        scopes: Vec::new(),
        attributes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_is_taken_at_once_only_if_both_slots_are_free() {
        let (of_tenant, of_plugin) = (Semaphore::new(1), Semaphore::new(1));
        let turn = Turn::try_take([&of_tenant, &of_plugin]);
        assert!(turn.is_some());
        drop(turn);
        let _other = of_plugin.try_acquire().unwrap();
        assert!(Turn::try_take([&of_tenant, &of_plugin]).is_none());
        assert_eq!(of_tenant.available_permits(), 1, "the slot of the tenant is returned");
    }
}
