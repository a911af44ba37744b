//! What attempts came to, written down: many in one transaction, in the order in which they ended.
//!
//! Never gives up: while the database cannot be written, outcomes wait here, and the engine, whose channel is full, starts
//! nothing more. What is not written when the process ends is sent again.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

use crate::{
    changes::change_set::Timestamp,
    db::{
        Database,
        apply::Lane,
        deliveries::{AttemptRow, Health},
    },
    limits::{ATTEMPTS_RECORDED_MAX, ATTEMPTS_WAITING_MAX, RECORD_PAUSE_MS},
};

enum Note {
    Attempt(AttemptRow),
    Health(Health),
    /// Told when everything before it is written.
    Mark(oneshot::Sender<()>),
}

/// What the engine writes to.
pub struct Recorder(mpsc::Sender<Note>);

/// The task that writes.
pub struct RecorderTask {
    database: Database,
    notes: mpsc::Receiver<Note>,
}

impl Recorder {
    pub fn new(database: Database) -> (Recorder, RecorderTask) {
        let (sender, notes) = mpsc::channel(ATTEMPTS_WAITING_MAX);
        (Recorder(sender), RecorderTask { database, notes })
    }

    /// Waits where too much is waiting already.
    pub async fn attempt(&self, row: AttemptRow) {
        // The task ends only when the host does.
        let _ = self.0.send(Note::Attempt(row)).await;
    }

    pub async fn health(&self, lane: Lane, failing_since: Option<Timestamp>) {
        let _ = self.0.send(Note::Health(Health { lane, failing_since })).await;
    }

    /// Returns when everything that was noted before is written.
    pub async fn settle(&self) {
        let (told, done) = oneshot::channel();
        if self.0.send(Note::Mark(told)).await.is_ok() {
            let _ = done.await;
        }
    }
}

impl RecorderTask {
    /// Until the engine has ended and everything is written; a host that stops does not wait for a database that fails.
    pub async fn run(mut self, stopped: watch::Receiver<bool>) {
        let mut notes = Vec::new();
        while self.notes.recv_many(&mut notes, ATTEMPTS_RECORDED_MAX).await > 0 {
            let (mut attempts, mut health, mut marks) = (Vec::new(), Vec::new(), Vec::new());
            for note in notes.drain(..) {
                match note {
                    Note::Attempt(row) => attempts.push(row),
                    Note::Health(row) => health.push(row),
                    Note::Mark(told) => marks.push(told),
                }
            }
            while let Err(error) = self.database.record_attempts(&attempts, &health).await {
                tracing::error!(%error, "what became of webhooks cannot be written yet");
                if *stopped.borrow() {
                    return;
                }
                sleep(Duration::from_millis(RECORD_PAUSE_MS)).await;
            }
            for told in marks {
                let _ = told.send(());
            }
        }
    }
}
