//! The committer: receives change sets, decides immediately under one short lock, and returns when they are durable.
//!
//! Owns the overlay, the queue in front of the disk, and the writer task. Never runs a plugin. Never holds its lock
//! while it waits or frees memory.
//!
//! Invariants:
//! - Accepted change sets are applied in the order of acceptance, whether or not their callers still wait.
//! - `commit` returns `Ok` only when the change set and everything that its call read are durable.
//! - If an accepted change set cannot be applied, all change sets accepted after it are discarded and their calls run
//!   again.

#![expect(clippy::disallowed_methods, reason = "the writer of the database is a task; `CommitterTask` stops it")]

use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::decide::{ConflictReason, Proposal};
use super::overlay::{CallStart, Overlay, OverlayLimits};
use crate::budget::Charge;
use crate::changes::change_set::{Key, Version};
use crate::changes::credential::CredentialChange;
use crate::changes::scope::Scope;
use crate::db::apply::{Outgoing, Writer};
use crate::db::model::{DataModel, ModelError};
use crate::db::{Database, DbError};
use crate::limits::{COMMIT_NOTIFICATIONS_MAX, OVERLAY_BYTES_MAX, OVERLAY_PINNED_BYTES_MAX};
use crate::metrics::BatchMetrics;

mod accept;
mod capacity;
mod collected;
mod counters;
mod host_models;
mod queue;
mod registered;
mod reservation;
mod stats;
#[cfg(test)]
mod tests;
mod writer;

pub use capacity::LargeBounds;
use capacity::{CapacityPermit, LargeCapacity};
pub use collected::Changes;
use counters::Counters;
use host_models::HostModels;
use queue::{Outcome, Queue};
pub use registered::RegisteredReads;
pub use reservation::Reservation;
pub use stats::{CommitterStats, Resets};
use stats::{Counts, count};

#[derive(Clone, Debug)]
pub struct CommitterSettings {
    /// Limit of the bytes of cached records that no decision needs.
    pub overlay_bytes_max: usize,
    /// Observes each batch. `None` outside of a running host.
    pub metrics: Option<BatchMetrics>,
    /// Notifications that a subscriber may lag behind.
    pub notifications_kept: usize,
    pub large: LargeBounds,
}

impl Default for CommitterSettings {
    fn default() -> Self {
        CommitterSettings {
            overlay_bytes_max: OVERLAY_BYTES_MAX,
            metrics: None,
            notifications_kept: COMMIT_NOTIFICATIONS_MAX,
            large: LargeBounds::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A value that the call read has changed: run the call again.
    #[error("a value that the call read has changed")]
    Conflict(Conflict),
    /// A change set that this one depends on could not be applied: run the call again.
    #[error("an earlier change set could not be applied")]
    Discarded,
    /// Another call held a reservation until the deadline. Nothing was applied.
    #[error("another call has reserved a key that this call writes")]
    Late,
    /// Too many change sets wait for the disk, or waited ahead of this one until the deadline. Nothing was applied.
    #[error("too many change sets wait for the disk")]
    Busy,
    /// This change set can never be applied. Nothing of it was.
    #[error("the change set cannot be applied: {0}")]
    Poisoned(String),
    /// The connection to the database was lost or the writer task panicked during the commit: the commit may or may not
    /// have happened.
    #[error("the outcome of the commit is not known")]
    OutcomeUnknown,
    /// The database cannot be written. Nothing was applied.
    #[error("the database cannot be written: {0}")]
    Unavailable(String),
}

/// A conflict of a call, with the keys that a reservation for the call must cover. Does not hold the changes of the
/// call, so that they are freed while the call waits for the reservation.
pub struct Conflict {
    pub reason: ConflictReason,
    seen: Box<SeenKeys>,
}

/// Keys that a call read, and their scope.
struct SeenKeys {
    scope: Scope,
    keys: Vec<Key>,
}

impl Conflict {
    /// Returns true if another call has reserved a key that this call writes, so that this call must wait for a
    /// reservation of its own.
    pub fn is_reserved(&self) -> bool {
        matches!(self.reason, ConflictReason::Reserved(_))
    }

    fn new(reason: ConflictReason, proposal: &Proposal) -> Conflict {
        let seen = SeenKeys { scope: proposal.changes.scope.clone(), keys: keys(proposal).collect() };
        Conflict { reason, seen: Box::new(seen) }
    }
}

impl std::fmt::Debug for Conflict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reason.fmt(formatter)
    }
}

