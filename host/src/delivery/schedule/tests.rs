use std::sync::Arc;

use super::*;
use crate::limits;

mod breaker;
mod fairness;
mod look_again;
mod rules;
mod simulation;
mod stored;

const MINUTE: u64 = 60_000;
const FAILED: Outcome = Outcome::Failed { retry_after_ms: None };

/// A schedule of two retries without jitter, and no disabling.
fn settings() -> LaneSettings {
    LaneSettings {
        schedule: RetrySchedule::new(vec![5 * MINUTE, 10 * MINUTE], 0),
        disable_after_ms: None,
        ..LaneSettings::default()
    }
}

fn opening(tenant: TenantId, settings: LaneSettings) -> Opening {
    Opening { tenant, settings: Arc::new(settings), enabled: true, failing_since: None, has_stored: false }
}

/// A row that waits for its first retry.
fn retry(seq: Seq, due: Timestamp) -> RetryRow {
    RetryRow { seq, attempt: 2, due }
}

/// The scheduler with a time that the test moves; deliveries of different subjects.
struct Desk {
    scheduler: Scheduler,
    now: Timestamp,
}

impl Desk {
    fn new() -> Desk {
        Desk::with(Caps::default())
    }

    /// The horizon is a day, unless a test is about it.
    fn with(caps: Caps) -> Desk {
        Desk { scheduler: Scheduler::new(Caps { horizon_ms: 1_440 * MINUTE, ..caps }, 7), now: 1_000 }
    }

    /// One lane, number 1, of tenant 1.
    fn lane(settings: LaneSettings) -> Desk {
        let mut desk = Desk::new();
        desk.open(1, 1, settings);
        desk
    }

    fn open(&mut self, lane: LaneId, tenant: TenantId, settings: LaneSettings) {
        self.scheduler.open_lane(lane, opening(tenant, settings), self.now);
    }

    fn offer(&mut self, lane: LaneId, seqs: impl IntoIterator<Item = Seq>) {
        for seq in seqs {
            self.offer_of(lane, seq, 1_000_000 + seq);
        }
    }

    fn offer_of(&mut self, lane: LaneId, seq: Seq, subject: Subject) {
        self.scheduler.offer(lane, FreshRow { seq, subject }, self.now);
    }

    /// What the database has of a lane by now: rows that wait for attempt 2, the earliest first. All that is asked for is
    /// answered.
    fn stored(&mut self, lane: LaneId, rows: &[(Seq, Timestamp)]) {
        self.scheduler.look_again(lane, self.now);
        while let Some(load) = self.scheduler.wants(self.now) {
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

    /// The sequence numbers of all that starts now.
    fn starts(&mut self) -> Vec<Seq> {
        std::iter::from_fn(|| self.scheduler.next(self.now)).map(|start| start.seq).collect()
    }

    fn finish(&mut self, lane: LaneId, seq: Seq, outcome: Outcome) -> Finished {
        self.scheduler.finished(lane, seq, outcome, self.now)
    }

    /// Starts the next attempt and lets it end so.
    fn attempt(&mut self, outcome: Outcome) -> Finished {
        let start = self.next().expect("something starts");
        self.finish(start.lane, start.seq, outcome)
    }

    fn later(&mut self, ms: u64) {
        self.now += ms;
    }
}
