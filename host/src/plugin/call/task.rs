//! Runs a due task like a request: pinned to one generation, run, committed, retried after a conflict.
//!
//! Each run reads the record of the task, so that the commit depends on it. If two runs of a task overlap, one of them
//! commits. A task that was cancelled or moved meanwhile does nothing. `tasks` writes the faults.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tenon_bindings::exports::tenon::plugin::handler::{Outcome as GuestOutcome, Task, Verdict};
use tenon_bindings::tenon::plugin::types::Principal;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{Call, Caller, Calls, GuestFault, RetryState, RunError, guest::Run};
use crate::{
    capability::outgoing,
    changes::{
        change_set::Version,
        effect::{Effect, Outcome, Progress},
        timer::{FaultHistory, TaskKey, TaskKind},
    },
    clock::Timestamp,
    commit::draft::{Draft, DraftError},
    host_error::HostError,
    limits::RUNS_MAX,
    plugin::generation::Generation,
};

/// Outcome of the run of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskRunOutcome {
    /// The changes are durable and the task is completed.
    Done,
    /// The plugin requests another run at this time, if the record still has this version.
    Later { at: Timestamp, version: Version },
    /// The task does not exist or is not due. Nothing has run.
    NotDue,
    /// The run ended in a fault.
    Fault(TaskFault),
    /// Not a fault of the task, for example no permit, no disk space, or conflict retries exhausted.
    Postponed(HostError),
    /// The run of a [`SettledEffect`] did not complete the task. Nothing is written, so the outcome must be written
    /// next.
    Unwritten,
}

impl TaskRunOutcome {
    /// Returns the label in the metrics.
    pub fn name(&self) -> &'static str {
        match self {
            TaskRunOutcome::Done => "done",
            TaskRunOutcome::Later { .. } => "later",
            TaskRunOutcome::NotDue => "not-due",
            TaskRunOutcome::Fault(_) => "fault",
            TaskRunOutcome::Postponed(_) => "postponed",
            TaskRunOutcome::Unwritten => "unwritten",
        }
    }
}

/// An effect whose outcome is not on disk yet. The commit of the run that receives the outcome removes the effect.
pub struct SettledEffect {
    /// Progress that was written when the last attempt began.
    pub begun: Progress,
    pub effect: Effect,
}

/// A run that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFault {
    /// Version of the record of the task.
    pub version: Version,
    /// Number of the run, from 1.
    pub run: u32,
    /// Message for operators.
    pub text: String,
}

/// A task in the types of the guest, and the version of its record.
struct DueTask {
    task: Task,
    version: Version,
}

