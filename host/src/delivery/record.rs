//! What attempts came to, written down: many in one transaction, in the order in which they ended.
//!
//! After each transaction the task rests, so that outcomes collect: a transaction writes a page or more for each endpoint, however many
//! outcomes it holds.
//!
//! Never gives up: while the database cannot be written, outcomes wait here, and the engine, whose channel is full, starts
//! nothing more. What is not written when the process ends is sent again.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::clock::Timestamp;
use crate::{
    db::{
        Database,
        apply::{EventSeq, Lane},
        deliveries::{AttemptRow, Health},
    },
    limits::{ATTEMPTS_RECORDED_MAX, ATTEMPTS_WAITING_MAX, RECORD_COLLECT_MS, RECORD_PAUSE_MS},
};

enum Note {
    Attempt(AttemptRow),
    Health(Health),
    /// Told when everything before it is written.
    Mark(oneshot::Sender<()>),
}

/// What the engine writes to.
pub struct Recorder {
    notes: mpsc::Sender<Note>,
    /// Ends the rest of the task.
    flush: Arc<Notify>,
}

/// The task that writes.
pub struct RecorderTask {
    database: Database,
    notes: mpsc::Receiver<Note>,
    flush: Arc<Notify>,
}

impl Recorder {
    pub fn new(database: Database) -> (Recorder, RecorderTask) {
        let (sender, notes) = mpsc::channel(ATTEMPTS_WAITING_MAX);
        let flush = Arc::new(Notify::new());
        (Recorder { notes: sender, flush: flush.clone() }, RecorderTask { database, notes, flush })
    }

    /// Waits where too much is waiting already.
    pub async fn attempt(&self, row: AttemptRow) {
        // The task ends only when the host does.
        let _ = self.notes.send(Note::Attempt(row)).await;
    }

    pub async fn health(&self, lane: Lane, failing_since: Option<Timestamp>) {
        let _ = self.notes.send(Note::Health(Health { lane, failing_since })).await;
    }

    /// Returns when everything that was noted before is written.
    pub async fn settle(&self) {
        let (told, done) = oneshot::channel();
        if self.notes.send(Note::Mark(told)).await.is_ok() {
            self.flush.notify_one();
            let _ = done.await;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.flush.notify_one();
    }
}

/// What is written in one transaction.
#[derive(Default)]
struct Page {
    attempts: Vec<AttemptRow>,
    known: HashSet<(Lane, EventSeq)>,
    health: Vec<Health>,
    marks: Vec<oneshot::Sender<()>>,
}

impl Page {
    /// Each attempt of a delivery counts on from the one before it: two of them need two transactions.
    fn takes(&self, note: &Note) -> bool {
        !matches!(note, Note::Attempt(row) if self.known.contains(&(row.lane, row.event)))
    }

    fn put(&mut self, note: Note) {
        match note {
            Note::Attempt(row) => {
                self.known.insert((row.lane, row.event));
                self.attempts.push(row);
            }
            Note::Health(row) => self.health.push(row),
            Note::Mark(told) => self.marks.push(told),
        }
    }
}

impl RecorderTask {
    /// Until the engine has ended and everything is written; a host that stops does not wait for a database that fails.
    pub async fn run(mut self, stopped: watch::Receiver<bool>) {
        let mut notes = Vec::new();
        while self.notes.recv_many(&mut notes, ATTEMPTS_RECORDED_MAX).await > 0 {
            let (is_full, mut page) = (notes.len() >= ATTEMPTS_RECORDED_MAX, Page::default());
            for note in notes.drain(..) {
                if !page.takes(&note) {
                    self.write(std::mem::take(&mut page), &stopped).await;
                }
                page.put(note);
            }
            self.write(page, &stopped).await;
            if !is_full {
                self.wait_for_more().await;
            }
        }
    }

    /// Ends early if the engine waits for what it noted, or has ended.
    async fn wait_for_more(&self) {
        let until = Instant::now() + Duration::from_millis(RECORD_COLLECT_MS);
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.flush.notified() => {}
        }
    }

    async fn write(&self, page: Page, stopped: &watch::Receiver<bool>) {
        while let Err(error) = self.database.record_attempts(&page.attempts, &page.health).await {
            tracing::error!(%error, "what became of webhooks cannot be written yet");
            if *stopped.borrow() {
                return;
            }
            sleep(Duration::from_millis(RECORD_PAUSE_MS)).await;
        }
        for told in page.marks {
            // Who asked may be gone.
            let _ = told.send(());
        }
    }
}
