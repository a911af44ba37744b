use std::sync::Arc;

use super::*;
use crate::limits;

mod breaker;
mod fairness;
mod reread;
mod rules;
mod simulation;
mod stored;

const MINUTE: u64 = 60_000;
/// The queue of tests that need only one.
const QUEUE: QueueId = QueueId(1);
const FAILED: Outcome = Outcome::Failed { retry_after_ms: None };

fn queue_id(number: u64) -> QueueId {
    QueueId(number.cast_signed())
}

/// Returns settings with two retries and no jitter. Failures never disable the queue.
fn settings() -> QueueSettings {
    QueueSettings {
        schedule: RetrySchedule::new(vec![5 * MINUTE, 10 * MINUTE], 0),
        disable_after_ms: None,
        ..QueueSettings::default()
    }
}

fn opening(tenant: TenantId, settings: QueueSettings) -> Opening {
    Opening { tenant, settings: Arc::new(settings), enabled: true, failing_since: None, has_stored: false }
}

/// Returns a row that waits for its first retry.
fn retry(seq: Seq, due: Timestamp) -> RetryRow {
    RetryRow { seq, attempt: 2, due }
}

/// The scheduler with a clock that the test sets, and deliveries with different subjects.
struct Bench {
    scheduler: Scheduler,
    now: Timestamp,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Caps::default())
    }

    /// Creates a bench whose horizon is a day.
    fn with(caps: Caps) -> Bench {
        Bench { scheduler: Scheduler::new(Caps { horizon_ms: 1_440 * MINUTE, ..caps }, 7), now: 1_000 }
    }

    /// Creates a bench with `QUEUE` of tenant 1.
    fn with_queue(settings: QueueSettings) -> Bench {
        let mut bench = Bench::new();
        bench.open(QUEUE, 1, settings);
        bench
    }

    fn open(&mut self, queue: QueueId, tenant: TenantId, settings: QueueSettings) {
        self.scheduler.open_queue(queue, opening(tenant, settings), self.now);
    }

    fn offer(&mut self, queue: QueueId, seqs: impl IntoIterator<Item = Seq>) {
        for seq in seqs {
            self.offer_with_subject(queue, seq, 1_000_000 + seq);
        }
    }

    fn offer_with_subject(&mut self, queue: QueueId, seq: Seq, subject: Subject) {
        self.scheduler.offer(queue, FreshRow { seq, subject }, self.now);
    }

    /// Sets the stored rows of a queue, which wait for attempt 2, the earliest first. Completes all loads with them.
    fn load_rows(&mut self, queue: QueueId, rows: &[(Seq, Timestamp)]) {
        self.scheduler.reread(queue, self.now);
        while let Some(load) = self.scheduler.next_load(self.now) {
            match load.rows {
                Rows::Fresh { .. } => self.scheduler.loaded_fresh(&load, &[], self.now),
                Rows::Retries { due_from } => {
                    let page = rows.iter().filter(|(_, due)| *due >= due_from).take(load.limit);
                    let page: Vec<RetryRow> = page.map(|(seq, due)| retry(*seq, *due)).collect();
                    self.scheduler.loaded_retries(&load, &page, self.now);
                }
            }
        }
    }

    fn held(&self) -> usize {
        self.scheduler.counts().held
    }

    fn next(&mut self) -> Option<Start> {
        self.scheduler.next(self.now)
    }

    /// Starts everything that may start now and returns the sequence numbers.
    fn starts(&mut self) -> Vec<Seq> {
        std::iter::from_fn(|| self.scheduler.next(self.now)).map(|start| start.seq).collect()
    }

    fn finish(&mut self, queue: QueueId, seq: Seq, outcome: Outcome) -> FinishedAttempt {
        self.scheduler.finish(queue, seq, outcome, self.now)
    }

    /// Starts the next attempt and ends it with the outcome.
    fn attempt(&mut self, outcome: Outcome) -> FinishedAttempt {
        let start = self.next().expect("something starts");
        self.finish(start.queue, start.seq, outcome)
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
    }
}
