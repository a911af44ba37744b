//! The writer task, which makes accepted change sets durable: batch after batch, in the order of acceptance.
//!
//! A batch consists of the change sets that are queued, up to its limits. The writer does not wait for more. It retries
//! a failed batch in halves, from the front. Change sets before the failing one are applied. The caller of the failing
//! one gets an error. All change sets that were accepted after it are discarded, because they may depend on it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::queue::{Outcome, Queued};
use super::stats::{ResetCause, count};
use super::{CommitNotification, Shared};
use crate::changes::change_set::Version;
use crate::db::Invalidation;
use crate::db::apply::{ApplyError, Batch, Outgoing, Writer};
use crate::limits::{FOREIGN_WRITE_CHECK_MS, OUTCOME_RETRY_MS, OUTCOME_TRIES_MAX};

const FILE_CHECK: Duration = Duration::from_millis(FOREIGN_WRITE_CHECK_MS);

/// Result of one attempt to write.
enum Applied {
    /// The notifications are `None` if the outcome was queried after a lost connection.
    Durable(Option<Outgoing>),
    /// The state of the file is not the one that decisions in memory are based on.
    Outdated(Invalidation),
    /// Nothing was applied.
    Failed(String),
    Unavailable(String),
    /// The batch with this id may or may not have been applied.
    Unknown(Arc<str>),
}

pub(super) async fn run(shared: Arc<Shared>, writer: Writer) {
    let _close = CloseOnDrop(shared.clone());
    let mut task = WriterTask::new(shared, writer);
    loop {
        match task.work().await {
            Work::Done => {}
            Work::Stop => return,
            Work::Idle => {
                if timeout(FILE_CHECK, task.shared.work.notified()).await.is_err() {
                    task.check_file().await;
                }
            }
        }
    }
}

/// Result of [`WriterTask::work`].
pub(super) enum Work {
    Done,
    Idle,
    /// Nothing is queued, and the committer is stopping.
    Stop,
}

/// Closes the committer when the task ends for any reason, so that no change set is accepted that would not be written.
struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.closed.get_or_insert_with(|| "the committer has stopped".to_owned());
        state.ended = true;
        let left = (state.queue.take_all(), state.overlay.begin_epoch(), std::mem::take(&mut state.cache_clears));
        drop(state);
        drop(left);
    }
}

/// Returns a random prefix of batch ids, so that batches of different runs of the host have different ids.
fn random_name() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return uuid::Uuid::now_v7().simple().to_string();
    }
    hex::encode(bytes)
}

pub(super) struct WriterTask {
    shared: Arc<Shared>,
    writer: Writer,
    run: String,
    batches: u64,
    /// The newest version that is on disk or may be.
    written: Version,
    /// True if a change set failed alone, and no change set has been written since.
    rejected_last: bool,
    /// True if the connection may have been reopened since the last epoch began. Foreign writes in between were then
    /// not detected.
    reconnected: bool,
}

impl WriterTask {
    pub(super) fn new(shared: Arc<Shared>, writer: Writer) -> WriterTask {
        let written = shared.state.lock().overlay.durable();
        WriterTask { shared, writer, run: random_name(), batches: 0, written, rejected_last: false, reconnected: false }
    }

    /// Writes the queued change sets, and empties the cache if that was requested.
    pub(super) async fn work(&mut self) -> Work {
        let (batch, clears, stopping) = {
            let mut state = self.shared.state.lock();
            (state.queue.take_batch(), std::mem::take(&mut state.cache_clears), state.stopping)
        };
        if batch.is_empty() && clears.is_empty() {
            return if stopping { Work::Stop } else { Work::Idle };
        }
        if !batch.is_empty() {
            self.write(batch).await;
        }
        if !clears.is_empty() {
            self.writer.trust_file().await;
            self.shared.counts.reset(ResetCause::Swap);
            self.fail(VecDeque::new(), Outcome::Discarded, VecDeque::new());
            for done in clears {
                // The caller may be gone.
                let _ = done.send(());
            }
        }
        Work::Done
    }

