//! Writes the outcomes of attempts: many in one transaction, in the order in which the attempts ended.
//!
//! After each transaction the task pauses, so that outcomes collect: a transaction writes at least one page for each
//! endpoint, regardless of the number of outcomes.
//!
//! The task retries failed writes until the host stops. While the database cannot be written, outcomes wait in the
//! channel. When the channel is full, the engine starts no attempts. A delivery whose outcome is not written when the
//! process ends is sent again.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    clock::Timestamp,
    db::{
        Database,
        apply::{EventSeq, QueueId},
        deliveries::{AttemptRow, EndpointHealth},
    },
    limits::{ATTEMPTS_RECORDED_MAX, ATTEMPTS_WAITING_MAX, RECORD_COLLECT_MS, RECORD_PAUSE_MS},
};

enum Entry {
    Attempt(AttemptRow),
    Health(EndpointHealth),
    /// Completes when all earlier entries are written.
    Flush(oneshot::Sender<()>),
}

/// The engine's channel to the task.
pub struct Recorder {
    entries: mpsc::Sender<Entry>,
    /// Ends the pause of the task.
    flush: Arc<Notify>,
}

/// The task that writes outcomes.
pub struct RecorderTask {
    database: Database,
    entries: mpsc::Receiver<Entry>,
    flush: Arc<Notify>,
}

impl Recorder {
    pub fn new(database: Database) -> (Recorder, RecorderTask) {
        let (sender, entries) = mpsc::channel(ATTEMPTS_WAITING_MAX);
        let flush = Arc::new(Notify::new());
        (Recorder { entries: sender, flush: flush.clone() }, RecorderTask { database, entries, flush })
    }

    /// Records an attempt. Waits while the channel is full.
    pub async fn attempt(&self, row: AttemptRow) {
        // The task ends only when the host does.
        let _ = self.entries.send(Entry::Attempt(row)).await;
    }

    pub async fn health(&self, queue: QueueId, failing_since: Option<Timestamp>) {
        let _ = self.entries.send(Entry::Health(EndpointHealth { queue, failing_since })).await;
    }

    /// Returns when all earlier entries are written, or dropped because a write failed during shutdown.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.entries.send(Entry::Flush(done)).await.is_ok() {
            self.flush.notify_one();
            let _ = flushed.await;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.flush.notify_one();
    }
}

/// The entries of one transaction.
#[derive(Default)]
struct Batch {
    attempts: Vec<AttemptRow>,
    keys: HashSet<(QueueId, EventSeq)>,
    health: Vec<EndpointHealth>,
    waiters: Vec<oneshot::Sender<()>>,
}

impl Batch {
    /// Returns false for a second attempt of a delivery. Its number depends on the previous one, so it needs another
    /// transaction.
    fn accepts(&self, entry: &Entry) -> bool {
        !matches!(entry, Entry::Attempt(row) if self.keys.contains(&(row.queue, row.event)))
    }

    fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Attempt(row) => {
                self.keys.insert((row.queue, row.event));
                self.attempts.push(row);
            }
            Entry::Health(row) => self.health.push(row),
            Entry::Flush(done) => self.waiters.push(done),
        }
    }
}

impl RecorderTask {
    /// Runs until the engine has ended and everything is written. During shutdown it does not retry failed writes.
    pub async fn run(mut self, stopped: watch::Receiver<bool>) {
        let mut entries = Vec::new();
        while self.entries.recv_many(&mut entries, ATTEMPTS_RECORDED_MAX).await > 0 {
            let (is_full, mut batch) = (entries.len() >= ATTEMPTS_RECORDED_MAX, Batch::default());
            for entry in entries.drain(..) {
                if !batch.accepts(&entry) {
                    self.write(std::mem::take(&mut batch), &stopped).await;
                }
                batch.push(entry);
            }
            self.write(batch, &stopped).await;
            if !is_full {
                self.wait_for_more().await;
            }
        }
    }

    /// Waits for more entries. Returns early if the engine waits for a flush or has ended.
    async fn wait_for_more(&self) {
        let until = Instant::now() + Duration::from_millis(RECORD_COLLECT_MS);
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.flush.notified() => {}
        }
    }

    async fn write(&self, batch: Batch, stopped: &watch::Receiver<bool>) {
        while let Err(error) = self.database.record_attempts(&batch.attempts, &batch.health).await {
            tracing::error!(%error, "failed to write the outcomes of webhooks; trying again");
            if *stopped.borrow() {
                return;
            }
            sleep(Duration::from_millis(RECORD_PAUSE_MS)).await;
        }
        for done in batch.waiters {
            // The caller may be gone.
            let _ = done.send(());
        }
    }
}
