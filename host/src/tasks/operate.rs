//! What operators do to tasks and effects: once more, or never again.

use super::note::{Change, Host, NoteError};
use crate::changes::{
    change_set::Timestamp,
    committer::Committer,
    draft::{Draft, DraftError},
    effect::Progress,
    timer::{TaskKind, TaskPlace, Trouble},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Now, as if for the first time. An effect without an outcome is attempted, one with an outcome told.
    Retry,
    /// It is forgotten.
    Drop,
}

struct Ordered<'a> {
    place: &'a TaskPlace,
    order: Order,
    now: Timestamp,
}

impl Change for Ordered<'_> {
    type Made = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        let (id, due) = (&*self.place.id, Some(self.now));
        match (self.order, self.place.kind) {
            (Order::Drop, kind) => {
                let removed = draft.remove_host_record(kind.collection(), id).await?;
                Ok(removed.then_some(()))
            }
            (Order::Retry, TaskKind::Timer) => {
                let Some(mut timer) = draft.find_timer(id).await?.map(|found| found.value) else { return Ok(None) };
                (timer.due, timer.trouble) = (due, Trouble::default());
                draft.put_timer(id, &timer).await.map(Some)
            }
            (Order::Retry, TaskKind::Effect) => {
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

/// Whether there was such a task. Durable when it returns.
pub async fn order(committer: &Committer, place: &TaskPlace, order: Order, now: Timestamp) -> Result<bool, NoteError> {
    let done = Host::new(committer, &place.scope, now)?.apply(&Ordered { place, order, now }).await?;
    Ok(done.is_some())
}
