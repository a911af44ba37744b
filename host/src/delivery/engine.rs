//! The loop around the scheduler. Commits and ended attempts are its input. It starts attempts and writes decisions.
//!
//! The engine is a single task that never waits for a webhook receiver. Invariants: it passes everything that it has
//! received to the scheduler before it starts an attempt. It reads rows only after all earlier decisions are written.
//! Between two polls of the notifications it reads the rows of a bounded number of queues.
//!
//! - `follow`: notifications of commits, and catching up after some were missed.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{Notify, broadcast, mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};

use super::{
    DeliveryParts,
    attempt::{self, AttemptJob, AttemptResult},
    command::{EndpointCommand, apply_command},
    event_cache::EventCache,
    fan_out::FanOutResult,
    queues::Queues,
    record::Recorder,
    schedule::{self, Caps, Decision, FreshRow, Load, Outcome, RetryRow, Rows, Scheduler, Start, Subject},
    views::ViewRequest,
};
use crate::{
    changes::endpoint::Disabled,
    commit::committer::CommitNotification,
    db::{
        DbError,
        apply::{EventSeq, QueueId},
        deliveries::{AttemptRow, DeliveryTransition},
    },
    limits::{DELIVERY_LOADS_AT_ONCE_MAX, ENDED_AT_ONCE_MAX, POLICY_POLL_MS},
    shutdown::requested,
};

mod follow;

use follow::Follow;

pub struct Engine {
    parts: DeliveryParts,
    scheduler: Scheduler,
    queues: Queues,
    event_cache: EventCache,
    /// Queues that were reread while attempts were in flight. A queue is reread again once none of its attempts is in
    /// flight, because the change may concern their deliveries.
    reread_after_attempt: HashSet<QueueId>,
    recorder: Recorder,
    notifications: broadcast::Receiver<Arc<CommitNotification>>,
    follow: Follow,
    fan_out: FanOutEnds,
    results: (mpsc::UnboundedSender<AttemptResult>, mpsc::UnboundedReceiver<AttemptResult>),
    view_requests: mpsc::Receiver<ViewRequest>,
}

/// The engine's channels to the task that creates deliveries after their batch.
pub struct FanOutEnds {
    pub wake: Arc<Notify>,
    pub results: mpsc::Receiver<FanOutResult>,
}

impl Engine {
    /// Reads all endpoints. Their deliveries are loaded later, as the scheduler requests them.
    pub async fn open(
        parts: DeliveryParts,
        recorder: Recorder,
        view_requests: mpsc::Receiver<ViewRequest>,
        fan_out: FanOutEnds,
    ) -> Result<Engine, DbError> {
        // Before the endpoints are read, so that no commit in between is missed.
        let notifications = parts.committer.subscribe();
        let scheduler = Scheduler::new(Caps::default(), parts.clock.now());
        let (queues, event_cache) = (Queues::default(), EventCache::default());
        let results = mpsc::unbounded_channel();
        let (reread_after_attempt, follow) = (HashSet::new(), Follow::default());
        let mut engine = Engine {
            parts,
            scheduler,
            queues,
            event_cache,
            reread_after_attempt,
            recorder,
            notifications,
            follow,
            fan_out,
            results,
            view_requests,
        };
        engine.reload().await?;
        Ok(engine)
    }

