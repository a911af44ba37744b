//! The committer: takes change sets, decides at once under one short lock, and answers when they are on disk.
//!
//! Owns the overlay, the queue in front of the disk, and the task that writes. Never runs a plugin, never holds its lock
//! over anything that waits or frees memory.
//!
//! Invariants:
//! - What was accepted is applied in the order of acceptance, whether its caller still waits or not.
//! - Nothing is answered before it, and all that it saw, is durable.
//! - When something accepted cannot be applied, everything accepted after it is discarded and run again.

#![expect(clippy::disallowed_methods, reason = "the writer of the database is a task; `CommitterTask` ends it")]

use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::decide::{Objection, Proposal};
use super::draft::{CallIdentity, Draft};
use super::overlay::{Began, Overlay, OverlayLimits};
use crate::budget::Charge;
use crate::changes::change_set::{Key, Version};
use crate::changes::credential::CredentialChange;
use crate::changes::scope::Scope;
use crate::db::apply::{Outgoing, Writer};
use crate::db::model::{DataModel, ModelError};
use crate::db::{Database, DbError};
use crate::limits::{NEWS_KEPT, OVERLAY_BYTES_MAX, OVERLAY_PINNED_BYTES_MAX};
use crate::metrics::BatchMetrics;

mod accept;
mod collected;
mod counters;
mod host_models;
mod queue;
mod registered;
mod room;
mod stats;
#[cfg(test)]
mod tests;
mod turn;
mod writer;

pub use collected::Changes;
use counters::Counters;
use host_models::HostModels;
use queue::{Outcome, Queue};
pub use registered::RegisteredReads;
pub use room::LargeBounds;
use room::{Room, RoomPermit};
pub use stats::{CommitterStats, Resets};
use stats::{Counts, count};
pub use turn::Turn;

#[derive(Clone, Debug)]
pub struct CommitterSettings {
    /// Bytes of records kept in memory that nobody needs for deciding.
    pub overlay_bytes_max: usize,
    /// Observes each batch, where a host runs.
    pub metrics: Option<BatchMetrics>,
    /// Batches of notifications that a follower may lag behind.
    pub notifications_kept: usize,
    pub large: LargeBounds,
}

impl Default for CommitterSettings {
    fn default() -> Self {
        CommitterSettings {
            overlay_bytes_max: OVERLAY_BYTES_MAX,
            metrics: None,
            notifications_kept: NEWS_KEPT,
            large: LargeBounds::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Something that the call saw does not stand any more: run it again.
    #[error("somebody else was first")]
    Conflict(Conflict),
    /// Something that it rested on could not be applied: run it again.
    #[error("a change before this one could not be applied")]
    Discarded,
    /// Another call's turn took until the deadline. Nothing was applied.
    #[error("another call has reserved what this one writes")]
    Late,
    /// Too much waits for the disk already, or was ahead of it until the deadline. Nothing was applied.
    #[error("too many changes wait for the disk")]
    Busy,
    /// This change set cannot be applied, now or later. Nothing of it was.
    #[error("the change set cannot be applied: {0}")]
    Poisoned(String),
    /// The database was lost during the commit: it may or may not have happened.
    #[error("the outcome of the commit is not known")]
    OutcomeUnknown,
    /// The database cannot be written. Nothing was applied.
    #[error("the database cannot be written: {0}")]
    Unavailable(String),
}

/// A call that lost, and what its turn would have to reserve: without its changes, which a wait for the turn must not keep.
pub struct Conflict {
    pub objection: Objection,
    seen: Box<SeenKeys>,
}

/// Keys that a call read, and the scope that they belong to.
struct SeenKeys {
    scope: Scope,
    keys: Vec<Key>,
}

impl Conflict {
    /// Whether another call's turn holds what this one saw: it must wait for its own.
    pub fn is_reserved(&self) -> bool {
        matches!(self.objection, Objection::Reserved(_))
    }

    fn new(objection: Objection, proposal: &Proposal) -> Conflict {
        let seen = SeenKeys { scope: proposal.changes.scope.clone(), keys: keys(proposal).collect() };
        Conflict { objection, seen: Box::new(seen) }
    }
}

impl std::fmt::Debug for Conflict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.objection.fmt(formatter)
    }
}

/// Everything that the call saw.
fn keys(proposal: &Proposal) -> impl Iterator<Item = Key> {
    let reads = proposal.changes.reads.iter().map(|read| read.key.clone());
    reads.chain(proposal.ledger.iter().map(|line| line.key.clone()))
}

