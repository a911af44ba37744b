//! The task that makes accepted change sets durable: batch after batch, in the order of acceptance.
//!
//! A batch takes what waits, without waiting for more. One that fails is tried again in halves, from the front: what
//! comes before the culprit is applied, the culprit is told, and all that was accepted after it is discarded, because
//! it may rest on the culprit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::queue::{Outcome, Queued};
use super::stats::{ResetCause, count};
use super::{News, Shared};
use crate::changes::change_set::Version;
use crate::db::Invalidation;
use crate::db::apply::{ApplyError, Batch, Outgoing, Writer};
use crate::limits::{FOREIGN_WRITE_CHECK_MS, OUTCOME_RETRY_MS, OUTCOME_TRIES_MAX};

const FILE_CHECK: Duration = Duration::from_millis(FOREIGN_WRITE_CHECK_MS);

/// What became of one attempt to write.
enum Applied {
    /// What follows from it outside is not known where its outcome had to be found out afterwards.
    Durable(Option<Outgoing>),
    /// Decisions made in memory no longer rest on the state of the file.
    Outdated(Invalidation),
    /// Nothing was applied.
    Failed(String),
    Unavailable(String),
    /// Perhaps; this is the batch to ask for.
    Unknown(Arc<str>),
}

pub(super) async fn run(shared: Arc<Shared>, writer: Writer) {
    let _close = CloseAtEnd(shared.clone());
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

/// Result of waiting for work.
pub(super) enum Work {
    Done,
    Idle,
    /// Nothing, and nothing more will come.
    Stop,
}

/// However the task ends: nothing is accepted that nobody would write.
struct CloseAtEnd(Arc<Shared>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.closed.get_or_insert_with(|| "the committer has stopped".to_owned());
        state.ended = true;
        let left = (state.queue.take_all(), state.overlay.begin_epoch(), std::mem::take(&mut state.forget));
        drop(state);
        drop(left);
    }
}

/// Batches of two runs of the host must not share a name.
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
    /// The newest version that is on disk, or may be.
    written: Version,
    /// The last thing that happened was that a change set alone could not be applied.
    blamed: bool,
    /// The connection was opened anew since the last epoch began: what others wrote meanwhile went unnoticed.
    reconnected: bool,
}

impl WriterTask {
    pub(super) fn new(shared: Arc<Shared>, writer: Writer) -> WriterTask {
        let written = shared.state.lock().overlay.durable();
        WriterTask { shared, writer, run: random_name(), batches: 0, written, blamed: false, reconnected: false }
    }

    /// Writes what waits, and empties the cache if that was requested.
    pub(super) async fn work(&mut self) -> Work {
        let (batch, forget, stopping) = {
            let mut state = self.shared.state.lock();
            (state.queue.take_batch(), std::mem::take(&mut state.forget), state.stopping)
        };
        if batch.is_empty() && forget.is_empty() {
            return if stopping { Work::Stop } else { Work::Idle };
        }
        if !batch.is_empty() {
            self.write(batch).await;
        }
        if !forget.is_empty() {
            self.writer.trust_file().await;
            self.shared.counts.reset(ResetCause::Swap);
            self.fail(VecDeque::new(), Outcome::Discarded, VecDeque::new());
            for requested in forget {
                // The caller may be gone.
                let _ = requested.send(());
            }
        }
        Work::Done
    }