/// Returns all keys that the call read.
fn keys(proposal: &Proposal) -> impl Iterator<Item = Key> {
    let reads = proposal.changes.reads.iter().map(|read| read.key.clone());
    reads.chain(proposal.ledger.iter().map(|line| line.key.clone()))
}

/// Prevents the eviction of entries that were accepted after the call began.
pub(super) struct RunningCall {
    pub(super) shared: Arc<Shared>,
    pub(super) began: CallStart,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.shared.state.lock().overlay.end(&self.began);
    }
}

pub(super) struct Shared {
    pub(super) database: Database,
    state: parking_lot::Mutex<State>,
    /// A change set was accepted, the cache is to be cleared, or the committer is stopping.
    work: Notify,
    /// A reservation was released.
    released: Notify,
    reservation_queues: reservation::ReservationQueues,
    large_capacity: LargeCapacity,
    counters: Counters,
    host_models: HostModels,
    counts: Counts,
    notifications: broadcast::Sender<Arc<CommitNotification>>,
    credential_listener: OnceLock<CredentialListener>,
}

/// Durable changes that other modules act on, in the order of commits.
#[derive(Debug)]
pub enum CommitNotification {
    Durable(Outgoing),
    /// The changes are not known: subscribers must read the database.
    Unknown,
}

/// Called for each issued or revoked credential, after the change is durable and before any caller receives its
/// outcome. Called with `None` if any credential may have changed.
pub type CredentialListener = Arc<dyn Fn(Option<(&Scope, &CredentialChange)>) + Send + Sync>;

struct State {
    overlay: Overlay,
    queue: Queue,
    /// Why no change set is accepted at present.
    closed: Option<String>,
    /// Why the last batch could not be written. `None` after a batch that was written.
    storage_failure: Option<String>,
    stopping: bool,
    /// The writer task has ended.
    ended: bool,
    /// Callers of `clear_cache`, to be notified when the cache is empty.
    cache_clears: Vec<oneshot::Sender<()>>,
}

/// A change set that is being committed, with the guards that it needs until then.
struct Ticket {
    proposal: Box<Proposal>,
    running: RunningCall,
    model: Arc<DataModel>,
    waits_for: Version,
    bytes: usize,
    charge: Option<Charge>,
    holds_memory: bool,
    waits_for_capacity: bool,
    /// Held by a large change set, except while it waits for another call.
    capacity: Option<CapacityPermit>,
}

enum Attempt<'a> {
    /// Accepted, or a valid refusal: done when this receives its outcome.
    Wait(oneshot::Receiver<Outcome>),
    Done,
    Reserved(Box<Ticket>, tokio::sync::futures::Notified<'a>),
    /// The change set must acquire capacity first.
    Large(Box<Ticket>),
    Lost(CommitError),
    /// The change set can never be applied. The decision is final when the receiver reports that everything that the
    /// change set depends on is durable. `None` if all of that is durable already.
    Never(String, Option<oneshot::Receiver<Outcome>>),
}

impl Attempt<'_> {
    /// Returns true if the call no longer needs its reservation. Its early release spares other calls the wait for the
    /// disk.
    fn is_decided(&self) -> bool {
        !matches!(self, Attempt::Reserved(..) | Attempt::Large(_) | Attempt::Lost(_))
    }
}

/// The only way to the database for changes of plugins.
#[derive(Clone)]
pub struct Committer {
    shared: Arc<Shared>,
}