/// Keeps what the call may have seen from being evicted.
pub(super) struct RunningCall {
    pub(super) shared: Arc<Shared>,
    pub(super) began: Began,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.shared.state.lock().overlay.end(&self.began);
    }
}

pub(super) struct Shared {
    pub(super) database: Database,
    state: parking_lot::Mutex<State>,
    /// Something was accepted, or the end has come.
    work: Notify,
    /// A turn ended.
    released: Notify,
    lines: turn::Lines,
    room: Room,
    counters: Counters,
    host_models: HostModels,
    counts: Counts,
    news: broadcast::Sender<Arc<News>>,
    credentials: OnceLock<CredentialsFollower>,
}

/// What has become durable and is to be done outside, in the order of commits.
#[derive(Debug)]
pub enum News {
    Durable(Outgoing),
    /// Something that cannot be told any more: look into the database.
    Unknown,
}

/// Told of each credential that was issued or revoked, once that is durable and before anybody is answered; with `None` where
/// any may have been.
pub type CredentialsFollower = Arc<dyn Fn(Option<(&Scope, &CredentialChange)>) + Send + Sync>;

struct State {
    overlay: Overlay,
    queue: Queue,
    /// Why nothing is accepted at present.
    closed: Option<String>,
    /// Why the last batch could not be written; nothing once one could.
    trouble: Option<String>,
    stopping: bool,
    /// The task that writes has ended.
    ended: bool,
    /// Who asked for everything cached to be forgotten.
    forget: Vec<oneshot::Sender<()>>,
}

/// A change set on its way, together with what keeps it alive.
struct Ticket {
    proposal: Box<Proposal>,
    running: RunningCall,
    model: Arc<DataModel>,
    waits_for: Version,
    bytes: usize,
    charge: Option<Charge>,
    holds_memory: bool,
    waits_for_room: bool,
    /// Held by a large change set while it waits for no other call.
    room: Option<RoomPermit>,
}

enum Attempt<'a> {
    /// Accepted, or a refusal that holds: done when this says so.
    Wait(oneshot::Receiver<Outcome>),
    Done,
    Reserved(Box<Ticket>, tokio::sync::futures::Notified<'a>),
    /// It needs room first.
    Large(Box<Ticket>),
    Lost(CommitError),
    /// It can never be, once this says that what it rests on is durable.
    Never(String, Option<oneshot::Receiver<Outcome>>),
}

impl Attempt<'_> {
    /// Returns true if the call no longer needs its turn: other calls need not wait for the disk as well.
    fn is_decided(&self) -> bool {
        !matches!(self, Attempt::Reserved(..) | Attempt::Large(_) | Attempt::Lost(_))
    }
}

/// The one door to the database for everything that plugins change.
#[derive(Clone)]
pub struct Committer {
    shared: Arc<Shared>,
}

/// The task that writes. Dropping it does not stop the task; `shutdown` does.
pub struct CommitterTask {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl CommitterTask {
    /// Accepts nothing more, writes what was accepted, and ends.
    pub async fn shutdown(self) {
        {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            state.closed = Some("the host is stopping".to_owned());
        }
        self.shared.work.notify_one();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the committer's task ended badly");
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

    /// Without the task that writes.
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
            trouble: None,
            stopping: false,
            ended: false,
            forget: Vec::new(),
        };
        let shared = Arc::new(Shared {
            database,
            state: parking_lot::Mutex::new(state),
            work: Notify::new(),
            released: Notify::new(),
            lines: turn::Lines::default(),
            room: Room::new(settings.large),
            counters: Counters::default(),
            host_models: HostModels::default(),
            counts: Counts::new(settings.metrics),
            news: broadcast::channel(settings.notifications_kept).0,
            credentials: OnceLock::new(),
        });
        Ok((Committer { shared }, writer))
    }

    /// From now on, all that becomes durable and is to be done outside. Who lags too far behind is told so, and looks into
    /// the database.
    pub fn follow(&self) -> broadcast::Receiver<Arc<News>> {
        self.shared.news.subscribe()
    }

    /// For the one that remembers keys and tokens; a second one is not told.
    pub fn follow_credentials(&self, follower: CredentialsFollower) {
        let _ = self.shared.credentials.set(follower);
    }

    /// For changes of the host itself to what a plugin has.
    pub(super) fn host_model(&self, plugin: &Arc<str>) -> Result<Arc<DataModel>, ModelError> {
        self.shared.host_models.find(plugin)
    }

