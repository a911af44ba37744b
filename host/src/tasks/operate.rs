//! What operators do to tasks and effects: once more, or never again.

use crate::changes::{
    effect::Progress,
    operator_action::OperatorAction,
    timer::{TaskKind, TaskPlace, Trouble},
};
use crate::clock::Timestamp;
use crate::commit::{
    committer::Committer,
    draft::{Draft, DraftError},
    own::{Change, Host, OwnError},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervention {
    /// Now, as if for the first time. An effect without an outcome is attempted, one with an outcome told.
    Retry,
    /// It is forgotten.
    Drop,
}

struct Intervene<'a> {
    place: &'a TaskPlace,
    wanted: Intervention,
    now: Timestamp,
}

impl Change for Intervene<'_> {
    type Made = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let (id, due) = (&*self.place.id, Some(self.now));
        match (self.wanted, self.place.kind) {
            (Intervention::Drop, kind) => {
                let removed = draft.remove_host_record(kind.collection(), id).await?;
                Ok(removed.then_some(()))
            }
            (Intervention::Retry, TaskKind::Timer) => {
                let Some(mut timer) = draft.find_timer(id).await?.map(|found| found.value) else { return Ok(None) };
                (timer.due, timer.trouble) = (due, Trouble::default());
                draft.put_timer(id, &timer).await.map(Some)
            }
            (Intervention::Retry, TaskKind::Effect) => {
                let Some(mut effect) = draft.find_effect(id).await?.map(|found| found.value) else { return Ok(None) };
                (effect.due, effect.trouble) = (due, Trouble::default());
                if effect.outcome.is_none() {
                    let may_have_happened = effect.progress.may_have_happened || effect.progress.under_way;
                    effect.progress = Progress { may_have_happened, ..Progress::default() };
                }
                draft.put_effect(id, &effect).await.map(Some)
            }
        }
    }
}

/// Returns true if there was such a task. Durable when it returns, together with the line of the operators' journal.
pub async fn intervene(
    committer: &Committer,
    place: &TaskPlace,
    wanted: Intervention,
    action: OperatorAction,
) -> Result<bool, OwnError> {
    let now = action.at;
    let host = Host::for_operator(committer, &place.scope, action)?;
    let done = host.apply(&Intervene { place, wanted, now }).await?;
    Ok(done.is_some())
}
