//! The loop around the scheduler: news of commits and ends of attempts go in, attempts come out, decisions are written.
//!
//! One task; nothing in it waits for a receiver. Invariants: everything that it heard is told to the scheduler before
//! anything is started; rows are read only when everything that was decided before is written.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        mpsc, watch,
    },
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    Parts,
    attempt::{self, Ended, Job},
    bodies::Bodies,
    change::{Change, change},
    lanes::{LaneFacts, Lanes},
    record::Recorder,
    schedule::{
        self, Caps, Decision, FreshRow, LaneId, Load, Opening, Outcome, RetryRow, Rows, Scheduler, Start, Subject,
    },
    views::Question,
};
use crate::{
    changes::{
        committer::News,
        endpoint::{Disabled, Endpoint},
    },
    db::{
        DbError,
        apply::{EventSeq, HostRecord, Lane, Outgoing, StoredEvent},
        deliveries::{AttemptRow, Then},
        model::ENDPOINTS,
    },
    limits::{ENDED_AT_ONCE_MAX, POLICY_LOOK_MS},
    stop::told,
};

pub struct Engine {
    parts: Parts,
    scheduler: Scheduler,
    lanes: Lanes,
    bodies: Bodies,
    /// Lanes of which something was wanted again while an attempt was under way: it may have been that one.
    wanted_again: HashSet<Lane>,
    recorder: Recorder,
    news: broadcast::Receiver<Arc<News>>,
    ended: (mpsc::UnboundedSender<Ended>, mpsc::UnboundedReceiver<Ended>),
    questions: mpsc::Receiver<Question>,
}

impl Engine {
    /// All endpoints are known when it returns; what they have waiting is read as they get to it.
    pub async fn open(
        parts: Parts,
        recorder: Recorder,
        questions: mpsc::Receiver<Question>,
    ) -> Result<Engine, DbError> {
        // Before the endpoints are read: what is committed meanwhile is heard.
        let news = parts.committer.follow();
        let scheduler = Scheduler::new(Caps::default(), parts.clock.now());
        let (lanes, bodies) = (Lanes::default(), Bodies::default());
        let ended = mpsc::unbounded_channel();
        let mut engine =
            Engine { parts, scheduler, lanes, bodies, wanted_again: HashSet::new(), recorder, news, ended, questions };
        engine.reload().await?;
        Ok(engine)
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut look = interval(Duration::from_millis(POLICY_LOOK_MS));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut ended, mut moves) = (Vec::new(), self.parts.clock.moves());
        loop {
            self.go_on().await;
            let wait = self.scheduler.wake_at().map(|at| at.saturating_sub(self.parts.clock.now()));
            tokio::select! {
                biased;
                () = told(&mut stopped) => break,
                news = self.news.recv() => self.hear(news).await,
                _ = self.ended.1.recv_many(&mut ended, ENDED_AT_ONCE_MAX) => {
                    for ended in ended.drain(..) {
                        self.conclude(ended).await;
                    }
                }
                Some(question) = self.questions.recv() => question.answer(&self.scheduler),
                () = pause(wait) => {}
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
        while let Some(load) = self.scheduler.wants(now) {
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

    async fn hear(&mut self, news: Result<Arc<News>, RecvError>) {
        match news.as_deref() {
            Ok(News::Durable(outgoing)) => self.take(outgoing),
            Ok(News::Unknown) | Err(RecvError::Lagged(_)) => {
                if let Err(error) = self.reload().await {
                    tracing::error!(%error, "endpoints cannot be read: deliveries may wait until the next change");
                }
            }
            // The committer is gone, and the host with it.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    fn take(&mut self, outgoing: &Outgoing) {
        let now = self.parts.clock.now();
        for record in outgoing.host_records.iter().filter(|record| &*record.collection == ENDPOINTS) {
            self.change(record, false);
        }
        for event in &outgoing.events {
            self.bodies.keep(event);
            self.offer(event);
        }
        for lane in &outgoing.ordered {
            self.scheduler.look_again(lane.cast_unsigned(), now);
            if self.is_busy(*lane) {
                self.wanted_again.insert(*lane);
            }
        }
    }

    fn is_busy(&self, lane: Lane) -> bool {
        self.scheduler.view(lane.cast_unsigned()).is_some_and(|view| view.in_flight > 0)
    }

    fn offer(&mut self, event: &StoredEvent) {
        let (now, row) = (self.parts.clock.now(), fresh_row(event.seq, &event.subject));
        for lane in &event.lanes {
            self.scheduler.offer(lane.cast_unsigned(), row, now);
        }
    }

    /// An endpoint that was made, changed or removed. `has_stored`: deliveries of it may be waiting.
    fn change(&mut self, record: &HostRecord, has_stored: bool) {
        let (Some(lane), now) = (record.lane, self.parts.clock.now()) else { return };
        let id = lane.cast_unsigned();
        let Some(body) = &record.body else {
            self.lanes.remove(lane);
            return self.scheduler.close_lane(id, now);
        };
        let endpoint = match Endpoint::parse(body) {
            Ok(endpoint) => endpoint,
            Err(error) => return tracing::error!(endpoint = &*record.id, %error, "an endpoint cannot be read"),
        };
        let (enabled, scope) = (endpoint.is_active(), record.scope.clone());
        let policy = self.lanes.policy(scope.plugin(), (self.parts.policies)(scope.plugin()));
        let settings = policy.settings.clone();
        let tenant = self.lanes.tenant(&scope);
        let facts = LaneFacts::new(scope, record.id.clone(), endpoint, &self.parts.outside.addresses, policy);
        let is_new = self.lanes.find(lane).is_none();
        self.lanes.put(lane, facts);
        if is_new {
            let opening = Opening { tenant, settings, enabled, failing_since: record.failing_since, has_stored };
            self.scheduler.open_lane(id, opening, now);
        } else if enabled {
            self.scheduler.enable_lane(id, now);
        } else {
            self.scheduler.disable_lane(id, now);
        }
    }

    /// Everything anew from the database: at the start, and where news was missed.
    async fn reload(&mut self) -> Result<(), DbError> {
        self.recorder_is_behind().await;
        let found = self.parts.database.list_endpoints().await?;
        self.bodies.clear();
        let now = self.parts.clock.now();
        let there: HashSet<Lane> = found.iter().filter_map(|record| record.lane).collect();
        for lane in self.lanes.all().into_iter().filter(|lane| !there.contains(lane)) {
            self.lanes.remove(lane);
            self.scheduler.close_lane(lane.cast_unsigned(), now);
        }
        for record in &found {
            self.change(record, true);
        }
        for lane in self.lanes.all() {
            self.scheduler.look_again(lane.cast_unsigned(), now);
        }
        Ok(())
    }

    /// What was decided is written before rows are read.
    async fn recorder_is_behind(&self) {
        if !self.lanes.all().is_empty() {
            self.recorder.settle().await;
        }
    }

    /// The policy of a plugin may have changed with plugins.toml.
    fn refresh(&mut self) {
        let now = self.parts.clock.now();
        for (lane, settings) in self.lanes.change_policies(|plugin| (self.parts.policies)(plugin)) {
            self.scheduler.change_lane(lane.cast_unsigned(), settings, now);
        }
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
        Some(milliseconds) => sleep(Duration::from_millis(milliseconds)).await,
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
