//! Decides and accepts change sets under the one lock. The lock is held for microseconds: no code waits or frees large
//! values under it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::queue::{Outcome, Queued};
use super::stats::count;
use super::{Attempt, CommitError, Conflict, LargeCapacity, Reservation, Shared, State, Ticket, keys};
use crate::changes::change_set::{Key, Space, Version};
use crate::changes::scope::Scope;
use crate::commit::decide::{Accepted, ConflictReason, Proposal, decide, into_writes};
use crate::commit::overlay::{CallStart, CollectionSearch, Content, ReadResult};
use crate::db::DbError;
use crate::db::apply::{AcceptedChanges, Balance};

impl State {
    pub(super) fn wait<'a>(&mut self, began: &CallStart, version: Version) -> Attempt<'a> {
        if version > 0 && began.epoch != self.overlay.epoch() {
            return Attempt::Lost(CommitError::Discarded);
        }
        if version <= self.overlay.durable() { Attempt::Done } else { Attempt::Wait(self.queue.wait(version)) }
    }

    /// Returns a receiver of the outcome of all accepted change sets. `None` if all of them are durable already.
    fn wait_for_all(&mut self) -> Option<oneshot::Receiver<Outcome>> {
        let latest = self.overlay.latest();
        (latest > self.overlay.durable()).then(|| self.queue.wait(latest))
    }
}

impl Ticket {
    fn needs_capacity(&self, large_capacity: &LargeCapacity) -> bool {
        self.waits_for_capacity && self.capacity.is_none() && large_capacity.is_large(self.bytes)
    }
}

impl Shared {
    /// Decides on the change set and accepts it if there is no conflict. Large values are dropped after the lock is
    /// released.
    pub(super) fn attempt(&self, ticket: Box<Ticket>, reservation: Option<&Reservation>) -> Attempt<'_> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            let lost = CommitError::Unavailable(reason.clone());
            drop(state);
            return Attempt::Lost(lost);
        }
        let decided = decide(&state.overlay, &ticket.proposal, reservation.map(Reservation::id));
        match decided {
            Ok(_) if ticket.proposal.changes.is_empty() => {
                let attempt = state.wait(&ticket.running.began, ticket.waits_for);
                drop(state);
                attempt
            }
            Ok(_) if state.queue.is_full_for(&ticket.proposal.changes.scope) => {
                drop(state);
                Attempt::Lost(self.count_busy())
            }
            Ok(_) if ticket.needs_capacity(&self.large_capacity) => {
                drop(state);
                Attempt::Large(ticket)
            }
            Ok(accepted) => self.accept(state, *ticket, accepted),
            // A call that holds memory must not wait for a reservation, because the call that holds the reservation may
            // wait for memory.
            Err(ConflictReason::Reserved(_)) if !ticket.holds_memory => {
                // Created under the lock, so that no later release is missed.
                let released = self.released.notified();
                drop(state);
                Attempt::Reserved(ticket, released)
            }
            Err(ConflictReason::Never(key)) => {
                let dependencies = state.wait_for_all();
                drop(state);
                let account = &key.name;
                let reason =
                    format!("the balance of {account} that this call requires never held, not even when it began");
                Attempt::Never(reason, dependencies)
            }
            Err(reason) => {
                if let Some(held) = reservation.filter(|reservation| reservation.is_held()) {
                    state.overlay.reserve(held.id(), keys(&ticket.proposal));
                }
                drop(state);
                self.lose(*ticket, reason)
            }
        }
    }

    pub(super) fn count_busy(&self) -> CommitError {
        count(&self.counts.busy);
        CommitError::Busy
    }

    fn accept(&self, mut state: parking_lot::MutexGuard<'_, State>, ticket: Ticket, accepted: Accepted) -> Attempt<'_> {
        let Ticket { proposal, running, model, bytes, charge, capacity, .. } = ticket;
        let Proposal { changes, writes, .. } = *proposal;
        let writes = into_writes(writes, &accepted);
        let (version, garbage) = state.overlay.accept(writes);
        let (caller, outcome) = oneshot::channel();
        let balances = accepted.balances.into_iter().filter_map(balance).collect();
        let accepted = AcceptedChanges { version, changes, model, balances };
        state.queue.push(Queued { accepted, bytes, charge, capacity, caller });
        drop(state);
        self.work.notify_one();
        drop((garbage, running));
        Attempt::Wait(outcome)
    }

    fn lose(&self, ticket: Ticket, reason: ConflictReason) -> Attempt<'_> {
        count(&self.counts.conflicts);
        Attempt::Lost(CommitError::Conflict(Conflict::new(reason, &ticket.proposal)))
    }

    pub(in crate::commit) fn get(&self, key: &Key) -> Option<ReadResult> {
        self.state.lock().overlay.get(key)
    }

    pub(in crate::commit) fn fill(
        &self,
        began: &CallStart,
        key: &Key,
        version: Version,
        content: Content,
    ) -> ReadResult {
        let (seen, garbage) = self.state.lock().overlay.fill(began, key, version, content);
        drop(garbage);
        seen
    }

    /// Waits until all accepted writes to this collection are durable or discarded, so that a search of the database
    /// finds them.
    pub(in crate::commit) async fn settle_collection(&self, scope: &Scope, collection: &Arc<str>) -> CollectionSearch {
        let (since, waiting) = {
            let mut state = self.state.lock();
            let version = state.overlay.last_write(scope, collection);
            (state.overlay.latest(), (version > 0).then(|| state.queue.wait(version)))
        };
        if let Some(waiting) = waiting {
            let _ = waiting.await;
        }
        CollectionSearch { scope: scope.clone(), collection: collection.clone(), since }
    }

    /// Waits until all accepted writes are durable or discarded.
    pub(in crate::commit) async fn settle_all(&self) {
        let waiting = self.state.lock().wait_for_all();
        if let Some(waiting) = waiting {
            let _ = waiting.await;
        }
    }

    pub(in crate::commit) async fn next_number(&self, scope: &Scope, name: &str) -> Result<u64, DbError> {
        self.counters.next(&self.database, scope, name).await
    }
}

fn balance((key, amount): (Key, ethnum::I256)) -> Option<Balance> {
    match key.space {
        Space::Balance(asset) => Some(Balance { account: key.name, asset, amount }),
        _ => None,
    }
}
