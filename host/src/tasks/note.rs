//! What is written about a task that did not end: a change like any other, through the committer, so that a plugin that moves
//! or cancels it at the same time wins.

use super::Parts;
use crate::clock::Timestamp;
use crate::{
    changes::{
        change_set::Version,
        timer::{TaskKind, TaskPlace, Trouble},
    },
    commit::{
        draft::{Draft, DraftError},
        own::{Change, Host, OwnError},
    },
    limits::{TASK_DUE_MAX, TASK_FAULT_BYTES_MAX},
    plugin::call::Failed,
};

/// What is due of a task that did not end, and what went wrong; only where it is still the one that ran.
struct Amend<'a> {
    place: &'a TaskPlace,
    version: Version,
    due: Option<Timestamp>,
    trouble: Trouble,
}

impl Change for Amend<'_> {
    type Made = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let id = &*self.place.id;
        match self.place.kind {
            TaskKind::Timer => {
                let found = draft.find_timer(id).await?.filter(|found| found.version == self.version);
                let Some(mut timer) = found.map(|found| found.value) else { return Ok(None) };
                (timer.due, timer.trouble) = (self.due, self.trouble.clone());
                draft.put_timer(id, &timer).await.map(Some)
            }
            TaskKind::Effect => {
                let found = draft.find_effect(id).await?.filter(|found| found.version == self.version);
                let Some(mut effect) = found.map(|found| found.value) else { return Ok(None) };
                (effect.due, effect.trouble) = (self.due, self.trouble.clone());
                draft.put_effect(id, &effect).await.map(Some)
            }
        }
    }
}

/// It is run again then, as if for the first time; a time that is past means as soon as possible.
pub(super) async fn later(parts: &Parts, place: &TaskPlace, version: Version, at: Timestamp) -> Result<(), OwnError> {
    let due = Some(at.clamp(parts.clock.now().saturating_add(1), TASK_DUE_MAX));
    amend(parts, &Amend { place, version, due, trouble: Trouble::default() }).await
}

/// Again after a pause that grows; after the last one it waits for an operator.
pub(super) async fn fault(
    parts: &Parts,
    place: &TaskPlace,
    failed: &Failed,
    delays_ms: &[u64],
) -> Result<(), OwnError> {
    let Failed { version, run, text } = failed;
    let position = usize::try_from(*run).unwrap_or(usize::MAX).saturating_sub(1);
    let due = delays_ms.get(position).map(|delay| parts.clock.now().saturating_add(*delay));
    if due.is_none() {
        let (plugin, tenant) = (&**place.scope.plugin(), &**place.scope.tenant());
        tracing::error!(plugin, tenant, task = &*place.id, "a task is given up after {run} runs: see tenon task list");
    }
    let trouble = Trouble { faults: *run, fault: Some(shortened(text)) };
    amend(parts, &Amend { place, version: *version, due, trouble }).await
}

async fn amend(parts: &Parts, amend: &Amend<'_>) -> Result<(), OwnError> {
    let host = Host::new(&parts.committer, &amend.place.scope, parts.clock.now())?;
    host.apply(amend).await.map(|_| ())
}

fn shortened(text: &str) -> String {
    let mut end = text.len().min(TASK_FAULT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
