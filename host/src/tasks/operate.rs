//! Interventions of operators in tasks and effects: retry or drop.

use crate::changes::{
    effect::Progress,
    operator_action::OperatorAction,
    timer::{FaultHistory, TaskKey, TaskKind},
};
use crate::clock::Timestamp;
use crate::commit::{
    committer::Committer,
    draft::{Draft, DraftError},
    own::{Change, Host, OwnError},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervention {
    /// Runs the task now, with an empty fault history. An effect without an outcome is attempted again. An outcome that
    /// exists is reported again.
    Retry,
    /// Deletes the task.
    Drop,
}

struct ApplyIntervention<'a> {
    task: &'a TaskKey,
    intervention: Intervention,
    now: Timestamp,
}

impl Change for ApplyIntervention<'_> {
    type Output = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let (id, due) = (&*self.task.id, Some(self.now));
        match (self.intervention, self.task.kind) {
            (Intervention::Drop, kind) => {
                let removed = draft.remove_host_record(kind.collection(), id).await?;
                Ok(removed.then_some(()))
            }
            (Intervention::Retry, TaskKind::Timer) => {
                let Some(mut timer) = draft.find_timer(id).await?.map(|found| found.value) else { return Ok(None) };
                (timer.due, timer.fault_history) = (due, FaultHistory::default());
                draft.put_timer(id, &timer).await.map(Some)
            }
            (Intervention::Retry, TaskKind::Effect) => {
                let Some(mut effect) = draft.find_effect(id).await?.map(|found| found.value) else { return Ok(None) };
                (effect.due, effect.fault_history) = (due, FaultHistory::default());
                if effect.outcome.is_none() {
                    let may_have_happened = effect.progress.may_have_happened || effect.progress.under_way;
                    effect.progress = Progress { may_have_happened, ..Progress::default() };
                }
                draft.put_effect(id, &effect).await.map(Some)
            }
        }
    }
}

/// Applies the intervention and returns true if the task existed. The change is durable when this returns, together
/// with the line of the operators' journal.
pub async fn intervene(
    committer: &Committer,
    task: &TaskKey,
    intervention: Intervention,
    action: OperatorAction,
) -> Result<bool, OwnError> {
    let now = action.at;
    let host = Host::for_operator(committer, &task.scope, action)?;
    let done = host.apply(&ApplyIntervention { task, intervention, now }).await?;
    Ok(done.is_some())
}
