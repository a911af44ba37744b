//! Registered reads, as for cached answers: a key whose read is reported as unchanged has the version that was read.

use std::cell::Cell;
use std::rc::Rc;

use super::stepper::{Driven, Phase};
use super::*;

/// Maximum number of read sets that are observed at the same time.
const OBSERVED_MAX: usize = 20;

/// The read of a call that has ended.
struct ObservedRead {
    key: Key,
    version: Version,
    reads: RegisteredReads,
}

#[derive(Default)]
pub(super) struct ObservedReads {
    reads: Vec<ObservedRead>,
    /// A call that has not ended.
    running: Option<Driven<Option<ObservedRead>>>,
}

impl World {
    /// Advances the call that reads one record. Begins one if there is none.
    pub(super) async fn read_and_observe(&mut self) {
        if self.observed.running.is_none() {
            let draft = self.committer.begin(call(&self.models[self.serving], "acme/test"));
            let (committer, id) = (self.committer.clone(), format!("thing-{}", self.random.below(6)));
            let phase = Rc::new(Cell::new(Phase::Elsewhere));
            self.observed.running = Some(Driven::with_phase(read_one(committer, draft, id, phase.clone()), phase));
        }
        let Some(running) = &mut self.observed.running else { return };
        let Some(read) = running.step().await else { return };
        self.observed.running = None;
        self.observed.reads.extend(read);
        if self.observed.reads.len() > OBSERVED_MAX {
            self.observed.reads.swap_remove(self.random.below(OBSERVED_MAX));
        }
    }

    pub(super) fn check_observed(&self) {
        for ObservedRead { key, version, reads } in &self.observed.reads {
            if reads.are_unchanged()
                && let Some(seen) = self.committer.shared.get(key)
            {
                assert_eq!(seen.version, *version, "{key:?}");
            }
        }
    }
}

async fn read_one(committer: Committer, mut draft: Draft, id: String, phase: Rc<Cell<Phase>>) -> Option<ObservedRead> {
    phase.set(Phase::Database);
    let entry = draft.get("things", &id).await;
    phase.set(Phase::Elsewhere);
    let version = entry.ok()?.map_or(0, |entry| entry.version);
    let changes = draft.into_changes(None);
    let key = changes.set.as_ref()?.reads.first()?.key.clone();
    let reads = committer.register_reads(changes).await.ok()??;
    Some(ObservedRead { key, version, reads })
}