    /// Registers a call. Nothing that is accepted from now on is forgotten before the draft, or what it becomes, is gone.
    pub fn begin(&self, call: CallIdentity) -> Draft {
        let began = self.shared.state.lock().overlay.begin();
        Draft::new(RunningCall { shared: self.shared.clone(), began }, call)
    }

    /// Returns when the change set, and everything that the call saw, is durable. Once it has been accepted it is applied
    /// even if this future is dropped, and its turn has ended; a call that is discarded afterwards needs a new one.
    pub async fn commit(&self, changes: Changes, mut turn: Option<&mut Turn>) -> Result<(), CommitError> {
        let is_look = changes.is_look();
        if is_look {
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
            waits_for_room,
            deadline,
            ..
        } = changes;
        let Some(set) = set else { return Ok(()) };
        let proposal = match Proposal::new(running.began, purpose, Arc::new(set)) {
            Ok(proposal) => proposal,
            Err(unsound) => {
                self.wait_until_durable(&running, waits_for).await?;
                return Err(CommitError::Poisoned(unsound.to_string()));
            }
        };
        let proposal = Box::new(proposal);
        let ticket =
            Ticket { proposal, running, model, waits_for, bytes, charge, holds_memory, waits_for_room, room: None };
        let mut ticket = Box::new(ticket);
        loop {
            let attempt = self.shared.attempt(ticket, turn.as_deref());
            if let (Some(turn), true) = (turn.as_deref_mut(), attempt.is_decided()) {
                turn.end();
            }
            match attempt {
                Attempt::Done => return Ok(()),
                Attempt::Wait(outcome) => return settled(outcome.await),
                Attempt::Lost(error) => return Err(error),
                Attempt::Never(reason, rests_on) => {
                    if let Some(outcome) = rests_on {
                        settled(outcome.await)?;
                    }
                    return Err(CommitError::Poisoned(reason));
                }
                Attempt::Reserved(again, released) => {
                    ticket = again;
                    // The call whose turn it is may need its room.
                    ticket.room = None;
                    wait_for_turn(released, deadline).await?;
                }
                Attempt::Large(mut again) => {
                    let (scope, has_turn) = (&again.proposal.changes.scope, turn.is_some());
                    let room = self.shared.room.take(scope, bytes, has_turn, deadline).await;
                    again.room = Some(room.ok_or_else(|| self.shared.count_busy())?);
                    ticket = again;
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

    /// For a call that lost again and again: waits for the turn of its plugin and tenant, and reserves what it read. Others that would write
    /// those keys wait until the turn is dropped. Pass it to every further `commit` of the same call.
    pub async fn take_turn(&self, lost: &Conflict) -> Turn {
        count(&self.shared.counts.turns);
        Turn::take(self.shared.clone(), lost).await
    }

    /// Returns when nothing is cached any more; what was accepted and is not on its way to the disk is run again. For when
    /// other indexes are unique than before: calls that did not know of them kept no record of who holds what.
    pub async fn forget(&self) {
        let (requested, done) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            // A task that has ended emptied the cache when it did.
            if state.ended {
                return;
            }
            state.forget.push(requested);
        }
        self.shared.work.notify_one();
        let _ = done.await;
    }

    pub fn stats(&self) -> CommitterStats {
        let mut stats = self.shared.counts.snapshot();
        let state = self.shared.state.lock();
        stats.queued = state.queue.len() as u64;
        stats.overlay_bytes = state.overlay.bytes() as u64;
        stats.overlay_pinned_bytes = state.overlay.pinned_bytes() as u64;
        stats.overlay_entries = state.overlay.len() as u64;
        stats
    }

    /// Why nothing is accepted at present, or what was accepted last could not be written: for /readyz.
    pub fn closed(&self) -> Option<String> {
        let state = self.shared.state.lock();
        state.closed.clone().or_else(|| state.trouble.clone())
    }
}

async fn wait_for_turn(
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
    // A sender that is dropped without a word belonged to a task that died: nobody knows what it did.
    match outcome.unwrap_or(Outcome::Unknown) {
        Outcome::Durable => Ok(()),
        Outcome::Discarded => Err(CommitError::Discarded),
        Outcome::Poisoned(reason) => Err(CommitError::Poisoned(reason)),
        Outcome::Unavailable(reason) => Err(CommitError::Unavailable(reason)),
        Outcome::Unknown => Err(CommitError::OutcomeUnknown),
    }
}
