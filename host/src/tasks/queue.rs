//! The worker of one task queue: processes its due records, several at a time, until none is due.
//!
//! - `state`: which records are running, due, or still to be searched for; pure. `inbox`: due records that commits
//!   report.

mod inbox;
mod state;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

use super::{
    Shared, effect, note,
    slots::{Rank, TenantSlots},
};
use crate::{
    changes::timer::{TaskKey, TaskKind, TaskQueue},
    clock::Timestamp,
    db::DbError,
    limits::{DESTINATION_EFFECTS_RUNNING_MAX, TASK_PAUSE_MS, TENANT_TASKS_ACTIVE_MAX},
    plugin::{
        call::{SettledEffect, TaskPermit, TaskRunOutcome},
        generation::Generation,
    },
};
pub(super) use inbox::Inbox;
use state::QueueState;

/// Result of the work on one record.
pub(super) enum WorkOutcome {
    /// The outcome is written to the database.
    Settled,
    /// The record was gone, or not due by the clock of the run. A record that exists has its due time in the database.
    NotDue,
    /// The record could not be processed now, for a reason outside of the record.
    Postponed,
}

/// Processes the due records of the queue until none is due. Returns the time of the next work, or `None` if no stored
/// record of the queue has a due time.
pub(super) async fn work(shared: Arc<Shared>, queue: &TaskQueue, inbox: &Inbox) -> Option<Timestamp> {
    let clock = &shared.parts.clock;
    if (shared.parts.serving)(queue.scope.plugin()).is_none() {
        // The search after the pause finds the reported records.
        drop(inbox.take());
        return Some(clock.now().saturating_add(TASK_PAUSE_MS));
    }
    let (mut state, slots) = (QueueState::new(running_max(queue.kind())), shared.slots_of(&queue.scope));
    // Each record is processed by a Tokio task of its own, which makes progress while this one waits for the database.
    let mut running = JoinSet::new();
    loop {
        let now = clock.now();
        state.receive(inbox.take(), now);
        if !shared.stopping.load(Ordering::Relaxed) {
            if state.must_search()
                && let Err(error) = search(&shared, queue, &mut state, now).await
            {
                tracing::error!(%error, "failed to read due tasks");
                state.search_failed(now.saturating_add(TASK_PAUSE_MS));
            }
            for id in state.start_due() {
                let rank = if running.is_empty() { Rank::First } else { Rank::Further };
                running.spawn(work_on_record(shared.clone(), slots.clone(), queue.key(id), rank));
            }
        }
        if running.is_empty() {
            return state.next(now.saturating_add(TASK_PAUSE_MS));
        }
        let until_next = state.next_search().map(|next| Duration::from_millis(next.saturating_sub(clock.now())));
        tokio::select! {
            Some(ended) = running.join_next() => state.finish(ended),
            () = inbox.arrived() => {}
            () = sleep(until_next.unwrap_or_default()), if until_next.is_some() => {}
        }
        while let Some(ended) = running.try_join_next() {
            state.finish(ended);
        }
    }
}

async fn search(shared: &Shared, queue: &TaskQueue, state: &mut QueueState, now: Timestamp) -> Result<(), DbError> {
    let permit = shared.queries.acquire().await;
    let found = shared.parts.database.find_first_tasks(queue, now, state.search_limit()).await?;
    drop(permit);
    state.found(found);
    Ok(())
}

/// Processes one record. Returns its id and the outcome.
async fn work_on_record(
    shared: Arc<Shared>,
    slots: Arc<TenantSlots>,
    task: TaskKey,
    rank: Rank,
) -> (Arc<str>, WorkOutcome) {
    let outcome = match task.kind {
        TaskKind::Timer => run(&shared, &slots, &task).await,
        TaskKind::Effect => effect::work(&shared, &slots, &task, rank).await,
    };
    if let (WorkOutcome::Postponed, false) = (&outcome, shared.stopping.load(Ordering::Relaxed)) {
        // The record counts as running during the pause, because its obstacle may affect the next record as well.
        sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
    }
    (task.id, outcome)
}

/// Runs the task of a timer, or the task that receives the outcome of an effect.
pub(super) async fn run(shared: &Shared, slots: &TenantSlots, task: &TaskKey) -> WorkOutcome {
    let parts = &shared.parts;
    let tasks = shared.tasks_of(task.scope.plugin());
    let Some(permit) = TaskPermit::acquire([&slots.tasks, &*tasks]).await else { return WorkOutcome::Postponed };
    let Some((generation, end)) = run_once(shared, task, None, permit).await else { return WorkOutcome::Postponed };
    parts.metrics.count_run(end.name());
    let written = match end {
        TaskRunOutcome::Done => Ok(()),
        TaskRunOutcome::NotDue => return WorkOutcome::NotDue,
        TaskRunOutcome::Postponed(_) | TaskRunOutcome::Unwritten => return WorkOutcome::Postponed,
        TaskRunOutcome::Later { at, version } => note::later(parts, task, version, at).await,
        TaskRunOutcome::Fault(failed) => {
            note::fault(parts, task, &failed, generation.task_delays_ms(task.name())).await
        }
    };
    match written {
        Ok(()) => WorkOutcome::Settled,
        Err(error) => {
            tracing::error!(task = &*task.id, "failed to write the outcome of a task: {error}");
            WorkOutcome::Postponed
        }
    }
}

/// Runs the task of an effect whose outcome is not written yet, and ends both in one commit. Returns true if that
/// succeeded.
///
/// The outcome is only in memory, so the task is not run if other tasks hold all permits, or if the host is stopping.
pub(super) async fn run_settled(shared: &Shared, slots: &TenantSlots, task: &TaskKey, settled: &SettledEffect) -> bool {
    if shared.stopping.load(Ordering::Relaxed) {
        return false;
    }
    let tasks = shared.tasks_of(task.scope.plugin());
    let Some(permit) = TaskPermit::try_acquire([&slots.tasks, &*tasks]) else { return false };
    let Some((_, end)) = run_once(shared, task, Some(settled), permit).await else { return false };
    shared.parts.metrics.count_run(end.name());
    end == TaskRunOutcome::Done
}

/// Runs the task with the generation that serves now. Returns `None` if the plugin does not serve.
async fn run_once(
    shared: &Shared,
    task: &TaskKey,
    settled: Option<&SettledEffect>,
    permit: TaskPermit<'_>,
) -> Option<(Arc<Generation>, TaskRunOutcome)> {
    let generation = (shared.parts.serving)(task.scope.plugin())?;
    let end = shared.parts.calls.run_task(&generation, task, settled, permit).await;
    Some((generation, end))
}

/// Returns how many records of one queue may run at once.
fn running_max(kind: TaskKind) -> usize {
    match kind {
        TaskKind::Timer => TENANT_TASKS_ACTIVE_MAX,
        TaskKind::Effect => DESTINATION_EFFECTS_RUNNING_MAX,
    }
}
