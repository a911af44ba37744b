//! Deciding and accepting, under the one lock: microseconds, nothing that waits, nothing heavy freed.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::queue::{Outcome, Queued};
use super::stats::count;
use super::{Attempt, CommitError, Conflict, Room, Shared, State, Ticket, Turn, keys};
use crate::changes::change_set::{Key, Space, Version};
use crate::changes::scope::Scope;
use crate::commit::decide::{Accepted, Objection, Proposal, decide, into_writes};
use crate::commit::overlay::{Began, CollectionSearch, Content, Seen};
use crate::db::DbError;
use crate::db::apply::{AcceptedChanges, Balance};

impl State {
    pub(super) fn wait<'a>(&mut self, began: &Began, version: Version) -> Attempt<'a> {
        if version > 0 && began.epoch != self.overlay.epoch() {
            return Attempt::Lost(CommitError::Discarded);
        }
        if version <= self.overlay.durable() { Attempt::Done } else { Attempt::Wait(self.queue.wait(version)) }
    }

    /// Until everything that was accepted so far is durable; `None` where it is.
    fn wait_for_all(&mut self) -> Option<oneshot::Receiver<Outcome>> {
        let latest = self.overlay.latest();
        (latest > self.overlay.durable()).then(|| self.queue.wait(latest))
    }
}

impl Ticket {
    fn needs_room(&self, room: &Room) -> bool {
        self.waits_for_room && self.room.is_none() && room.is_large(self.bytes)
    }
}

impl Shared {
    /// Decides, and if it may, accepts. The lock is held for microseconds; what is heavy is dropped after it.
    pub(super) fn attempt(&self, ticket: Box<Ticket>, turn: Option<&Turn>) -> Attempt<'_> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            let lost = CommitError::Unavailable(reason.clone());
            drop(state);
            return Attempt::Lost(lost);
        }
        let decided = decide(&state.overlay, &ticket.proposal, turn.map(Turn::id));
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
            Ok(_) if ticket.needs_room(&self.room) => {
                drop(state);
                Attempt::Large(ticket)
            }
            Ok(accepted) => self.accept(state, *ticket, accepted),
            // A call that holds memory must not wait for a turn: the call whose turn it is may wait for memory.
            Err(Objection::Reserved(_)) if !ticket.holds_memory => {
                // Made under the lock: a release after it cannot be missed.
                let released = self.released.notified();
                drop(state);
                Attempt::Reserved(ticket, released)
            }
            Err(Objection::Never(key)) => {
                let rests_on = state.wait_for_all();
                drop(state);
                let account = &key.name;
                let reason =
                    format!("the balance of {account} that this call requires never held, not even when it began");
                Attempt::Never(reason, rests_on)
            }
            Err(objection) => {
                if let Some(turn) = turn.filter(|turn| turn.is_held()) {
                    state.overlay.reserve(turn.id(), keys(&ticket.proposal));
                }
                drop(state);
                self.lose(*ticket, objection)
            }
        }
    }

    pub(super) fn count_busy(&self) -> CommitError {
        count(&self.counts.busy);
        CommitError::Busy
    }

    fn accept(&self, mut state: parking_lot::MutexGuard<'_, State>, ticket: Ticket, accepted: Accepted) -> Attempt<'_> {
        let Ticket { proposal, running, model, bytes, charge, room, .. } = ticket;
        let Proposal { changes, writes, .. } = *proposal;
        let writes = into_writes(writes, &accepted);
        let (version, garbage) = state.overlay.accept(writes);
        let (caller, outcome) = oneshot::channel();
        let balances = accepted.balances.into_iter().filter_map(balance).collect();
        let accepted = AcceptedChanges { version, changes, model, balances };
        state.queue.push(Queued { accepted, bytes, charge, room, caller });
        drop(state);
        self.work.notify_one();
        drop((garbage, running));
        Attempt::Wait(outcome)
    }

    fn lose(&self, ticket: Ticket, objection: Objection) -> Attempt<'_> {
        count(&self.counts.conflicts);
        Attempt::Lost(CommitError::Conflict(Conflict::new(objection, &ticket.proposal)))
    }

    pub(in crate::changes) fn look(&self, key: &Key) -> Option<Seen> {
        self.state.lock().overlay.look(key)
    }

    pub(in crate::changes) fn fill(&self, began: &Began, key: &Key, version: Version, content: Content) -> Seen {
        let (seen, garbage) = self.state.lock().overlay.fill(began, key, version, content);
        drop(garbage);
        seen
    }

    /// Waits until everything that was accepted in this collection so far is durable, or was discarded: a search of the
    /// database then sees it.
    pub(in crate::changes) async fn settle_collection(&self, scope: &Scope, collection: &Arc<str>) -> CollectionSearch {
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

    /// The same for everything.
    pub(in crate::changes) async fn settle_all(&self) {
        let waiting = self.state.lock().wait_for_all();
        if let Some(waiting) = waiting {
            let _ = waiting.await;
        }
    }

    pub(in crate::changes) async fn next_number(&self, scope: &Scope, name: &str) -> Result<u64, DbError> {
        self.counters.next(&self.database, scope, name).await
    }
}

fn balance((key, amount): (Key, ethnum::I256)) -> Option<Balance> {
    match key.space {
        Space::Balance(asset) => Some(Balance { account: key.name, asset, amount }),
        _ => None,
    }
}