    async fn write(&mut self, mut batch: VecDeque<Queued>) {
        // How many at the front are known to contain a culprit; 0: nothing is known.
        let mut suspects = 0_usize;
        let mut tried_again = false;
        while !batch.is_empty() {
            let size = if suspects > 0 { suspects.div_ceil(2) } else { batch.len() };
            match self.apply(&batch, size).await {
                Applied::Durable(outgoing) => {
                    self.settle(batch.drain(..size).collect());
                    self.send_out(outgoing);
                    suspects = suspects.saturating_sub(size);
                    tried_again = false;
                }
                Applied::Failed(_) if size > 1 => suspects = size,
                // A passing trouble is no reason to blame anybody.
                Applied::Failed(_) if !tried_again => (suspects, tried_again) = (1, true),
                Applied::Failed(reason) => return self.blame_first(batch, reason).await,
                Applied::Outdated(invalidation) => return self.invalidate(invalidation, batch),
                Applied::Unavailable(reason) => {
                    // A damaged database was reported when the damage showed.
                    if !self.shared.database.health().is_damaged() {
                        tracing::error!(reason, "the database cannot be written");
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

    /// Discards all decisions that are not durable yet; their calls are run again.
    fn invalidate(&mut self, invalidation: Invalidation, batch: VecDeque<Queued>) {
        let cause = match invalidation {
            Invalidation::ForeignWrite => ResetCause::ForeignWrite,
            Invalidation::ConnectionLost => ResetCause::StorageFailure,
            Invalidation::Swap => ResetCause::Swap,
        };
        match cause {
            ResetCause::Swap => {
                tracing::debug!("a swap changed the database: the cache is emptied, calls are run again")
            }
            _ => tracing::warn!(?invalidation, "the cache is emptied, calls are run again"),
        }
        self.shared.counts.reset(cause);
        self.fail(VecDeque::new(), Outcome::Discarded, batch);
    }

    /// While nothing is written: notices what another program wrote, so that reads are served from an outdated cache for
    /// `FOREIGN_WRITE_CHECK_MS` at most.
    pub(super) async fn check_file(&mut self) {
        if self.shared.state.lock().overlay.serves_nothing() {
            return;
        }
        match self.writer.check_file().await {
            Ok(None) => {}
            Ok(Some(invalidation)) => self.invalidate(invalidation, VecDeque::new()),
            // The next batch reports it.
            Err(error) => tracing::debug!(%error, "failed to check the database for foreign writes"),
        }
    }

    /// The first `size` of the batch in one transaction.
    async fn apply(&mut self, batch: &VecDeque<Queued>, size: usize) -> Applied {
        let begun = Instant::now();
        let batch = self.name_batch(batch, size);
        let applied = self.writer.apply(&batch).await;
        self.reconnected |=
            matches!(applied, Err(ApplyError::Failed(_) | ApplyError::Trouble(_) | ApplyError::Unknown(_)));
        let applied = match applied {
            Ok(outgoing) => Applied::Durable(Some(outgoing)),
            Err(ApplyError::Outdated(invalidation)) => Applied::Outdated(invalidation),
            Err(ApplyError::Failed(reason)) => Applied::Failed(reason),
            Err(ApplyError::Trouble(reason)) => Applied::Unavailable(reason),
            Err(ApplyError::Unknown(reason)) => self.find_outcome(batch.id, reason).await,
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
            // A start goes on from here: an empty batch must not lead it back to versions that were used.
            last_version: changes.last().map_or(self.written, |accepted| accepted.version),
            changes,
        }
    }

    /// The connection ended during COMMIT: the batch's row says whether it took place.
    async fn find_outcome(&self, id: Arc<str>, reason: String) -> Applied {
        tracing::warn!(reason, "the connection to the database ended during a commit");
        for _ in 0..OUTCOME_TRIES_MAX {
            match self.shared.database.batch_exists(&id).await {
                Ok(true) => return Applied::Durable(None),
                Ok(false) => return Applied::Unavailable(reason),
                Err(error) => tracing::error!(%error, "the outcome of a commit cannot be found out yet"),
            }
            sleep(Duration::from_millis(OUTCOME_RETRY_MS)).await;
        }
        Applied::Unknown(id)
    }

    /// One change set alone fails. If an empty batch fails as well, or this happens twice in a row, it is the database that
    /// is at fault.
    async fn blame_first(&mut self, mut batch: VecDeque<Queued>, reason: String) {
        let rest = batch.split_off(1);
        let again = std::mem::replace(&mut self.blamed, true);
        let outcome = match self.apply(&VecDeque::new(), 0).await {
            Applied::Durable(_) if !again => {
                count(&self.shared.counts.poisoned);
                Outcome::Poisoned(reason.clone())
            }
            _ => Outcome::Unavailable(reason.clone()),
        };
        tracing::error!(reason, ?outcome, "a change set cannot be applied");
        self.shared.counts.reset(ResetCause::StorageFailure);
        self.fail(batch, outcome, rest);
    }

    /// Those who act on it (`Committer::follow`) may lag or be none: what they need stands in the database.
    fn send_out(&self, outgoing: Option<Outgoing>) {
        let news = match outgoing {
            Some(outgoing) if outgoing.is_empty() => return,
            Some(outgoing) => News::Durable(outgoing),
            None => News::Unknown,
        };
        let _ = self.shared.news.send(Arc::new(news));
    }

    /// Before anybody hears of it: what was revoked opens nothing from then on.
    fn tell_credentials(&self, batch: &[Queued]) {
        let Some(follower) = self.shared.credentials.get() else { return };
        for changes in batch.iter().map(|queued| &queued.accepted.changes) {
            changes.credentials.iter().for_each(|change| follower(Some((&changes.scope, change))));
        }
    }

    fn settle(&mut self, batch: Vec<Queued>) {
        self.tell_credentials(&batch);
        self.blamed = false;
        let durable: Version = batch.last().map_or(0, |queued| queued.accepted.version);
        self.written = self.written.max(durable);
        let waiting = {
            let mut state = self.shared.state.lock();
            state.trouble = None;
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

    /// `failed` learns the outcome; everything that was accepted after it is discarded, and a new epoch begins.
    fn fail(&mut self, failed: VecDeque<Queued>, outcome: Outcome, rest: VecDeque<Queued>) {
        self.reconnected = false;
        let (garbage, (queued, waiting)) = {
            let mut state = self.shared.state.lock();
            if let Outcome::Unavailable(reason) = &outcome {
                state.trouble = Some(reason.clone());
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

    /// Accepts nothing until the database can be asked again; then begins anew from what it says.
    async fn lose_outcome(&mut self, lost: VecDeque<Queued>, rest: VecDeque<Queued>, id: Arc<str>) {
        self.shared.state.lock().closed = Some("the connection to the database is lost".to_owned());
        self.shared.counts.reset(ResetCause::StorageFailure);
        // Perhaps they are on disk: their versions are not used again.
        self.written = self.written.max(lost.back().map_or(0, |queued| queued.accepted.version));
        self.fail(lost, Outcome::Unknown, rest);
        while let Err(error) = self.shared.database.batch_exists(&id).await {
            if self.shared.state.lock().stopping {
                return;
            }
            tracing::error!(%error, "the database cannot be reached");
            sleep(Duration::from_millis(OUTCOME_RETRY_MS)).await;
        }
        self.send_out(None);
        if let Some(follower) = self.shared.credentials.get() {
            follower(None);
        }
        let mut state = self.shared.state.lock();
        // Calls may have filled the overlay from before the commit, if it took place after all.
        let garbage = state.overlay.begin_epoch();
        if !state.stopping {
            state.closed = None;
        }
        drop(state);
        drop(garbage);
    }
}
