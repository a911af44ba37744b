//! Notifications of commits, and catching up with the database after some were missed.
//!
//! Owns the number of the last processed event. An engine that missed notifications is *blind*: it ignores further
//! notifications until it has read the endpoints again, which it retries until it succeeds. It then makes each queue
//! load deliveries from the first unprocessed event on. Invariant: the engine never stays blind while the database can
//! be read.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::error::{RecvError, TryRecvError},
    time::Instant,
};

use super::{Engine, fresh_row};
use crate::changes::host_collections::ENDPOINTS;
use crate::{
    changes::endpoint::Endpoint,
    clock::Timestamp,
    commit::committer::CommitNotification,
    db::{
        DbError,
        apply::{EventSeq, HostRecord, Outgoing, QueueId, StoredEvent},
    },
    delivery::{fan_out::FanOutResult, queues::EndpointInfo, schedule::Opening},
    limits::{CATCH_UP_PAUSE_MS, DELIVERY_LOAD_PAUSE_MS},
};

#[derive(Default)]
pub(super) struct Follow {
    /// The last event of a processed notification.
    last_seen: EventSeq,
    is_blind: bool,
    is_closed: bool,
    /// Earliest time to catch up again, so that catching up does not take all of the engine's time.
    not_before: Option<Instant>,
}

impl Follow {
    /// Returns the time to catch up, or `None` if nothing was missed.
    pub(super) fn catch_up_at(&self) -> Option<Instant> {
        self.is_blind.then(|| self.not_before.unwrap_or_else(Instant::now))
    }

    /// Returns true while more notifications may come.
    pub(super) fn is_open(&self) -> bool {
        !self.is_closed
    }

    fn wait_ms(&mut self, milliseconds: u64) {
        self.not_before = Some(Instant::now() + Duration::from_millis(milliseconds));
    }
}