/// Permit of a task to run, among other tasks of its tenant and plugin. It is released while the task waits for replies
/// or a computed password.
pub struct TaskPermit<'a> {
    slots: [&'a Semaphore; 2],
    held: Option<[SemaphorePermit<'a>; 2]>,
}

impl<'a> TaskPermit<'a> {
    /// Takes a slot of each semaphore, in this order. Returns `None` if they are closed.
    pub async fn acquire(slots: [&'a Semaphore; 2]) -> Option<TaskPermit<'a>> {
        let mut permit = TaskPermit { slots, held: None };
        permit.acquire_again().await;
        permit.held.is_some().then_some(permit)
    }

    /// Takes a slot of each semaphore if both have one.
    pub fn try_acquire(slots: [&'a Semaphore; 2]) -> Option<TaskPermit<'a>> {
        let [first, second] = slots;
        let held = Some([first.try_acquire().ok()?, second.try_acquire().ok()?]);
        Some(TaskPermit { slots, held })
    }

    async fn acquire_again(&mut self) {
        let [first, second] = self.slots;
        if let (Ok(first), Ok(second)) = (first.acquire().await, second.acquire().await) {
            self.held = Some([first, second]);
        }
    }

    fn release(&mut self) {
        self.held = None;
    }
}

struct TaskCall<'a> {
    call: Call<'a>,
    key: &'a TaskKey,
    settled: Option<&'a SettledEffect>,
}

impl Calls {
    /// Runs a task. `settled`: the effect whose outcome the run receives, if that outcome is not durable yet.
    pub async fn run_task(
        &self,
        generation: &Arc<Generation>,
        key: &TaskKey,
        settled: Option<&SettledEffect>,
        mut permit: TaskPermit<'_>,
    ) -> TaskRunOutcome {
        let _running = generation.enter();
        if self.disk.rejects_writes(key.scope.tenant()) {
            return TaskRunOutcome::Postponed(HostError::Unavailable);
        }
        let name = key.name();
        let deadline_ms =
            generation.find_task(name).and_then(|task| task.deadline_ms).unwrap_or(generation.facts.limits.deadline_ms);
        let caller = Caller {
            tenant: key.scope.tenant().clone(),
            party: key.scope.tenant().clone(),
            subject: "task".into(),
            operation: name,
            request_id: key.id.clone(),
            memory: &generation.task_memory,
            // Each run reads the hop count from the record.
            hops: 0,
        };
        let deadline = Instant::now() + Duration::from_millis(deadline_ms);
        let call = match Call::new(self, generation, caller, deadline) {
            Ok(call) => TaskCall { call, key, settled },
            Err(failure) => return TaskRunOutcome::Postponed(failure),
        };
        let (mut state, mut last_run) = (RetryState::default(), None);
        for _ in 0..RUNS_MAX {
            match call.run(&mut state, &mut last_run, &mut permit).await {
                Ok(end) => return end,
                Err(RunError::Retry) => generation.metrics.count_rerun(),
                Err(RunError::Failed(failure) | RunError::Broken(failure)) => {
                    return outcome_of_error(failure, last_run);
                }
                Err(RunError::Outdated) => return TaskRunOutcome::Postponed(HostError::PluginFailed),
            }
        }
        outcome_of_error(HostError::Unavailable, last_run)
    }
}

/// Returns the outcome for an error. A missed deadline, or changes that cannot be applied, are faults of a task that
/// has run. Other errors are the host's.
fn outcome_of_error(failure: HostError, last_run: Option<LastRun>) -> TaskRunOutcome {
    match (failure, last_run) {
        (HostError::DeadlineExceeded | HostError::PluginFailed, Some(LastRun { version, run })) => {
            TaskRunOutcome::Fault(TaskFault { version, run, text: format!("failed with {}", failure.name()) })
        }
        _ => TaskRunOutcome::Postponed(failure),
    }
}

/// Version of the record and number of the last run.
#[derive(Clone, Copy)]
struct LastRun {
    version: Version,
    run: u32,
}

impl TaskCall<'_> {
    async fn run(
        &self,
        state: &mut RetryState,
        last_run: &mut Option<LastRun>,
        permit: &mut TaskPermit<'_>,
    ) -> Result<TaskRunOutcome, RunError> {
        let call = &self.call;
        if call.is_past_deadline() {
            return Err(RunError::Failed(HostError::DeadlineExceeded));
        }
        let permits = call.take_permits(state).await.map_err(RunError::Failed)?;
        let mut draft = call.begin();
        let due_task = match self.load(&mut draft).await {
            Ok(Some(due_task)) => due_task,
            Ok(None) => {
                drop(permits);
                // The write that removed the task may not be durable yet.
                call.commit(draft.into_refusal(), state).await?;
                return Ok(TaskRunOutcome::NotDue);
            }
            Err(error) => {
                tracing::error!(task = &*self.key.id, "failed to read a task: {error}");
                return Err(RunError::Broken(HostError::Unavailable));
            }
        };
        let Run { outcome, left, .. } = call.run(&due_task.task, draft, state, permits).await;
        if let Err(GuestFault::NoCore) = outcome {
            return Err(RunError::Failed(HostError::Unavailable));
        }
        if self.settled.is_some() && !matches!(outcome, Ok(Verdict::Done)) {
            return Ok(TaskRunOutcome::Unwritten);
        }
        *last_run = Some(LastRun { version: due_task.version, run: due_task.task.attempt });
        let draft = left.map(|(draft, questions)| {
            state.keep_questions(questions, matches!(outcome, Ok(Verdict::Wait)));
            draft
        });
        if let Some(work) = state.questions.passwords.take_pending() {
            drop(draft);
            permit.release();
            return match call.compute(work, state).await {
                RunError::Retry => self.resume(permit).await,
                error => Err(error),
            };
        }
        if let Err(fault) = &outcome
            && call.waits_for_memory(fault, state)
        {
            return Err(RunError::Retry);
        }
        match (outcome, draft) {
            (Ok(Verdict::Done), Some(draft)) => self.finish(draft, state).await,
            (Ok(Verdict::Later(at)), Some(draft)) => {
                call.commit(draft.into_refusal(), state).await?;
                Ok(TaskRunOutcome::Later { at, version: due_task.version })
            }
            (Ok(Verdict::Wait), draft) => {
                // The task holds nothing while it waits for replies.
                drop(draft);
                permit.release();
                match call.wait(state).await {
                    Ok(()) => self.resume(permit).await,
                    Err(fault) => self.fault(&fault, None, &due_task, state).await,
                }
            }
            (Ok(_), None) => self.fault(&GuestFault::Deadline, None, &due_task, state).await,
            (Err(fault), draft) => self.fault(&fault, draft, &due_task, state).await,
        }
    }

    /// Takes the permit again after a wait and starts the next run.
    async fn resume(&self, permit: &mut TaskPermit<'_>) -> Result<TaskRunOutcome, RunError> {
        match timeout_at(self.call.deadline, permit.acquire_again()).await {
            Ok(()) => Err(RunError::Retry),
            Err(_) => Err(RunError::Failed(HostError::DeadlineExceeded)),
        }
    }

    async fn finish(&self, mut draft: Box<Draft>, state: &mut RetryState) -> Result<TaskRunOutcome, RunError> {
        if let Err(error) = draft.finish_task(self.key.kind, &self.key.id).await {
            tracing::error!(task = &*self.key.id, "failed to complete a task: {error}");
            return Err(RunError::Broken(HostError::Unavailable));
        }
        self.call.commit(draft.into_changes(None), state).await?;
        self.call.generation.metrics.count_commit();
        Ok(TaskRunOutcome::Done)
    }

    /// Returns the outcome for a fault. A fault counts only if the data that the run read is unchanged.
    async fn fault(
        &self,
        fault: &GuestFault,
        draft: Option<Box<Draft>>,
        due_task: &DueTask,
        state: &mut RetryState,
    ) -> Result<TaskRunOutcome, RunError> {
        if let GuestFault::Outdated(_) = fault {
            return Err(RunError::Outdated);
        }
        if let Some(draft) = draft
            && let Err(RunError::Retry) = self.call.commit(draft.into_refusal(), state).await
        {
            return Err(RunError::Retry);
        }
        match self.call.log_fault(fault) {
            HostError::Unavailable => Err(RunError::Broken(HostError::Unavailable)),
            _ => Ok(TaskRunOutcome::Fault(TaskFault {
                version: due_task.version,
                run: due_task.task.attempt,
                text: fault.to_string(),
            })),
        }
    }

    /// Loads the task. Returns `None` if it is gone, given up, or due later.
    async fn load(&self, draft: &mut Draft) -> Result<Option<DueTask>, DraftError> {
        let now = self.call.inputs.now;
        Ok(match self.key.kind {
            TaskKind::Timer => draft
                .find_timer(&self.key.id)
                .await?
                .filter(|found| found.value.due.is_some_and(|due| due <= now))
                .map(|found| {
                    let timer = found.value;
                    draft.set_hops(timer.hops);
                    self.due_task(found.version, (timer.name, timer.key), &timer.payload, &timer.fault_history, None)
                }),
            TaskKind::Effect => draft.find_effect(&self.key.id).await?.and_then(|found| {
                draft.set_reported_effect(&self.key.id);
                let effect = match self.settled {
                    Some(settled) if found.value.progress != settled.begun => return None,
                    Some(settled) => settled.effect.clone(),
                    None => found.value,
                };
                draft.set_hops(effect.call.hops);
                let outcome = effect.outcome.filter(|_| effect.due.is_some_and(|due| due <= now))?;
                let names = (effect.then, effect.key);
                Some(self.due_task(
                    found.version,
                    names,
                    &effect.context,
                    &effect.fault_history,
                    Some(guest_outcome(outcome)),
                ))
            }),
        })
    }

    fn due_task(
        &self,
        version: Version,
        (name, key): (String, String),
        payload: &RawValue,
        fault_history: &FaultHistory,
        outcome: Option<GuestOutcome>,
    ) -> DueTask {
        let delays = self.call.generation.task_delays_ms(self.key.name()).len();
        let task = Task {
            name,
            key,
            payload: payload.get().to_owned(),
            outcome,
            attempt: fault_history.faults.saturating_add(1),
            last: usize::try_from(fault_history.faults).is_ok_and(|faults| faults >= delays),
            principal: principal(self.key.scope.tenant()),
            now: self.call.inputs.now,
        };
        DueTask { task, version }
    }
}

fn guest_outcome(outcome: Outcome) -> GuestOutcome {
    match outcome {
        Outcome::Answered(answer) => GuestOutcome::Answered(outgoing::response(answer)),
        Outcome::NotSent(why) => GuestOutcome::NotSent(why),
        Outcome::Unknown(why) => GuestOutcome::Unknown(why),
    }
}

/// Returns the principal of the host for a tenant.
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
    fn permit_is_acquired_at_once_only_if_both_slots_are_free() {
        let (tenant_slots, plugin_slots) = (Semaphore::new(1), Semaphore::new(1));
        let permit = TaskPermit::try_acquire([&tenant_slots, &plugin_slots]);
        assert!(permit.is_some());
        drop(permit);
        let _other = plugin_slots.try_acquire().unwrap();
        assert!(TaskPermit::try_acquire([&tenant_slots, &plugin_slots]).is_none());
        assert_eq!(tenant_slots.available_permits(), 1, "the slot of the tenant is returned");
    }
}
