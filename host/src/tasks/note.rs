//! Writes the next due time and the faults of a task that did not end. The write is a normal change through the
//! committer, so a plugin that moves or cancels the task at the same time wins.

use super::Parts;
use crate::{
    changes::{
        change_set::Version,
        timer::{FaultHistory, TaskKey, TaskKind},
    },
    clock::Timestamp,
    commit::{
        draft::{Draft, DraftError},
        own::{Change, Host, OwnError},
    },
    limits::{TASK_DUE_MAX, TASK_FAULT_BYTES_MAX},
    plugin::call::TaskFault,
};

/// Updates a task that did not end, if its record is still at the version that ran.
struct Amend<'a> {
    task: &'a TaskKey,
    version: Version,
    due: Option<Timestamp>,
    fault_history: FaultHistory,
}

impl Change for Amend<'_> {
    type Output = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let id = &*self.task.id;
        match self.task.kind {
            TaskKind::Timer => {
                let found = draft.find_timer(id).await?.filter(|found| found.version == self.version);
                let Some(mut timer) = found.map(|found| found.value) else { return Ok(None) };
                (timer.due, timer.fault_history) = (self.due, self.fault_history.clone());
                draft.put_timer(id, &timer).await.map(Some)
            }
            TaskKind::Effect => {
                let found = draft.find_effect(id).await?.filter(|found| found.version == self.version);
                let Some(mut effect) = found.map(|found| found.value) else { return Ok(None) };
                (effect.due, effect.fault_history) = (self.due, self.fault_history.clone());
                draft.put_effect(id, &effect).await.map(Some)
            }
        }
    }
}

/// Schedules the task to run again at `at`, with an empty fault history. A time in the past means as soon as possible.
pub(super) async fn later(parts: &Parts, task: &TaskKey, version: Version, at: Timestamp) -> Result<(), OwnError> {
    let due = Some(at.clamp(parts.clock.now().saturating_add(1), TASK_DUE_MAX));
    amend(parts, &Amend { task, version, due, fault_history: FaultHistory::default() }).await
}

/// Schedules the task to run again after the delay of its fault. After the last delay, the task waits for an operator.
pub(super) async fn fault(
    parts: &Parts,
    task: &TaskKey,
    failed: &TaskFault,
    delays_ms: &[u64],
) -> Result<(), OwnError> {
    let TaskFault { version, run, text } = failed;
    let position = usize::try_from(*run).unwrap_or(usize::MAX).saturating_sub(1);
    let due = delays_ms.get(position).map(|delay| parts.clock.now().saturating_add(*delay));
    if due.is_none() {
        let (plugin, tenant) = (&**task.scope.plugin(), &**task.scope.tenant());
        tracing::error!(plugin, tenant, task = &*task.id, "gave up a task after {run} runs; see `tenon task list`");
    }
    let fault_history = FaultHistory { faults: *run, fault: Some(shortened(text)) };
    amend(parts, &Amend { task, version: *version, due, fault_history }).await
}

async fn amend(parts: &Parts, amend: &Amend<'_>) -> Result<(), OwnError> {
    let host = Host::new(&parts.committer, &amend.task.scope, parts.clock.now())?;
    host.apply(amend).await.map(|_| ())
}

/// Truncates `text` to `TASK_FAULT_BYTES_MAX` bytes at a character boundary.
fn shortened(text: &str) -> String {
    let mut end = text.len().min(TASK_FAULT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