    /// Runs until the host stops. Then it starts no attempts, but records those that end until `ended` is sent or
    /// dropped. Without their outcomes, these deliveries would be sent again after the next start.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>, mut ended: oneshot::Receiver<()>) {
        let mut poll = interval(Duration::from_millis(POLICY_POLL_MS));
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut results, mut moves) = (Vec::new(), self.parts.clock.moves());
        loop {
            self.receive_notifications();
            self.catch_up().await;
            self.advance().await;
            let wait = self.scheduler.wake_at().map(|at| at.saturating_sub(self.parts.clock.now()));
            let (catch_up_at, is_followed) = (self.follow.catch_up_at(), self.follow.is_open());
            tokio::select! {
                biased;
                () = requested(&mut stopped) => break,
                notification = self.notifications.recv(), if is_followed => self.on_notification(notification),
                Some(result) = self.fan_out.results.recv() => self.schedule_fan_out(&result),
                _ = self.results.1.recv_many(&mut results, ENDED_AT_ONCE_MAX) => {
                    for result in results.drain(..) {
                        self.conclude(result).await;
                    }
                }
                Some(request) = self.view_requests.recv() => request.reply(&self.scheduler),
                () = pause(wait) => {}
                () = pause_until(catch_up_at) => {}
                () = moves.next() => {}
                _ = poll.tick() => self.refresh(),
            }
        }
        loop {
            tokio::select! {
                biased;
                Some(result) = self.results.1.recv() => self.conclude(result).await,
                _ = &mut ended => break,
            }
        }
        self.recorder.flush().await;
    }

    /// Starts all attempts that may start, and reads the rows that the scheduler requests.
    pub(super) async fn advance(&mut self) {
        let now = self.parts.clock.now();
        while let Some(start) = self.scheduler.next(now) {
            self.start(start);
        }
        let mut is_flushed = false;
        for _ in 0..DELIVERY_LOADS_AT_ONCE_MAX {
            let Some(load) = self.scheduler.next_load(now) else { break };
            if !std::mem::replace(&mut is_flushed, true) {
                self.recorder.flush().await;
            }
            self.load(&load).await;
        }
        if is_flushed {
            while let Some(start) = self.scheduler.next(now) {
                self.start(start);
            }
        }
        let (counts, metrics) = (self.scheduler.counts(), &self.parts.metrics);
        metrics.set_waiting(counts.held, counts.first_in_flight + counts.retries_in_flight);
    }

    /// Takes the next read of rows from the scheduler. Returns false if there is none.
    #[cfg(test)]
    pub(super) fn take_load(&mut self) -> bool {
        self.scheduler.next_load(self.parts.clock.now()).is_some()
    }

    /// Returns true if an attempt has ended whose result the engine has not processed.
    #[cfg(test)]
    pub(super) fn has_unprocessed_result(&self) -> bool {
        !self.results.1.is_empty()
    }

    #[expect(clippy::disallowed_methods, reason = "one task for each attempt; the scheduler bounds them")]
    fn start(&mut self, Start { queue, seq, .. }: Start) {
        let Some(info) = self.queues.find(queue).cloned() else {
            self.scheduler.finish(queue, seq, Outcome::Missing, self.parts.clock.now());
            return;
        };
        let seq = seq.cast_signed();
        let job = AttemptJob { queue, seq, info, event: self.event_cache.find(seq) };
        let (parts, results) = (self.parts.clone(), self.results.0.clone());
        tokio::spawn(async move {
            // The receiver is gone if the host stops. The attempt is then made again after the next start.
            let _ = results.send(attempt::perform(&parts, job).await);
        });
    }

    async fn load(&mut self, load: &Load) {
        let (database, queue) = (&self.parts.database, load.queue);
        let limit = u32::try_from(load.limit).unwrap_or(u32::MAX);
        let now = self.parts.clock.now();
        let done = match load.rows {
            Rows::Fresh { from } => database.find_fresh(queue, signed(from), limit).await.map(|found| {
                let rows = found.iter().map(|row| fresh_row(row.event, &row.subject));
                self.scheduler.loaded_fresh(load, &rows.collect::<Vec<_>>(), now);
            }),
            Rows::Retries { due_from } => database.find_due(queue, due_from, limit).await.map(|found| {
                let rows = found.iter().map(|row| RetryRow {
                    seq: row.event.cast_unsigned(),
                    attempt: row.attempts.saturating_add(1),
                    due: row.due,
                });
                self.scheduler.loaded_retries(load, &rows.collect::<Vec<_>>(), now);
            }),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "failed to read deliveries; trying again");
            self.scheduler.load_failed(load, now);
        }
    }

    /// Closes idle connections and evicts old events. Applies changes of plugins.toml to the policies.
    fn refresh(&mut self) {
        let now = self.parts.clock.now();
        for (queue, settings) in self.queues.change_policies(|plugin| (self.parts.policies)(plugin)) {
            self.scheduler.change_queue(queue, settings, now);
        }
        self.event_cache.evict_old(now);
        self.parts.client.close_idle();
    }

    async fn conclude(&mut self, result: AttemptResult) {
        let now = self.parts.clock.now();
        let AttemptResult { queue, seq, at, duration_ms, name, status, response, outcome, committed_at } = result;
        if outcome != Outcome::NotMade {
            self.event_cache.release(seq, queue);
        }
        let finished = self.scheduler.finish(queue, seq.cast_unsigned(), outcome, now);
        if self.reread_after_attempt.contains(&queue) && !self.has_attempt_in_flight(queue) {
            self.reread_after_attempt.remove(&queue);
            self.scheduler.reread(queue, now);
        }
        let transition = match finished.delivery {
            Decision::Delivered => DeliveryTransition::Delivered,
            Decision::Retry { at } => DeliveryTransition::RetryAt(at),
            Decision::Exhausted => DeliveryTransition::GivenUp,
            Decision::Unchanged | Decision::Dropped => return,
        };
        self.parts.metrics.attempt(name, now.saturating_sub(committed_at), transition == DeliveryTransition::Delivered);
        let row = AttemptRow { queue, event: seq, at, duration_ms, outcome: name, status, response, transition };
        self.recorder.attempt(row).await;
        if self.queues.set_failing_since(queue, finished.failing_since) {
            self.recorder.health(queue, finished.failing_since).await;
        }
        if let Some(reason) = finished.disabled {
            self.disable(queue, reason);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a commit that the loop does not wait for; it ends by itself")]
    fn disable(&self, queue: QueueId, reason: schedule::Disabled) {
        let (Some(info), now) = (self.queues.find(queue).cloned(), self.parts.clock.now()) else { return };
        let reason = match reason {
            schedule::Disabled::Gone => "the endpoint responded with 410 Gone".to_owned(),
            schedule::Disabled::Failing { since } => {
                format!("all attempts have failed for {} hours", now.saturating_sub(since) / 3_600_000)
            }
        };
        tracing::warn!(endpoint = info.id.as_str(), tenant = &**info.scope.tenant(), reason, "disabling an endpoint");
        let committer = self.parts.committer.clone();
        tokio::spawn(async move {
            let disable = EndpointCommand::Disable(Disabled { at: now, reason });
            if let Err(error) = apply_command(&committer, &info.scope, &info.id, &disable, now).await {
                tracing::error!(endpoint = info.id.as_str(), %error, "failed to disable an endpoint");
            }
        });
    }
}

/// Sleeps for this time. Never returns if it is `None`.
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

/// Subjects with the same hash wait for each other, which is harmless.
fn hash_of(subject: &str) -> Subject {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    hasher.finish()
}
