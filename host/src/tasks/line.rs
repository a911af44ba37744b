//! One line at work: everything of it that is due, several at a time, until nothing is.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::{JoinError, JoinSet},
    time::sleep,
};

use super::{
    Shared, effect, note,
    slots::{Rank, TenantSlots},
};
use crate::{
    changes::{
        change_set::Timestamp,
        timer::{TaskKind, TaskLine, TaskPlace},
    },
    db::DbError,
    limits::{DESTINATION_EFFECTS_RUNNING_MAX, TASK_PAUSE_MS, TENANT_TASKS_IN_HAND_MAX},
    plugin::call::{TaskEnd, Turn},
};

/// How the work on one record ended.
pub(super) enum Worked {
    /// Whatever is to be known about it is written.
    Settled,
    /// Not now, and not for a reason of its own.
    Postponed,
}

/// What a line has in its hands.
struct Hands {
    running: HashSet<Arc<str>>,
    /// Whether more may be due than was found at the last look.
    has_more: bool,
    /// As of the last look, when the next one is due after all that were then.
    next: Option<Timestamp>,
    /// Something may be due that nobody has in hand: whoever comes next looks again.
    is_blind: bool,
}

/// When there is something to do again; `None`: nothing is stored.
pub(super) async fn work(shared: Arc<Shared>, line: &TaskLine, more: &Notify) -> Option<Timestamp> {
    let clock = &shared.parts.clock;
    if (shared.parts.serving)(line.scope.plugin()).is_none() {
        return Some(clock.now().saturating_add(TASK_PAUSE_MS));
    }
    let (most, slots) = (in_hand_max(line.kind()), shared.slots_of(&line.scope));
    let mut hands = Hands { running: HashSet::new(), has_more: true, next: None, is_blind: false };
    // Tasks of their own: what is not polled while the line asks the database might hold what the database waits for.
    let mut works = JoinSet::new();
    loop {
        let now = clock.now();
        let stopping = shared.stopping.load(Ordering::Relaxed);
        if hands.has_more && hands.running.len() < most && !stopping {
            match hands.take_up(&shared, line, now).await {
                Ok(found) => {
                    for id in found {
                        let rank = if works.is_empty() { Rank::First } else { Rank::Further };
                        works.spawn(work_on(shared.clone(), slots.clone(), line.place(id), rank));
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "what is due cannot be read");
                    (hands.has_more, hands.is_blind) = (false, true);
                    hands.next = Some(now.saturating_add(TASK_PAUSE_MS));
                }
            }
        }
        if works.is_empty() {
            let blind = hands.is_blind.then(|| now.saturating_add(TASK_PAUSE_MS));
            return hands.next.into_iter().chain(blind).min();
        }
        // Where more is due already, there is no room for it before something is put down.
        let next = hands.next.filter(|_| !hands.has_more);
        let until_next = next.map(|next| Duration::from_millis(next.saturating_sub(clock.now())));
        tokio::select! {
            Some(ended) = works.join_next() => hands.put_down(ended),
            () = more.notified() => hands.has_more = true,
            () = sleep(until_next.unwrap_or_default()), if until_next.is_some() => hands.has_more = true,
        }
        // One look for all that have ended meanwhile.
        while let Some(ended) = works.try_join_next() {
            hands.put_down(ended);
        }
    }
}

impl Hands {
    /// What is due and not in hand yet, as much as there is room for.
    async fn take_up(&mut self, shared: &Shared, line: &TaskLine, now: Timestamp) -> Result<Vec<Arc<str>>, DbError> {
        let most = in_hand_max(line.kind());
        let room = most.saturating_sub(self.running.len());
        let look = shared.looks.acquire().await;
        // Those in hand are still stored, and may be the first that are found.
        let found = shared.parts.database.find_first_tasks(line, now, most + 1).await?;
        drop(look);
        let is_new = |id: &Arc<str>| !self.running.contains(id);
        let mut taken: Vec<Arc<str>> = found.due.into_iter().filter(is_new).collect();
        (self.has_more, self.next) = (taken.len() > room, found.next);
        taken.truncate(room);
        self.running.extend(taken.iter().cloned());
        Ok(taken)
    }

    fn put_down(&mut self, ended: Result<Arc<str>, JoinError>) {
        match ended {
            Ok(id) => {
                self.running.remove(&id);
            }
            Err(error) => {
                tracing::error!("the work on a task ended badly: {error}");
                self.is_blind = true;
            }
        }
        // It may be due again, and have been passed over while it was in hand.
        self.has_more = true;
    }
}

async fn work_on(shared: Arc<Shared>, slots: Arc<TenantSlots>, place: TaskPlace, rank: Rank) -> Arc<str> {
    let worked = match place.kind {
        TaskKind::Timer => run(&shared, &slots, &place).await,
        TaskKind::Effect => effect::work(&shared, &slots, &place, rank).await,
    };
    if let (Worked::Postponed, false) = (worked, shared.stopping.load(Ordering::Relaxed)) {
        // In its place: what hinders it may hinder the next one as well.
        sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
    }
    place.id
}

/// Runs the task of a timer, or tells the outcome of an effect.
pub(super) async fn run(shared: &Shared, slots: &TenantSlots, place: &TaskPlace) -> Worked {
    let parts = &shared.parts;
    let tasks = shared.tasks_of(place.scope.plugin());
    let Some(turn) = Turn::take([&slots.tasks, &*tasks]).await else { return Worked::Postponed };
    let Some(generation) = (parts.serving)(place.scope.plugin()) else { return Worked::Postponed };
    let end = parts.calls.run_task(&generation, place, turn).await;
    parts.metrics.count_run(end.name());
    let noted = match end {
        TaskEnd::Done | TaskEnd::NotDue => Ok(()),
        TaskEnd::Postponed(_) => return Worked::Postponed,
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

fn in_hand_max(kind: TaskKind) -> usize {
    match kind {
        TaskKind::Timer => TENANT_TASKS_IN_HAND_MAX,
        TaskKind::Effect => DESTINATION_EFFECTS_RUNNING_MAX,
    }
}
