//! What the end of an attempt means: for the delivery, for its lane, for the slots.
//!
//! Decides, and tells the caller what to write; writes nothing. What is charged to an endpoint is decided here alone.

use super::{
    Scheduler,
    facts::{Decision, Disabled, Finished, LaneId, Outcome, RetryRow, Seq},
    lane::{Class, Lane, Running, State},
};
use crate::clock::Timestamp;
use crate::limits;

const DROPPED: Finished = Finished { delivery: Decision::Dropped, disabled: None, failing_since: None };

impl Scheduler {
    /// An attempt that was started is over. Frees its slot; what comes back is to be written to the database.
    pub fn finished(&mut self, id: LaneId, seq: Seq, outcome: Outcome, now: Timestamp) -> Finished {
        let Some(lane) = self.lanes.get_mut(&id) else { return DROPPED };
        let Some(running) = lane.end(seq) else { return DROPPED };
        let tenant = lane.tenant;
        match running.class() {
            Class::First => self.first.end(tenant),
            Class::Retry => self.retries.end(tenant),
        }
        let finished = if lane.state == State::Closed {
            lane.settle(seq, &running);
            DROPPED
        } else {
            self.conclude(id, seq, running, outcome, now)
        };
        self.note(id, now);
        self.forget_if_over(id);
        finished
    }

    fn conclude(&mut self, id: LaneId, seq: Seq, running: Running, outcome: Outcome, now: Timestamp) -> Finished {
        let random = self.random.next();
        let (horizon, room) = (now.saturating_add(self.caps.horizon_ms), self.caps.room(self.held));
        let Some(lane) = self.lanes.get_mut(&id) else { return DROPPED };
        let delivery = match outcome {
            Outcome::NotMade => {
                lane.put_back(seq, &running);
                lane.rest_until(now.saturating_add(limits::NOT_MADE_PAUSE_MS));
                Decision::Unchanged
            }
            Outcome::Missing => {
                lane.settle(seq, &running);
                Decision::Dropped
            }
            Outcome::Delivered => {
                lane.settle(seq, &running);
                lane.breaker.succeed();
                Decision::Delivered
            }
            Outcome::Failed { .. } | Outcome::Gone => {
                lane.settle(seq, &running);
                lane.breaker.fail(running.began, now);
                let retry_after_ms =
                    if let Outcome::Failed { retry_after_ms } = outcome { retry_after_ms } else { None };
                let made = running.number();
                match lane.settings.schedule.next_at(made, now, retry_after_ms, random) {
                    Some(at) => {
                        let row = RetryRow { seq, attempt: made.saturating_add(1), due: at };
                        keep_retry(lane, row, horizon, room);
                        Decision::Retry { at }
                    }
                    None => Decision::Exhausted,
                }
            }
        };
        let disabled = reason_to_disable(lane, outcome, now);
        if disabled.is_some() {
            lane.disable();
        }
        Finished { delivery, disabled, failing_since: lane.breaker.is_failing_since() }
    }
}

/// In memory if it is due soon and there is room, and nothing that only the database holds is due before it.
fn keep_retry(lane: &mut Lane, row: RetryRow, horizon: Timestamp, room: usize) {
    let follows_stored = lane.retry_backlog.from().is_some_and(|from| from <= row.due);
    let stays = lane.state != State::Enabled || row.due > horizon || lane.retries_held() >= room;
    if stays || follows_stored {
        lane.retry_backlog.leave(row.due);
    } else {
        lane.hold_retry(row);
    }
}

fn reason_to_disable(lane: &Lane, outcome: Outcome, now: Timestamp) -> Option<Disabled> {
    if lane.state != State::Enabled {
        return None;
    }
    match outcome {
        Outcome::Delivered | Outcome::NotMade | Outcome::Missing => None,
        Outcome::Gone => Some(Disabled::Gone),
        Outcome::Failed { .. } => {
            let since = lane.breaker.is_failing_since()?;
            let is_over = now.saturating_sub(since) >= lane.settings.disable_after_ms?;
            is_over.then_some(Disabled::Failing { since })
        }
    }
}