impl Engine {
    /// Processes all pending notifications, so that reading rows between two calls never makes the engine lag.
    pub(super) fn receive_notifications(&mut self) {
        loop {
            match self.notifications.try_recv() {
                Ok(notification) => self.on_notification(Ok(notification)),
                Err(TryRecvError::Lagged(missed)) => self.on_notification(Err(RecvError::Lagged(missed))),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Closed) => return self.on_notification(Err(RecvError::Closed)),
            }
        }
    }

    pub(super) fn on_notification(&mut self, notification: Result<Arc<CommitNotification>, RecvError>) {
        match notification.as_deref() {
            // Its content is in the database, which is read before the next notification is processed.
            Ok(CommitNotification::Durable(_)) if self.follow.is_blind => {}
            Ok(CommitNotification::Durable(outgoing)) => {
                // Deliveries created before this batch come first.
                while let Ok(result) = self.fan_out.results.try_recv() {
                    self.schedule_fan_out(&result);
                }
                self.process(outgoing);
            }
            Ok(CommitNotification::Unknown) | Err(RecvError::Lagged(_)) => self.follow.is_blind = true,
            // The committer has ended because the host stops.
            Err(RecvError::Closed) => self.follow.is_closed = true,
        }
    }

    /// Reads the changes of missed notifications from the database, or tries again later.
    pub(super) async fn catch_up(&mut self) {
        if self.follow.catch_up_at().is_none_or(|at| at > Instant::now()) {
            return;
        }
        match self.reload().await {
            Ok(()) => {
                self.follow.is_blind = false;
                self.follow.wait_ms(CATCH_UP_PAUSE_MS);
            }
            Err(error) => {
                tracing::error!(%error, "failed to read the endpoints of webhooks; trying again");
                self.follow.wait_ms(DELIVERY_LOAD_PAUSE_MS);
            }
        }
    }

    /// Schedules deliveries that were created or recovered after the batch of their event or command.
    pub(super) fn schedule_fan_out(&mut self, result: &FanOutResult) {
        let now = self.parts.clock.now();
        match result {
            FanOutResult::Created(created) => {
                for (queue, first) in &created.queues {
                    self.scheduler.mark_stored(*queue, first.cast_unsigned(), now);
                }
            }
            FanOutResult::Recovered(queue) => queue.iter().for_each(|queue| self.reread(*queue, now)),
        }
    }

    fn reread(&mut self, queue: QueueId, now: Timestamp) {
        self.scheduler.reread(queue, now);
        if self.has_attempt_in_flight(queue) {
            self.reread_after_attempt.insert(queue);
        }
    }

    fn process(&mut self, outgoing: &Outgoing) {
        let now = self.parts.clock.now();
        for record in outgoing.host_records.iter().filter(|record| &*record.collection == ENDPOINTS) {
            self.apply_record(record, false);
        }
        for event in &outgoing.events {
            self.event_cache.insert(event);
            self.offer(event);
        }
        if let Some(last) = outgoing.events.last() {
            self.follow.last_seen = last.seq;
        }
        if outgoing.has_fan_outs {
            self.fan_out.wake.notify_one();
        }
        for queue in &outgoing.redelivered {
            self.reread(*queue, now);
        }
    }

    pub(super) fn has_attempt_in_flight(&self, queue: QueueId) -> bool {
        self.scheduler.view(queue).is_some_and(|view| view.in_flight > 0)
    }

    fn offer(&mut self, event: &StoredEvent) {
        let (now, row) = (self.parts.clock.now(), fresh_row(event.seq, &event.subject));
        for queue in &event.queues {
            self.scheduler.offer(*queue, row, now);
        }
    }

    /// Applies a created, changed or removed endpoint. `has_stored` is true if the database may contain waiting
    /// deliveries of the endpoint.
    fn apply_record(&mut self, record: &HostRecord, has_stored: bool) {
        let (Some(queue), now) = (record.queue, self.parts.clock.now()) else { return };
        let Some(body) = &record.body else {
            self.queues.remove(queue);
            return self.scheduler.close_queue(queue, now);
        };
        let endpoint = match Endpoint::parse(body) {
            Ok(endpoint) => endpoint,
            Err(error) => return tracing::error!(endpoint = &*record.id, %error, "failed to read an endpoint"),
        };
        let (enabled, scope) = (endpoint.is_active(), record.scope.clone());
        let policy = self.queues.policy(scope.plugin(), |plugin| (self.parts.policies)(plugin));
        let settings = policy.settings.clone();
        let tenant = self.queues.tenant(&scope);
        let (id, addresses) = (record.id.clone().into(), &self.parts.outbound_context.addresses);
        let info = EndpointInfo::new(scope, id, endpoint, addresses, policy);
        let was_active = self.queues.find(queue).map(|before| before.endpoint.is_active());
        self.queues.put(queue, info, record.failing_since);
        if was_active.is_none() {
            let opening = Opening { tenant, settings, enabled, failing_since: record.failing_since, has_stored };
            self.scheduler.open_queue(queue, opening, now);
        } else if enabled {
            if was_active == Some(false) {
                // The commit that enabled the endpoint has cleared its stored health.
                self.queues.set_failing_since(queue, None);
            }
            self.scheduler.enable_queue(queue, now);
        } else {
            self.scheduler.disable_queue(queue, now);
        }
    }

    /// Reads all endpoints from the database, at the start and after missed notifications. Deliveries that were
    /// committed after the last processed event are loaded queue by queue in `advance`.
    pub(super) async fn reload(&mut self) -> Result<(), DbError> {
        self.flush_recorder().await;
        let found = self.parts.database.list_endpoints().await?;
        self.event_cache.clear();
        let now = self.parts.clock.now();
        let existing: HashSet<QueueId> = found.iter().filter_map(|record| record.queue).collect();
        for queue in self.queues.all().into_iter().filter(|queue| !existing.contains(queue)) {
            self.queues.remove(queue);
            self.scheduler.close_queue(queue, now);
        }
        for record in &found {
            self.apply_record(record, true);
        }
        let from = self.follow.last_seen.saturating_add(1).cast_unsigned();
        for queue in self.queues.all() {
            self.scheduler.catch_up(queue, from, now);
            if self.has_attempt_in_flight(queue) {
                self.reread_after_attempt.insert(queue);
            }
        }
        self.fan_out.wake.notify_one();
        Ok(())
    }

    /// Waits until all decisions are written. Must precede reading rows. Without queues there are no decisions, and
    /// during `open` the recorder does not run yet.
    async fn flush_recorder(&self) {
        if !self.queues.all().is_empty() {
            self.recorder.flush().await;
        }
    }
}
