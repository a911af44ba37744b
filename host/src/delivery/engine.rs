//! The loop around the scheduler: news of commits and ends of attempts go in, attempts come out, decisions are written.
//!
//! One task; nothing in it waits for a receiver. Invariants: everything that it heard is told to the scheduler before
//! anything is started; rows are read only when everything that was decided before is written; between two times that it
//! takes in notifications it reads the rows of a bounded number of lanes.
//!
//! - `follow`: notifications of commits, and catching up where some were missed.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{Notify, broadcast, mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};

use super::{
    Parts,
    attempt::{self, Ended, Job},
    bodies::Bodies,
    change::{Change, change},
    fan_out::Made,
    lanes::Lanes,
    record::Recorder,
    schedule::{self, Caps, Decision, FreshRow, LaneId, Load, Outcome, RetryRow, Rows, Scheduler, Start, Subject},
    views::Question,
};
use crate::{
    changes::endpoint::Disabled,
    commit::committer::News,
    db::{
        DbError,
        apply::{EventSeq, Lane},
        deliveries::{AttemptRow, Then},
    },
    limits::{DELIVERY_LOADS_AT_ONCE_MAX, ENDED_AT_ONCE_MAX, POLICY_LOOK_MS},
    stop::told,
};

mod follow;

use follow::Follow;

pub struct Engine {
    parts: Parts,
    scheduler: Scheduler,
    lanes: Lanes,
    bodies: Bodies,
    /// Lanes of which something was wanted again while an attempt was under way: it may have been that one.
    wanted_again: HashSet<Lane>,
    recorder: Recorder,
    notifications: broadcast::Receiver<Arc<News>>,
    follow: Follow,
    fan_out: FanOutEnds,
    ended: (mpsc::UnboundedSender<Ended>, mpsc::UnboundedReceiver<Ended>),
    questions: mpsc::Receiver<Question>,
}

/// The engine's ends of the worker that makes deliveries after their batch.
pub struct FanOutEnds {
    pub wake: Arc<Notify>,
    pub made: mpsc::Receiver<Made>,
}

