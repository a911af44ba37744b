//! Notifications of commits, and catching up with the database where some were missed.
//!
//! Owns the number of the last event that was seen. An engine that missed notifications is *blind*: it passes over what it
//! receives until it has read the endpoints again, retries that until it succeeds, and marks each lane to be read from the
//! first event that it has not seen. Invariant: it never stays blind while the database can be read.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::error::{RecvError, TryRecvError},
    time::Instant,
};

use super::{Engine, fresh_row};
use crate::changes::host_collections::ENDPOINTS;
use crate::clock::Timestamp;
use crate::{
    changes::endpoint::Endpoint,
    commit::committer::News,
    db::{
        DbError,
        apply::{EventSeq, HostRecord, Lane, Outgoing, StoredEvent},
    },
    delivery::{fan_out::Made, lanes::LaneFacts, schedule::Opening},
    limits::{CATCH_UP_PAUSE_MS, DELIVERY_LOAD_PAUSE_MS},
};

#[derive(Default)]
pub(super) struct Follow {
    /// The last event of a processed notification.
    seen: EventSeq,
    is_blind: bool,
    is_closed: bool,
    /// Earliest time of the next attempt: catching up must not take all of the engine's time.
    not_before: Option<Instant>,
}

impl Follow {
    /// Returns the time to catch up; `None` if nothing was missed.
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
    /// Takes in every notification that is there, so that reading rows between two calls never makes the engine lag.
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

    pub(super) fn on_notification(&mut self, notification: Result<Arc<News>, RecvError>) {
        match notification.as_deref() {
            // Its content is in the database, which is read before the next notification is processed.
            Ok(News::Durable(_)) if self.follow.is_blind => {}
            Ok(News::Durable(outgoing)) => {
                // Deliveries made before this batch come first.
                while let Ok(made) = self.fan_out.made.try_recv() {
                    self.take_made(&made);
                }
                self.take(outgoing);
            }
            Ok(News::Unknown) | Err(RecvError::Lagged(_)) => self.follow.is_blind = true,
            // The committer is gone, and the host with it.
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

    /// Schedules deliveries that were made after the batch of their event or of their command.
    pub(super) fn take_made(&mut self, made: &Made) {
        let now = self.parts.clock.now();
        match made {
            Made::New(made) => {
                for (lane, first) in &made.lanes {
                    self.scheduler.leave_stored(lane.cast_unsigned(), first.cast_unsigned(), now);
                }
            }
            Made::Again(lane) => lane.iter().for_each(|lane| self.look_again(*lane, now)),
        }
    }

    fn look_again(&mut self, lane: Lane, now: Timestamp) {
        self.scheduler.look_again(lane.cast_unsigned(), now);
        if self.is_busy(lane) {
            self.wanted_again.insert(lane);
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
        if let Some(last) = outgoing.events.last() {
            self.follow.seen = last.seq;
        }
        if outgoing.has_fan_outs {
            self.fan_out.wake.notify_one();
        }
        for lane in &outgoing.ordered {
            self.look_again(*lane, now);
        }
    }

    pub(super) fn is_busy(&self, lane: Lane) -> bool {
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
        let known = self.lanes.find(lane).map(|known| known.endpoint.is_active());
        self.lanes.put(lane, facts, record.failing_since);
        if known.is_none() {
            let opening = Opening { tenant, settings, enabled, failing_since: record.failing_since, has_stored };
            self.scheduler.open_lane(id, opening, now);
        } else if enabled {
            if known == Some(false) {
                // The commit that enabled the endpoint has cleared its stored health.
                self.lanes.note_failing(lane, None);
            }
            self.scheduler.enable_lane(id, now);
        } else {
            self.scheduler.disable_lane(id, now);
        }
    }

    /// Reads all endpoints from the database, at the start and where notifications were missed. What was committed after
    /// the last event that was seen is read lane by lane as `go_on` gets to it.
    pub(super) async fn reload(&mut self) -> Result<(), DbError> {
        self.settle_recorder().await;
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
        let from = self.follow.seen.saturating_add(1).cast_unsigned();
        for lane in self.lanes.all() {
            self.scheduler.catch_up(lane.cast_unsigned(), from, now);
            if self.is_busy(lane) {
                self.wanted_again.insert(lane);
            }
        }
        self.fan_out.wake.notify_one();
        Ok(())
    }

    /// Waits until decisions are written: rows are read afterwards.
    async fn settle_recorder(&self) {
        if !self.lanes.all().is_empty() {
            self.recorder.settle().await;
        }
    }
}
