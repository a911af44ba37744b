//! One line at work: everything of it that is due, several at a time, until nothing is.
//!
//! - `state`: which of its records are at work, due, or still to be searched for; pure. `inbox`: what commits report meanwhile.

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
use crate::clock::Timestamp;
use crate::{
    changes::timer::{TaskKind, TaskLine, TaskPlace},
    db::DbError,
    limits::{DESTINATION_EFFECTS_RUNNING_MAX, TASK_PAUSE_MS, TENANT_TASKS_IN_HAND_MAX},
    plugin::{
        call::{SettledEffect, TaskEnd, Turn},
        generation::Generation,
    },
};
pub(super) use inbox::Inbox;
use state::LineState;

/// How the work on one record ended.
pub(super) enum Worked {
    /// Whatever is to be known about it is written.
    Settled,
    /// The record was gone, or not due by the clock of the run. The database knows when it is.
    NotDue,
    /// Not now, and not for a reason of its own.
    Postponed,
}

/// Works on what the inbox reports. Returns when there is something to do again; `None`: nothing is stored.
pub(super) async fn work(shared: Arc<Shared>, line: &TaskLine, inbox: &Inbox) -> Option<Timestamp> {
    let clock = &shared.parts.clock;
    if (shared.parts.serving)(line.scope.plugin()).is_none() {
        // The search that follows the pause finds them.
        drop(inbox.take());
        return Some(clock.now().saturating_add(TASK_PAUSE_MS));
    }
    let (mut state, slots) = (LineState::new(in_hand_max(line.kind())), shared.slots_of(&line.scope));
    // Each work is a task of its own: the line does not poll it while it waits for the database.
    let mut works = JoinSet::new();
    loop {
        let now = clock.now();
        state.receive(inbox.take(), now);
        if !shared.stopping.load(Ordering::Relaxed) {
            if state.must_search()
                && let Err(error) = search(&shared, line, &mut state, now).await
            {
                tracing::error!(%error, "what is due cannot be read");
                state.search_failed(now.saturating_add(TASK_PAUSE_MS));
            }
            for id in state.start_due() {
                let rank = if works.is_empty() { Rank::First } else { Rank::Further };
                works.spawn(work_on(shared.clone(), slots.clone(), line.place(id), rank));
            }
        }
        if works.is_empty() {
            return state.next(now.saturating_add(TASK_PAUSE_MS));
        }
        let until_next = state.next_search().map(|next| Duration::from_millis(next.saturating_sub(clock.now())));
        tokio::select! {
            Some(ended) = works.join_next() => state.finish(ended),
            () = inbox.arrived() => {}
            () = sleep(until_next.unwrap_or_default()), if until_next.is_some() => {}
        }
        while let Some(ended) = works.try_join_next() {
            state.finish(ended);
        }
    }
}

async fn search(shared: &Shared, line: &TaskLine, state: &mut LineState, now: Timestamp) -> Result<(), DbError> {
    let permit = shared.looks.acquire().await;
    let found = shared.parts.database.find_first_tasks(line, now, state.search_limit()).await?;
    drop(permit);
    state.found(found);
    Ok(())
}

/// Returns the id of the record, and whether commits report all that follows from the work on it.
async fn work_on(shared: Arc<Shared>, slots: Arc<TenantSlots>, place: TaskPlace, rank: Rank) -> (Arc<str>, Worked) {
    let worked = match place.kind {
        TaskKind::Timer => run(&shared, &slots, &place).await,
        TaskKind::Effect => effect::work(&shared, &slots, &place, rank).await,
    };
    if let (Worked::Postponed, false) = (&worked, shared.stopping.load(Ordering::Relaxed)) {
        // In its place: what hinders it may hinder the next one as well.
        sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
    }
    (place.id, worked)
}

/// Runs the task of a timer, or tells the outcome of an effect.
pub(super) async fn run(shared: &Shared, slots: &TenantSlots, place: &TaskPlace) -> Worked {
    let parts = &shared.parts;
    let tasks = shared.tasks_of(place.scope.plugin());
    let Some(turn) = Turn::take([&slots.tasks, &*tasks]).await else { return Worked::Postponed };
    let Some((generation, end)) = run_once(shared, place, None, turn).await else { return Worked::Postponed };
    parts.metrics.count_run(end.name());
    let noted = match end {
        TaskEnd::Done => Ok(()),
        TaskEnd::NotDue => return Worked::NotDue,
        TaskEnd::Postponed(_) | TaskEnd::Unwritten => return Worked::Postponed,
        TaskEnd::Later { at, version } => note::later(parts, place, version, at).await,
        TaskEnd::Fault(failed) => note::fault(parts, place, &failed, generation.task_delays_ms(place.name())).await,
    };
    match noted {
        Ok(()) => Worked::Settled,
        Err(error) => {
            tracing::error!(task = &*place.id, "what became of a task cannot be written: {error}");
            Worked::Postponed
        }
    }
}

/// Runs the task of an effect whose outcome is not written yet, and ends both in one commit. Returns whether that took place.
///
/// The outcome is in memory alone, so nothing is run where other tasks have all slots, or where the host stops.
pub(super) async fn run_settled(
    shared: &Shared,
    slots: &TenantSlots,
    place: &TaskPlace,
    settled: &SettledEffect,
) -> bool {
    if shared.stopping.load(Ordering::Relaxed) {
        return false;
    }
    let tasks = shared.tasks_of(place.scope.plugin());
    let Some(turn) = Turn::try_take([&slots.tasks, &*tasks]) else { return false };
    let Some((_, end)) = run_once(shared, place, Some(settled), turn).await else { return false };
    shared.parts.metrics.count_run(end.name());
    end == TaskEnd::Done
}

/// `None`: the plugin does not serve.
async fn run_once(
    shared: &Shared,
    place: &TaskPlace,
    settled: Option<&SettledEffect>,
    turn: Turn<'_>,
) -> Option<(Arc<Generation>, TaskEnd)> {
    let generation = (shared.parts.serving)(place.scope.plugin())?;
    let end = shared.parts.calls.run_task(&generation, place, settled, turn).await;
    Some((generation, end))
}

fn in_hand_max(kind: TaskKind) -> usize {
    match kind {
        TaskKind::Timer => TENANT_TASKS_IN_HAND_MAX,
        TaskKind::Effect => DESTINATION_EFFECTS_RUNNING_MAX,
    }
}
