//! What is written about a task that did not end: a change like any other, through the committer, so that a plugin that moves
//! or cancels it at the same time wins.

use std::sync::Arc;

use super::Parts;
use crate::{
    changes::{
        change_set::{Timestamp, Version},
        committer::{CommitError, Committer},
        draft::{CallIdentity, Draft, DraftError},
        scope::Scope,
        timer::{TaskKind, TaskPlace, Trouble},
    },
    db::model::{DataModel, ModelError},
    limits::{RUNS_MAX, TASK_FAULT_BYTES_MAX},
};

#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("others change it all the time")]
    Contended,
}

/// Changes of the host itself to what one plugin and tenant have waiting.
pub(super) struct Host<'a> {
    committer: &'a Committer,
    call: CallIdentity,
}

impl<'a> Host<'a> {
    pub fn new(committer: &'a Committer, scope: &Scope, now: Timestamp) -> Result<Host<'a>, NoteError> {
        let call = CallIdentity {
            scope: Some(scope.clone()),
            // No collections but the host's own.
            model: Arc::new(DataModel::new(scope.plugin(), &[], 1, None)?),
            now,
            subject: "host".into(),
            operation: "task".into(),
            request_id: "".into(),
            seed: [0; 32],
        };
        Ok(Host { committer, call })
    }

    /// Until it gets through. `None` from `change`: there is nothing to do.
    pub async fn apply<T>(
        &self,
        change: impl AsyncFn(&mut Draft) -> Result<Option<T>, DraftError>,
    ) -> Result<Option<T>, NoteError> {
        for _ in 0..RUNS_MAX {
            let mut draft = self.committer.begin(self.call.clone());
            let Some(made) = change(&mut draft).await? else { return Ok(None) };
            match self.committer.commit(draft.into_changes(None), None).await {
                Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
                settled => return Ok(settled.map(|()| Some(made))?),
            }
        }
        Err(NoteError::Contended)
    }
}

/// It is run again then, as if for the first time; a time that is past means as soon as possible.
pub(super) async fn later(
    parts: &Parts,
    place: &TaskPlace,
    version: Version,
    at: Timestamp,
) -> Result<(), NoteError> {
    let due = at.max(parts.clock.now().saturating_add(1));
    amend(parts, place, version, |_| (Some(due), Trouble::default())).await
}

/// Again after a pause that grows; after the last one it waits for an operator.
pub(super) async fn fault(
    parts: &Parts,
    place: &TaskPlace,
    version: Version,
    text: &str,
    delays_ms: &[u64],
) -> Result<(), NoteError> {
    let now = parts.clock.now();
    amend(parts, place, version, |before| {
        let faults = before.faults.saturating_add(1);
        let position = usize::try_from(faults).unwrap_or(usize::MAX).saturating_sub(1);
        let due = delays_ms.get(position).map(|delay| now.saturating_add(*delay));
        if due.is_none() {
            let (plugin, tenant) = (&**place.scope.plugin(), &**place.scope.tenant());
            tracing::error!(plugin, tenant, task = &*place.id, "a task is given up after {faults} runs: tenon task list");
        }
        (due, Trouble { faults, fault: Some(shortened(text)) })
    })
    .await
}

/// Only where it is still the one that ran.
async fn amend(
    parts: &Parts,
    place: &TaskPlace,
    version: Version,
    change: impl Fn(&Trouble) -> (Option<Timestamp>, Trouble),
) -> Result<(), NoteError> {
    let host = Host::new(&parts.committer, &place.scope, parts.clock.now())?;
    let amended = host.apply(async |draft| match place.kind {
        TaskKind::Timer => {
            let found = draft.find_timer(&place.id).await?.filter(|found| found.version == version);
            let Some(mut timer) = found.map(|found| found.value) else { return Ok(None) };
            (timer.due, timer.trouble) = change(&timer.trouble);
            draft.put_timer(&place.id, &timer).await.map(Some)
        }
        TaskKind::Effect => {
            let found = draft.find_effect(&place.id).await?.filter(|found| found.version == version);
            let Some(mut effect) = found.map(|found| found.value) else { return Ok(None) };
            (effect.due, effect.trouble) = change(&effect.trouble);
            draft.put_effect(&place.id, &effect).await.map(Some)
        }
    });
    amended.await.map(|_| ())
}

fn shortened(text: &str) -> String {
    let mut end = text.len().min(TASK_FAULT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