    async fn write(&mut self, mut batch: VecDeque<Queued>) {
        // Number of change sets at the front that include a failing one. 0 if none is known to fail.
        let mut suspects = 0_usize;
        let mut retried = false;
        while !batch.is_empty() {
            let size = if suspects > 0 { suspects.div_ceil(2) } else { batch.len() };
            match self.apply(&batch, size).await {
                Applied::Durable(outgoing) => {
                    self.settle(batch.drain(..size).collect());
                    self.notify_subscribers(outgoing);
                    suspects = suspects.saturating_sub(size);
                    retried = false;
                }
                Applied::Failed(_) if size > 1 => suspects = size,
                // Retried once, so that a transient error does not reject a change set.
                Applied::Failed(_) if !retried => (suspects, retried) = (1, true),
                Applied::Failed(reason) => return self.reject_first(batch, reason).await,
                Applied::Outdated(invalidation) => return self.invalidate(invalidation, batch),
                Applied::Unavailable(reason) => {
                    // A damaged database was reported when the damage was detected.
                    if !self.shared.database.health().is_damaged() {
                        tracing::error!(reason, "failed to write to the database");
                    }
                    let rest = batch.split_off(size);
                    self.shared.counts.reset(ResetCause::StorageFailure);
                    return self.fail(batch, Outcome::Unavailable(reason), rest);
                }
                Applied::Unknown(id) => {
                    let rest = batch.split_off(size);
                    return self.lose_outcome(batch, rest, id).await;
                }
            }
        }
        if self.reconnected {
            self.shared.counts.reset(ResetCause::StorageFailure);
            self.fail(VecDeque::new(), Outcome::Discarded, VecDeque::new());
        }
    }

    /// Discards all decisions that are not durable yet. Their calls run again.
    fn invalidate(&mut self, invalidation: Invalidation, batch: VecDeque<Queued>) {
        let cause = match invalidation {
            Invalidation::ForeignWrite => ResetCause::ForeignWrite,
            Invalidation::ConnectionLost => ResetCause::StorageFailure,
            Invalidation::Swap => ResetCause::Swap,
        };
        match cause {
            ResetCause::Swap => {
                tracing::debug!("emptied the cache and discarded pending changes after a swap")
            }
            _ => tracing::warn!(?invalidation, "emptied the cache and discarded pending changes"),
        }
        self.shared.counts.reset(cause);
        self.fail(VecDeque::new(), Outcome::Discarded, batch);
    }

    /// Checks for writes of other programs while the writer is idle, so that reads are served from an outdated cache
    /// for at most `FOREIGN_WRITE_CHECK_MS`.
    pub(super) async fn check_file(&mut self) {
        if self.shared.state.lock().overlay.serves_nothing() {
            return;
        }
        match self.writer.check_file().await {
            Ok(None) => {}
            Ok(Some(invalidation)) => self.invalidate(invalidation, VecDeque::new()),
            // If the error persists, the next batch reports it.
            Err(error) => tracing::debug!(%error, "failed to check the database for foreign writes"),
        }
    }

    /// Applies the first `size` change sets of the batch in one transaction.
    async fn apply(&mut self, batch: &VecDeque<Queued>, size: usize) -> Applied {
        let begun = Instant::now();
        let batch = self.name_batch(batch, size);
        let applied = self.writer.apply(&batch).await;
        self.reconnected |=
            matches!(applied, Err(ApplyError::Failed(_) | ApplyError::StorageFailure(_) | ApplyError::Unknown(_)));
        let applied = match applied {
            Ok(outgoing) => Applied::Durable(Some(outgoing)),
            Err(ApplyError::Outdated(invalidation)) => Applied::Outdated(invalidation),
            Err(ApplyError::Failed(reason)) => Applied::Failed(reason),
            Err(ApplyError::StorageFailure(reason)) => Applied::Unavailable(reason),
            Err(ApplyError::Unknown(reason)) => self.query_outcome(batch.id, reason).await,
        };
        if size > 0 && matches!(applied, Applied::Durable(_)) {
            self.shared.counts.batch(size, begun.elapsed());
        }
        applied
    }

    fn name_batch(&mut self, batch: &VecDeque<Queued>, size: usize) -> Batch {
        self.batches += 1;
        let changes: Vec<_> = batch.iter().take(size).map(|queued| queued.accepted.clone()).collect();
        Batch {
            id: format!("{}-{}", self.run, self.batches).into(),
            at: changes.iter().map(|accepted| accepted.changes.now).max().unwrap_or(0),
            // A restart continues from this version, so an empty batch must not lower it.
            last_version: changes.last().map_or(self.written, |accepted| accepted.version),
            changes,
        }
    }

    /// Queries the outcome of a batch whose connection was lost during COMMIT. The row of the batch exists if it was
    /// committed.
    async fn query_outcome(&self, id: Arc<str>, reason: String) -> Applied {
        tracing::warn!(reason, "lost the connection to the database during a commit");
        for _ in 0..OUTCOME_TRIES_MAX {
            match self.shared.database.batch_exists(&id).await {
                Ok(true) => return Applied::Durable(None),
                Ok(false) => return Applied::Unavailable(reason),
                Err(error) => tracing::error!(%error, "failed to query the outcome of a commit"),
            }
            sleep(Duration::from_millis(OUTCOME_RETRY_MS)).await;
        }
        Applied::Unknown(id)
    }

