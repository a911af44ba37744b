//! Accepted change sets that are not durable yet, and the callers that wait for versions. Accessed under the
//! committer's lock.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::sync::oneshot;

use super::capacity::CapacityPermit;
use crate::budget::Charge;
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;
use crate::db::apply::AcceptedChanges;
use crate::limits::{BATCH_BYTES_MAX, BATCH_CHANGES_MAX, COMMIT_QUEUE_BYTES_MAX, COMMIT_QUEUE_MAX};

/// Outcome of an accepted change set, or of a version that a caller waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Durable,
    /// Not applied, because of another change set or a cleared cache.
    Discarded,
    /// This change set cannot be applied, for the given reason.
    Poisoned(String),
    Unavailable(String),
    Unknown,
}

pub(super) struct Queued {
    pub(super) accepted: AcceptedChanges,
    pub(super) bytes: usize,
    /// Charge for the memory that it takes, held until it is durable or discarded.
    pub(super) charge: Option<Charge>,
    /// Permit of a large change set, held until it is durable or discarded.
    pub(super) capacity: Option<CapacityPermit>,
    /// The caller may be gone. The change set is applied even then.
    pub(super) caller: oneshot::Sender<Outcome>,
}

impl Queued {
    pub(super) fn settle(self, outcome: Outcome) {
        // Fails if the caller is gone.
        let _ = self.caller.send(outcome);
        drop((self.capacity, self.charge));
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
    /// Load of each plugin and tenant.
    shares: HashMap<Scope, Load>,
    /// Callers that wait until all change sets up to a version are durable.
    waiting: BTreeMap<Version, Vec<oneshot::Sender<Outcome>>>,
}

impl Queue {
    /// Returns true if the plugin and tenant may add nothing more. Each may use as much of the queue as is still free:
    /// one alone gets half of it, two get a third each, and some capacity always remains for the next.
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

    /// Subtracts the entry from the loads.
    fn release(&mut self, queued: &Queued) {
        self.bytes -= queued.bytes;
        let scope = &queued.accepted.changes.scope;
        let Some(share) = self.shares.get_mut(scope) else { return };
        share.changes -= 1;
        share.bytes -= queued.bytes;
        if share.changes == 0 {
            self.shares.remove(scope);
        }
    }

    /// Removes and returns the change sets at the front, up to the limits of a batch.
    pub(super) fn take_batch(&mut self) -> VecDeque<Queued> {
        let mut bytes = 0;
        let fits = |queued: &&Queued| {
            bytes += queued.bytes;
            bytes <= BATCH_BYTES_MAX
        };
        let count = self.changes.iter().take(BATCH_CHANGES_MAX).take_while(fits).count().max(1);
        // `drain` from the front does not move the remaining entries, however long the queue is.
        let batch: VecDeque<Queued> = self.changes.drain(..count.min(self.changes.len())).collect();
        for queued in &batch {
            self.release(queued);
        }
        batch
    }

    /// Removes and returns all change sets and waiting callers, because no queued change set will be applied.
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

    /// Removes and returns the callers that wait for this version or an earlier one.
    pub(super) fn take_waiting(&mut self, durable: Version) -> Vec<oneshot::Sender<Outcome>> {
        let later = self.waiting.split_off(&durable.saturating_add(1));
        std::mem::replace(&mut self.waiting, later).into_values().flatten().collect()
    }
}