/// Handle of the writer task. Only `shutdown` stops the task. Dropping the handle does not.
pub struct CommitterTask {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl CommitterTask {
    /// Stops accepting change sets, writes those that were accepted, and ends the task.
    pub async fn shutdown(self) {
        {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            state.closed = Some("the host is stopping".to_owned());
        }
        self.shared.work.notify_one();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the writer task of the committer failed");
        }
    }
}

impl Committer {
    pub async fn start(
        database: Database,
        writer: Writer,
        settings: CommitterSettings,
    ) -> Result<(Committer, CommitterTask), DbError> {
        let (committer, writer) = Committer::open(database, writer, settings).await?;
        let shared = committer.shared.clone();
        let task = tokio::spawn(writer::run(shared.clone(), writer));
        Ok((committer, CommitterTask { shared, task }))
    }

    /// Opens the committer without starting the writer task.
    async fn open(
        database: Database,
        writer: Writer,
        settings: CommitterSettings,
    ) -> Result<(Committer, Writer), DbError> {
        let limits =
            OverlayLimits { cache_bytes_max: settings.overlay_bytes_max, pinned_bytes_max: OVERLAY_PINNED_BYTES_MAX };
        writer.trust_file().await;
        let overlay = Overlay::new(database.latest_version().await?, limits);
        let state = State {
            overlay,
            queue: Queue::default(),
            closed: None,
            storage_failure: None,
            stopping: false,
            ended: false,
            cache_clears: Vec::new(),
        };
        let shared = Arc::new(Shared {
            database,
            state: parking_lot::Mutex::new(state),
            work: Notify::new(),
            released: Notify::new(),
            reservation_queues: reservation::ReservationQueues::default(),
            large_capacity: LargeCapacity::new(settings.large),
            counters: Counters::default(),
            host_models: HostModels::default(),
            counts: Counts::new(settings.metrics),
            notifications: broadcast::channel(settings.notifications_kept).0,
            credential_listener: OnceLock::new(),
        });
        Ok((Committer { shared }, writer))
    }

