//! One plugin and tenant at work: everything that is due, several at a time, until nothing is.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{sync::Notify, time::sleep};

use super::{Shared, agenda::Line, effect, note};
use crate::{
    changes::{
        change_set::Timestamp,
        timer::{TaskKind, TaskPlace},
    },
    db::DbError,
    limits::{TASK_PAUSE_MS, TENANT_EFFECTS_RUNNING_MAX, TENANT_TASKS_RUNNING_MAX},
    plugin::call::TaskEnd,
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
    /// Postponed until then.
    resting: HashMap<Arc<str>, Timestamp>,
    /// Whether more may be due than was found at the last look.
    has_more: bool,
    /// The database could not be asked: whoever comes next looks again.
    is_blind: bool,
}

/// When there is something to do again; `None`: nothing is stored.
pub(super) async fn work(shared: &Shared, line: &Line, more: &Notify) -> Option<Timestamp> {
    let (database, clock) = (&shared.parts.database, &shared.parts.clock);
    if (shared.parts.serving)(line.scope.plugin()).is_none() {
        return Some(clock.now().saturating_add(TASK_PAUSE_MS));
    }
    let most = running_max(line.kind);
    let mut hands = Hands { running: HashSet::new(), resting: HashMap::new(), has_more: true, is_blind: false };
    let mut works = FuturesUnordered::new();
    loop {
        let now = clock.now();
        if hands.has_more && hands.running.len() <= most / 2 {
            match hands.take_up(shared, line, now).await {
                Ok(found) => works.extend(found.into_iter().map(|id| work_on(shared, line, id))),
                Err(error) => {
                    tracing::error!(%error, "what is due cannot be read");
                    (hands.has_more, hands.is_blind) = (false, true);
                }
            }
        }
        let soon = now.saturating_add(TASK_PAUSE_MS);
        let next = database.next_due(line.kind, &line.scope, now).await.unwrap_or(Some(soon));
        if works.is_empty() {
            let blind = hands.is_blind.then_some(soon);
            return next.into_iter().chain(hands.resting.values().copied()).chain(blind).min();
        }
        let until_next = next.map(|next| Duration::from_millis(next.saturating_sub(clock.now())));
        tokio::select! {
            Some((id, worked)) = works.next() => {
                hands.running.remove(&id);
                if let Worked::Postponed = worked {
                    hands.resting.insert(id, clock.now().saturating_add(TASK_PAUSE_MS));
                }
            }
            () = more.notified() => hands.has_more = true,
            () = sleep(until_next.unwrap_or_default()), if until_next.is_some() => hands.has_more = true,
        }
    }
}

impl Hands {
    /// What is due and not in hand yet, as much as there is room for.
    async fn take_up(&mut self, shared: &Shared, line: &Line, now: Timestamp) -> Result<Vec<Arc<str>>, DbError> {
        self.resting.retain(|_, until| *until > now);
        let room = running_max(line.kind).saturating_sub(self.running.len());
        // Those in hand are still stored, and may be the first that are found.
        let limit = room + self.running.len() + self.resting.len() + 1;
        let found = shared.parts.database.find_due_records(line.kind, &line.scope, now, limit).await?;
        let is_new = |id: &Arc<str>| !self.running.contains(id) && !self.resting.contains_key(id);
        let mut taken: Vec<Arc<str>> = found.into_iter().filter(is_new).collect();
        self.has_more = taken.len() > room;
        taken.truncate(room);
        self.running.extend(taken.iter().cloned());
        Ok(taken)
    }
}

async fn work_on(shared: &Shared, line: &Line, id: Arc<str>) -> (Arc<str>, Worked) {
    let place = TaskPlace { scope: line.scope.clone(), kind: line.kind, id: id.clone() };
    let worked = match line.kind {
        TaskKind::Timer => run(shared, &place).await,
        TaskKind::Effect => effect::work(shared, &place).await,
    };
    (id, worked)
}

/// Runs the task of a timer, or tells the outcome of an effect.
pub(super) async fn run(shared: &Shared, place: &TaskPlace) -> Worked {
    let parts = &shared.parts;
    let Ok(_slot) = shared.tasks.acquire().await else { return Worked::Postponed };
    let Some(generation) = (parts.serving)(place.scope.plugin()) else { return Worked::Postponed };
    let end = parts.calls.run_task(&generation, place).await;
    parts.metrics.count_run(&end);
    let noted = match end {
        TaskEnd::Done | TaskEnd::NotDue => Ok(()),
        TaskEnd::Postponed(_) => return Worked::Postponed,
        TaskEnd::Later { at, version } => note::later(parts, place, version, at).await,
        TaskEnd::Fault { text, version } => {
            note::fault(parts, place, version, &text, &generation.config.tasks.delays_ms).await
        }
    };
    match noted {
        Ok(()) => Worked::Settled,
        Err(error) => {
            tracing::error!(task = &*place.id, "what became of a task cannot be written: {error}");
            Worked::Postponed
        }
    }
}

fn running_max(kind: TaskKind) -> usize {
    match kind {
        TaskKind::Timer => TENANT_TASKS_RUNNING_MAX,
        TaskKind::Effect => TENANT_EFFECTS_RUNNING_MAX,
    }
}