impl Engine {
    /// All endpoints are known when it returns; what they have waiting is read as they get to it.
    pub async fn open(
        parts: Parts,
        recorder: Recorder,
        questions: mpsc::Receiver<Question>,
        fan_out: FanOutEnds,
    ) -> Result<Engine, DbError> {
        // Before the endpoints are read: what is committed meanwhile is heard.
        let notifications = parts.committer.follow();
        let scheduler = Scheduler::new(Caps::default(), parts.clock.now());
        let (lanes, bodies) = (Lanes::default(), Bodies::default());
        let ended = mpsc::unbounded_channel();
        let (wanted_again, follow) = (HashSet::new(), Follow::default());
        let mut engine = Engine {
            parts,
            scheduler,
            lanes,
            bodies,
            wanted_again,
            recorder,
            notifications,
            follow,
            fan_out,
            ended,
            questions,
        };
        engine.reload().await?;
        Ok(engine)
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut look = interval(Duration::from_millis(POLICY_LOOK_MS));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut ended, mut moves) = (Vec::new(), self.parts.clock.moves());
        loop {
            self.receive_notifications();
            self.catch_up().await;
            self.go_on().await;
            let wait = self.scheduler.wake_at().map(|at| at.saturating_sub(self.parts.clock.now()));
            let (catch_up_at, is_followed) = (self.follow.catch_up_at(), self.follow.is_open());
            tokio::select! {
                biased;
                () = told(&mut stopped) => break,
                notification = self.notifications.recv(), if is_followed => self.on_notification(notification),
                Some(made) = self.fan_out.made.recv() => self.take_made(&made),
                _ = self.ended.1.recv_many(&mut ended, ENDED_AT_ONCE_MAX) => {
                    for ended in ended.drain(..) {
                        self.conclude(ended).await;
                    }
                }
                Some(question) = self.questions.recv() => question.answer(&self.scheduler),
                () = pause(wait) => {}
                () = pause_until(catch_up_at) => {}
                () = moves.next() => {}
                _ = look.tick() => self.refresh(),
            }
        }
        self.recorder.settle().await;
    }

    /// Starts what may start, and reads what the scheduler wants to know.
    pub(super) async fn go_on(&mut self) {
        let now = self.parts.clock.now();
        while let Some(start) = self.scheduler.next(now) {
            self.start(start);
        }
        let mut settled = false;
        for _ in 0..DELIVERY_LOADS_AT_ONCE_MAX {
            let Some(load) = self.scheduler.wants(now) else { break };
            if !std::mem::replace(&mut settled, true) {
                self.recorder.settle().await;
            }
            self.load(&load).await;
        }
        if settled {
            while let Some(start) = self.scheduler.next(now) {
                self.start(start);
            }
        }
        let (counts, metrics) = (self.scheduler.counts(), &self.parts.metrics);
        metrics.set_waiting(counts.held, counts.first_in_flight + counts.retries_in_flight);
    }

    /// Takes the next read of rows from the scheduler; returns false if there is none.
    #[cfg(test)]
    pub(super) fn take_load(&mut self) -> bool {
        self.scheduler.wants(self.parts.clock.now()).is_some()
    }

    #[expect(clippy::disallowed_methods, reason = "one task for each attempt; the scheduler bounds them")]
    fn start(&mut self, Start { lane, seq, .. }: Start) {
        let (lane, seq) = (lane.cast_signed(), seq.cast_signed());
        let Some(facts) = self.lanes.find(lane).cloned() else {
            self.scheduler.finished(
                lane.cast_unsigned(),
                seq.cast_unsigned(),
                Outcome::Missing,
                self.parts.clock.now(),
            );
            return;
        };
        let job = Job { lane, seq, facts, event: self.bodies.find(seq) };
        let (parts, ended) = (self.parts.clone(), self.ended.0.clone());
        tokio::spawn(async move {
            // Nobody hears it where the host stops: the attempt is made again.
            let _ = ended.send(attempt::perform(&parts, job).await);
        });
    }

    async fn load(&mut self, load: &Load) {
        let (database, lane) = (&self.parts.database, load.lane.cast_signed());
        let limit = u32::try_from(load.limit).unwrap_or(u32::MAX);
        let now = self.parts.clock.now();
        let done = match load.rows {
            Rows::Fresh { from } => database.find_fresh(lane, signed(from), limit).await.map(|found| {
                let rows = found.iter().map(|row| fresh_row(row.event, &row.subject));
                self.scheduler.loaded_fresh(load, &rows.collect::<Vec<_>>(), now);
            }),
            Rows::Retries { due_from } => database.find_due(lane, due_from, limit).await.map(|found| {
                let rows = found.iter().map(|row| RetryRow {
                    seq: row.event.cast_unsigned(),
                    attempt: row.attempts.saturating_add(1),
                    due: row.due,
                });
                self.scheduler.loaded_retries(load, &rows.collect::<Vec<_>>(), now);
            }),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "deliveries cannot be read yet");
            self.scheduler.load_failed(load, now);
        }
    }

    /// Drops idle connections and old bodies. Rereads the policies, which plugins.toml may have changed.
    fn refresh(&mut self) {
        let now = self.parts.clock.now();
        for (lane, settings) in self.lanes.change_policies(|plugin| (self.parts.policies)(plugin)) {
            self.scheduler.change_lane(lane.cast_unsigned(), settings, now);
        }
        self.bodies.drop_old(now);
        self.parts.client.close_idle();
    }

    async fn conclude(&mut self, ended: Ended) {
        let now = self.parts.clock.now();
        let Ended { lane, seq, at, duration_ms, name, status, answer, outcome, committed_at } = ended;
        self.bodies.release(seq);
        let finished = self.scheduler.finished(lane.cast_unsigned(), seq.cast_unsigned(), outcome, now);
        if self.wanted_again.contains(&lane) && !self.is_busy(lane) {
            self.wanted_again.remove(&lane);
            self.scheduler.look_again(lane.cast_unsigned(), now);
        }
        let then = match finished.delivery {
            Decision::Delivered => Then::Delivered,
            Decision::Retry { at } => Then::RetryAt(at),
            Decision::Exhausted => Then::GivenUp,
            Decision::Unchanged | Decision::Dropped => return,
        };
        self.parts.metrics.attempt(name, now.saturating_sub(committed_at), then == Then::Delivered);
        let row = AttemptRow { lane, event: seq, at, duration_ms, outcome: name, status, answer, then };
        self.recorder.attempt(row).await;
        if self.lanes.note_failing(lane, finished.failing_since) {
            self.recorder.health(lane, finished.failing_since).await;
        }
        if let Some(reason) = finished.disabled {
            self.disable(lane, reason);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a commit that the loop does not wait for; it ends by itself")]
    fn disable(&self, lane: Lane, reason: schedule::Disabled) {
        let (Some(facts), now) = (self.lanes.find(lane).cloned(), self.parts.clock.now()) else { return };
        let reason = match reason {
            schedule::Disabled::Gone => "it answered 410: it is gone".to_owned(),
            schedule::Disabled::Failing { since } => {
                format!("it has done nothing but fail for {} hours", now.saturating_sub(since) / 3_600_000)
            }
        };
        tracing::warn!(endpoint = &*facts.id, tenant = &**facts.scope.tenant(), reason, "an endpoint is disabled");
        let committer = self.parts.committer.clone();
        tokio::spawn(async move {
            let disable = Change::Disable(Disabled { at: now, reason });
            if let Err(error) = change(&committer, &facts.scope, &facts.id, &disable, now).await {
                tracing::error!(endpoint = &*facts.id, %error, "an endpoint could not be marked as disabled");
            }
        });
    }
}

/// Until then; for ever where there is nothing to wait for.
async fn pause(milliseconds: Option<u64>) {
    match milliseconds {
        Some(0) => tokio::task::yield_now().await,
        Some(milliseconds) => sleep(Duration::from_millis(milliseconds)).await,
        None => std::future::pending().await,
    }
}

async fn pause_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn signed(seq: u64) -> EventSeq {
    i64::try_from(seq).unwrap_or(EventSeq::MAX)
}

fn fresh_row(seq: EventSeq, subject: &str) -> FreshRow {
    FreshRow { seq: seq.cast_unsigned(), subject: hash_of(subject) }
}

/// Two subjects with one hash only wait for each other.
fn hash_of(subject: &str) -> Subject {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    hasher.finish()
}

const _: () = assert!(size_of::<LaneId>() == size_of::<Lane>());
