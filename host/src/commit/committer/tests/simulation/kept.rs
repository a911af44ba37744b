//! Calls whose answers are given again: what is reported as unchanged has the version that was read.

use std::cell::Cell;
use std::rc::Rc;

use super::stepper::{Driven, Phase};
use super::*;

/// Read sets that are observed at the same time.
const KEPT_MAX: usize = 20;

/// The read of a call that has ended.
struct KeptRead {
    key: Key,
    version: Version,
    reads: RegisteredReads,
}

#[derive(Default)]
pub(super) struct Kept {
    reads: Vec<KeptRead>,
    /// A call that has not ended.
    running: Option<Driven<Option<KeptRead>>>,
}

impl World {
    /// Lets a call that reads one record advance; begins one if there is none.
    pub(super) async fn read_and_keep(&mut self) {
        if self.kept.running.is_none() {
            let draft = self.committer.begin(call(&self.models[self.serving], "acme/test"));
            let (committer, id) = (self.committer.clone(), format!("thing-{}", self.random.below(6)));
            let phase = Rc::new(Cell::new(Phase::Elsewhere));
            self.kept.running = Some(Driven::with_phase(read_one(committer, draft, id, phase.clone()), phase));
        }
        let Some(running) = &mut self.kept.running else { return };
        let Some(read) = running.step().await else { return };
        self.kept.running = None;
        self.kept.reads.extend(read);
        if self.kept.reads.len() > KEPT_MAX {
            self.kept.reads.swap_remove(self.random.below(KEPT_MAX));
        }
    }

    pub(super) fn check_kept(&self) {
        for KeptRead { key, version, reads } in &self.kept.reads {
            if reads.are_unchanged()
                && let Some(seen) = self.committer.shared.look(key)
            {
                assert_eq!(seen.version, *version, "{key:?}");
            }
        }
    }
}

async fn read_one(committer: Committer, mut draft: Draft, id: String, phase: Rc<Cell<Phase>>) -> Option<KeptRead> {
    phase.set(Phase::Database);
    let entry = draft.get("things", &id).await;
    phase.set(Phase::Elsewhere);
    let version = entry.ok()?.map_or(0, |entry| entry.version);
    let changes = draft.into_changes(None);
    let key = changes.set.as_ref()?.reads.first()?.key.clone();
    let reads = committer.register_reads(changes).await.ok()??;
    Some(KeptRead { key, version, reads })
}
