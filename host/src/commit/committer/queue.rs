//! What was accepted and is not durable yet, and who waits for what. Lives under the committer's lock.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::sync::oneshot;

use super::room::RoomPermit;
use crate::budget::Charge;
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;
use crate::db::apply::AcceptedChanges;
use crate::limits::{BATCH_BYTES_MAX, BATCH_CHANGES_MAX, COMMIT_QUEUE_BYTES_MAX, COMMIT_QUEUE_MAX};

/// What became of an accepted change set, or of what somebody waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Durable,
    /// Not applied, through no fault of its own.
    Discarded,
    /// It alone cannot be applied, and why.
    Poisoned(String),
    Unavailable(String),
    Unknown,
}

pub(super) struct Queued {
    pub(super) accepted: AcceptedChanges,
    pub(super) bytes: usize,
    /// For the memory that it takes, until it is durable or discarded.
    pub(super) charge: Option<Charge>,
    /// Of a large change set, until it is durable or discarded.
    pub(super) room: Option<RoomPermit>,
    /// The caller may be gone; the change set is applied all the same.
    pub(super) caller: oneshot::Sender<Outcome>,
}

impl Queued {
    pub(super) fn settle(self, outcome: Outcome) {
        // The caller may have gone away.
        let _ = self.caller.send(outcome);
        drop((self.room, self.charge));
    }
}

#[derive(Clone, Copy, Default)]
struct Load {
    changes: usize,
    bytes: usize,
}

#[derive(Default)]
pub(super) struct Queue {
    changes: VecDeque<Queued>,
    bytes: usize,
    /// What of it belongs to each plugin and tenant.
    shares: HashMap<Scope, Load>,
    /// Who waits until everything up to a version is durable.
    waiting: BTreeMap<Version, Vec<oneshot::Sender<Outcome>>>,
}

impl Queue {
    /// Each plugin and tenant may have as much in it as is still free: one alone gets half of it, two a third each, and
    /// there is room left for whoever comes next.
    pub(super) fn is_full_for(&self, scope: &Scope) -> bool {
        let share = self.shares.get(scope).copied().unwrap_or_default();
        share.changes >= COMMIT_QUEUE_MAX.saturating_sub(self.changes.len())
            || share.bytes >= COMMIT_QUEUE_BYTES_MAX.saturating_sub(self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn push(&mut self, queued: Queued) {
        self.bytes += queued.bytes;
        let share = self.shares.entry(queued.accepted.changes.scope.clone()).or_default();
        share.changes += 1;
        share.bytes += queued.bytes;
        self.changes.push_back(queued);
    }

    fn give_back(&mut self, queued: &Queued) {
        self.bytes -= queued.bytes;
        let scope = &queued.accepted.changes.scope;
        let Some(share) = self.shares.get_mut(scope) else { return };
        share.changes -= 1;
        share.bytes -= queued.bytes;
        if share.changes == 0 {
            self.shares.remove(scope);
        }
    }

    /// Everything that waits, up to the size of a batch.
    pub(super) fn take_batch(&mut self) -> VecDeque<Queued> {
        let mut bytes = 0;
        let fits = |queued: &&Queued| {
            bytes += queued.bytes;
            bytes <= BATCH_BYTES_MAX
        };
        let count = self.changes.iter().take(BATCH_CHANGES_MAX).take_while(fits).count().max(1);
        // From the front: what stays is not moved, however long the queue is.
        let batch: VecDeque<Queued> = self.changes.drain(..count.min(self.changes.len())).collect();
        for queued in &batch {
            self.give_back(queued);
        }
        batch
    }

    /// Everything, because it will not be applied.
    pub(super) fn take_all(&mut self) -> (VecDeque<Queued>, Vec<oneshot::Sender<Outcome>>) {
        self.bytes = 0;
        self.shares.clear();
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten().collect();
        (std::mem::take(&mut self.changes), waiting)
    }

    pub(super) fn wait(&mut self, version: Version) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.entry(version).or_default().push(sender);
        receiver
    }

    /// Those who waited for this version or an earlier one.
    pub(super) fn take_waiting(&mut self, durable: Version) -> Vec<oneshot::Sender<Outcome>> {
        let later = self.waiting.split_off(&durable.saturating_add(1));
        std::mem::replace(&mut self.waiting, later).into_values().flatten().collect()
    }
}