    /// Subscribes to notifications of commits from now on. A subscriber that lags too far behind gets an error and must
    /// read the database.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<CommitNotification>> {
        self.shared.notifications.subscribe()
    }

    /// Sets the listener for changes of credentials. Only the first listener is used.
    pub fn set_credential_listener(&self, listener: CredentialListener) {
        let _ = self.shared.credential_listener.set(listener);
    }

    /// Returns the model for changes that the host itself makes for a plugin.
    pub(super) fn host_model(&self, plugin: &Arc<str>) -> Result<Arc<DataModel>, ModelError> {
        self.shared.host_models.find(plugin)
    }

    /// Registers a running call. Entries that are accepted from now on are not evicted before it is dropped.
    pub(super) fn register_call(&self) -> RunningCall {
        let began = self.shared.state.lock().overlay.begin();
        RunningCall { shared: self.shared.clone(), began }
    }

    /// Returns when the change set and everything that the call read are durable. An accepted change set is applied
    /// even if this future is dropped. Acceptance also releases the reservation. A call that is discarded afterwards
    /// needs a new one.
    pub async fn commit(&self, changes: Changes, mut reservation: Option<&mut Reservation>) -> Result<(), CommitError> {
        let is_read_only = changes.is_read_only();
        if is_read_only {
            return self.wait_until_durable(&changes.running, changes.waits_for).await;
        }
        let Changes {
            running,
            set,
            model,
            purpose,
            waits_for,
            bytes,
            charge,
            holds_memory,
            waits_for_capacity,
            deadline,
            ..
        } = changes;
        let Some(set) = set else { return Ok(()) };
        let proposal = match Proposal::new(running.began, purpose, Arc::new(set)) {
            Ok(proposal) => proposal,
            Err(invalid) => {
                self.wait_until_durable(&running, waits_for).await?;
                return Err(CommitError::Poisoned(invalid.to_string()));
            }
        };
        let proposal = Box::new(proposal);
        let capacity = None;
        let ticket =
            Ticket { proposal, running, model, waits_for, bytes, charge, holds_memory, waits_for_capacity, capacity };
        let mut ticket = Box::new(ticket);
        loop {
            let attempt = self.shared.attempt(ticket, reservation.as_deref());
            if let (Some(reservation), true) = (reservation.as_deref_mut(), attempt.is_decided()) {
                reservation.release();
            }
            match attempt {
                Attempt::Done => return Ok(()),
                Attempt::Wait(outcome) => return settled(outcome.await),
                Attempt::Lost(error) => return Err(error),
                Attempt::Never(reason, dependencies) => {
                    if let Some(outcome) = dependencies {
                        settled(outcome.await)?;
                    }
                    return Err(CommitError::Poisoned(reason));
                }
                Attempt::Reserved(reserved, released) => {
                    ticket = reserved;
                    // The call that holds the reservation may need this capacity.
                    ticket.capacity = None;
                    wait_for_release(released, deadline).await?;
                }
                Attempt::Large(mut large) => {
                    let (scope, has_reservation) = (&large.proposal.changes.scope, reservation.is_some());
                    let permit = self.shared.large_capacity.acquire(scope, bytes, has_reservation, deadline).await;
                    large.capacity = Some(permit.ok_or_else(|| self.shared.count_busy())?);
                    ticket = large;
                }
            }
        }
    }

    async fn wait_until_durable(&self, running: &RunningCall, waits_for: Version) -> Result<(), CommitError> {
        if waits_for == 0 {
            return Ok(());
        }
        let attempt = self.shared.state.lock().wait(&running.began, waits_for);
        match attempt {
            Attempt::Wait(outcome) => settled(outcome.await),
            Attempt::Lost(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Reserves the keys that a call read, for a call with repeated conflicts. Waits until no other call of its plugin
    /// and tenant holds a reservation. Other calls that write those keys wait until the reservation is released. Pass
    /// the reservation to every further `commit` of the same call.
    pub async fn reserve(&self, conflict: &Conflict) -> Reservation {
        count(&self.shared.counts.reservations);
        Reservation::acquire(self.shared.clone(), conflict).await
    }

    /// Empties the cache. Accepted change sets that are not being written yet are discarded, and their calls run again.
    /// Needed when an index becomes unique: earlier calls did not record the owners of its slots.
    pub async fn clear_cache(&self) {
        let (requested, done) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            // The writer task emptied the cache when it ended.
            if state.ended {
                return;
            }
            state.cache_clears.push(requested);
        }
        self.shared.work.notify_one();
        let _ = done.await;
    }

    /// Returns the counters for /metrics.
    pub fn stats(&self) -> CommitterStats {
        let mut stats = self.shared.counts.snapshot();
        let state = self.shared.state.lock();
        stats.queued = state.queue.len() as u64;
        stats.overlay_bytes = state.overlay.bytes() as u64;
        stats.overlay_pinned_bytes = state.overlay.pinned_bytes() as u64;
        stats.overlay_entries = state.overlay.len() as u64;
        stats
    }

    /// Returns why no change set is accepted at present, or why the last batch could not be written, for /readyz.
    pub fn closed(&self) -> Option<String> {
        let state = self.shared.state.lock();
        state.closed.clone().or_else(|| state.storage_failure.clone())
    }
}

async fn wait_for_release(
    released: tokio::sync::futures::Notified<'_>,
    deadline: Option<Instant>,
) -> Result<(), CommitError> {
    match deadline {
        None => released.await,
        Some(deadline) => timeout_at(deadline, released).await.map_err(|_| CommitError::Late)?,
    }
    Ok(())
}

fn settled(outcome: Result<Outcome, oneshot::error::RecvError>) -> Result<(), CommitError> {
    // A sender that was dropped without sending belonged to a task that panicked, so the outcome is unknown.
    match outcome.unwrap_or(Outcome::Unknown) {
        Outcome::Durable => Ok(()),
        Outcome::Discarded => Err(CommitError::Discarded),
        Outcome::Poisoned(reason) => Err(CommitError::Poisoned(reason)),
        Outcome::Unavailable(reason) => Err(CommitError::Unavailable(reason)),
        Outcome::Unknown => Err(CommitError::OutcomeUnknown),
    }
}