    /// Rejects the first change set, which failed alone. If an empty batch fails as well, or if this happens twice in a
    /// row, the database is considered unavailable instead.
    async fn reject_first(&mut self, mut batch: VecDeque<Queued>, reason: String) {
        let rest = batch.split_off(1);
        let again = std::mem::replace(&mut self.rejected_last, true);
        let outcome = match self.apply(&VecDeque::new(), 0).await {
            Applied::Durable(_) if !again => {
                count(&self.shared.counts.poisoned);
                Outcome::Poisoned(reason.clone())
            }
            _ => Outcome::Unavailable(reason.clone()),
        };
        tracing::error!(reason, ?outcome, "failed to apply a change set");
        self.shared.counts.reset(ResetCause::StorageFailure);
        self.fail(batch, outcome, rest);
    }

    /// Notifies the subscribers (`Committer::subscribe`). They may lag or be absent, because everything they need is in
    /// the database.
    fn notify_subscribers(&self, outgoing: Option<Outgoing>) {
        let notification = match outgoing {
            Some(outgoing) if outgoing.is_empty() => return,
            Some(outgoing) => CommitNotification::Durable(outgoing),
            None => CommitNotification::Unknown,
        };
        let _ = self.shared.notifications.send(Arc::new(notification));
    }

    /// Reports changed credentials before any caller receives its outcome, so that a credential is rejected once its
    /// revocation is confirmed.
    fn notify_credential_listener(&self, batch: &[Queued]) {
        let Some(listener) = self.shared.credential_listener.get() else { return };
        for changes in batch.iter().map(|queued| &queued.accepted.changes) {
            changes.credentials.iter().for_each(|change| listener(Some((&changes.scope, change))));
        }
    }

    fn settle(&mut self, batch: Vec<Queued>) {
        self.notify_credential_listener(&batch);
        self.rejected_last = false;
        let durable: Version = batch.last().map_or(0, |queued| queued.accepted.version);
        self.written = self.written.max(durable);
        let waiting = {
            let mut state = self.shared.state.lock();
            state.storage_failure = None;
            state.overlay.settle(durable);
            state.queue.take_waiting(durable)
        };
        for queued in batch {
            queued.settle(Outcome::Durable);
        }
        for sender in waiting {
            let _ = sender.send(Outcome::Durable);
        }
    }

    /// Reports the outcome to the callers of `failed`, discards everything that was accepted after them, and begins a
    /// new epoch.
    fn fail(&mut self, failed: VecDeque<Queued>, outcome: Outcome, rest: VecDeque<Queued>) {
        self.reconnected = false;
        let (garbage, (queued, waiting)) = {
            let mut state = self.shared.state.lock();
            if let Outcome::Unavailable(reason) = &outcome {
                state.storage_failure = Some(reason.clone());
            }
            (state.overlay.begin_epoch(), state.queue.take_all())
        };
        for failed in failed {
            failed.settle(outcome.clone());
        }
        for discarded in rest.into_iter().chain(queued) {
            count(&self.shared.counts.discarded);
            discarded.settle(Outcome::Discarded);
        }
        for sender in waiting {
            let _ = sender.send(Outcome::Discarded);
        }
        drop(garbage);
    }

    /// Accepts nothing until the database can be queried again, and then begins a new epoch from its state.
    async fn lose_outcome(&mut self, lost: VecDeque<Queued>, rest: VecDeque<Queued>, id: Arc<str>) {
        self.shared.state.lock().closed = Some("the connection to the database is lost".to_owned());
        self.shared.counts.reset(ResetCause::StorageFailure);
        // The batch may be on disk, so its versions are not used again.
        self.written = self.written.max(lost.back().map_or(0, |queued| queued.accepted.version));
        self.fail(lost, Outcome::Unknown, rest);
        while let Err(error) = self.shared.database.batch_exists(&id).await {
            if self.shared.state.lock().stopping {
                return;
            }
            tracing::error!(%error, "failed to reach the database");
            sleep(Duration::from_millis(OUTCOME_RETRY_MS)).await;
        }
        self.notify_subscribers(None);
        if let Some(listener) = self.shared.credential_listener.get() {
            listener(None);
        }
        let mut state = self.shared.state.lock();
        // Calls may have filled the overlay with the state before the commit, if the commit succeeded after all.
        let garbage = state.overlay.begin_epoch();
        if !state.stopping {
            state.closed = None;
        }
        drop(state);
        drop(garbage);
    }
}
