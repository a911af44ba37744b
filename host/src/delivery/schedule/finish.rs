//! The end of an attempt: its effects on the delivery, on its queue, and on the slots.
//!
//! Returns the decision that the caller has to write, and writes nothing itself. Only this module decides which
//! failures count against an endpoint.

use super::{
    Scheduler,
    queue::{Class, EndpointQueue, Running, State},
    values::{Decision, Disabled, FinishedAttempt, Outcome, RetryRow, Seq},
};
use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;
use crate::limits;

const DROPPED: FinishedAttempt = FinishedAttempt { delivery: Decision::Dropped, disabled: None, failing_since: None };

impl Scheduler {
    /// Ends a started attempt and frees its slot. The caller writes the returned decision to the database.
    pub fn finish(&mut self, id: QueueId, seq: Seq, outcome: Outcome, now: Timestamp) -> FinishedAttempt {
        let Some(queue) = self.queues.get_mut(&id) else { return DROPPED };
        let Some(running) = queue.end(seq) else { return DROPPED };
        let tenant = queue.tenant;
        match running.class() {
            Class::First => self.first.end(tenant),
            Class::Retry => self.retries.end(tenant),
        }
        let finished = if queue.state == State::Closed {
            queue.settle(seq, &running);
            DROPPED
        } else {
            self.conclude(id, seq, running, outcome, now)
        };
        self.reindex(id, now);
        self.remove_if_done(id);
        finished
    }

    fn conclude(
        &mut self,
        id: QueueId,
        seq: Seq,
        running: Running,
        outcome: Outcome,
        now: Timestamp,
    ) -> FinishedAttempt {
        let random = self.random.next();
        let (horizon, room) = (now.saturating_add(self.caps.horizon_ms), self.caps.room(self.held));
        let Some(queue) = self.queues.get_mut(&id) else { return DROPPED };
        let delivery = match outcome {
            Outcome::NotMade => {
                queue.restore(seq, &running);
                queue.pause_until(now.saturating_add(limits::NOT_MADE_PAUSE_MS));
                Decision::Unchanged
            }
            Outcome::Missing => {
                queue.settle(seq, &running);
                Decision::Dropped
            }
            Outcome::Delivered => {
                queue.settle(seq, &running);
                queue.breaker.record_success();
                Decision::Delivered
            }
            Outcome::Failed { .. } | Outcome::Gone => {
                queue.settle(seq, &running);
                queue.breaker.record_failure(running.breaker_at_start, now);
                let retry_after_ms =
                    if let Outcome::Failed { retry_after_ms } = outcome { retry_after_ms } else { None };
                let made = running.number();
                match queue.settings.schedule.next_at(made, now, retry_after_ms, random) {
                    Some(at) => {
                        let row = RetryRow { seq, attempt: made.saturating_add(1), due: at };
                        store_retry(queue, row, horizon, room);
                        Decision::Retry { at }
                    }
                    None => Decision::Exhausted,
                }
            }
        };
        let disabled = disable_reason(queue, outcome, now);
        if disabled.is_some() {
            queue.disable();
        }
        FinishedAttempt { delivery, disabled, failing_since: queue.breaker.failing_since() }
    }
}

/// Keeps the retry in memory if it is due soon, there is room, and no delivery that only the database holds is due
/// before it.
fn store_retry(queue: &mut EndpointQueue, row: RetryRow, horizon: Timestamp, room: usize) {
    let follows_stored = queue.retry_backlog.from().is_some_and(|from| from <= row.due);
    let stays = queue.state != State::Enabled || row.due > horizon || queue.retries_held() >= room;
    if stays || follows_stored {
        queue.retry_backlog.mark_stored(row.due);
    } else {
        queue.insert_retry(row);
    }
}

fn disable_reason(queue: &EndpointQueue, outcome: Outcome, now: Timestamp) -> Option<Disabled> {
    if queue.state != State::Enabled {
        return None;
    }
    match outcome {
        Outcome::Delivered | Outcome::NotMade | Outcome::Missing => None,
        Outcome::Gone => Some(Disabled::Gone),
        Outcome::Failed { .. } => {
            let since = queue.breaker.failing_since()?;
            let is_over = now.saturating_sub(since) >= queue.settings.disable_after_ms?;
            is_over.then_some(Disabled::Failing { since })
        }
    }
}
