//! The values that the scheduler and the engine exchange.
//!
//! Plain data. Times are milliseconds since 1970. The names of durations end with `_ms`.

use std::sync::Arc;

use super::RetrySchedule;
use crate::changes::endpoint::QueueId;
use crate::clock::Timestamp;
use crate::limits;

/// The number of an event in the sequence of commits. Within a queue it identifies a delivery.
pub type Seq = u64;
/// A hash of the event's subject. Deliveries of different subjects with the same hash wait for each other, which is
/// harmless.
pub type Subject = u64;
/// The number of a tenant. Free slots rotate between tenants.
pub type TenantId = u64;

/// The delivery settings of an endpoint. The queues of a plugin usually share one value.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    pub schedule: RetrySchedule,
    /// Maximum number of first attempts in flight, at least 1.
    pub first_in_flight_max: usize,
    /// Maximum number of retries in flight, at least 1.
    pub retries_in_flight_max: usize,
    /// A failure disables the endpoint if it occurs at least this long after the first failure since the last success.
    /// `None`: never.
    pub disable_after_ms: Option<u64>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        QueueSettings {
            schedule: RetrySchedule::default(),
            first_in_flight_max: limits::QUEUE_FIRST_IN_FLIGHT_MAX,
            retries_in_flight_max: limits::QUEUE_RETRIES_IN_FLIGHT_MAX,
            disable_after_ms: Some(limits::DISABLE_AFTER_MS),
        }
    }
}

/// The initial state of a queue.
#[derive(Clone, Debug)]
pub struct Opening {
    pub tenant: TenantId,
    pub settings: Arc<QueueSettings>,
    pub enabled: bool,
    /// The stored time of the first failure after the last success.
    pub failing_since: Option<Timestamp>,
    /// True if the database may hold unfinished deliveries of this queue. The scheduler then loads them. An endpoint
    /// that was just created has none.
    pub has_stored: bool,
}

/// The limits that all queues share.
#[derive(Clone, Debug)]
pub struct Caps {
    /// First attempts in flight.
    pub first_max: usize,
    /// Retries in flight.
    pub retries_max: usize,
    /// First attempts of one tenant in flight.
    pub tenant_first_max: usize,
    /// Retries of one tenant in flight.
    pub tenant_retries_max: usize,
    /// Deliveries in memory, of all queues.
    pub held_max: usize,
    /// Fresh deliveries of one queue in memory. The same limit applies to its retries.
    pub queue_held_max: usize,
    /// Replaces `queue_held_max` while `held_max` is reached. A few deliveries are enough that no queue waits for the
    /// memory of another.
    pub queue_held_min: usize,
    /// Retries that are due later than this time from now stay in the database.
    pub horizon_ms: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Caps {
            first_max: limits::FIRST_IN_FLIGHT_MAX,
            retries_max: limits::RETRIES_IN_FLIGHT_MAX,
            tenant_first_max: limits::TENANT_FIRST_IN_FLIGHT_MAX,
            tenant_retries_max: limits::TENANT_RETRIES_IN_FLIGHT_MAX,
            held_max: limits::DELIVERIES_HELD_MAX,
            queue_held_max: limits::QUEUE_DELIVERIES_HELD_MAX,
            queue_held_min: limits::QUEUE_DELIVERIES_HELD_MIN,
            horizon_ms: limits::RETRY_HORIZON_MS,
        }
    }
}

/// An attempt to start now. The caller completes it with exactly one [`super::Scheduler::finish`], even if the queue
/// was closed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub queue: QueueId,
    pub seq: Seq,
    pub attempt: Attempt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    First,
    /// The number of this attempt in the database: 2 for the first retry, 1 for a redelivery that precedes the first
    /// attempt.
    Retry(u32),
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Delivered,
    /// The endpoint or the network failed. `retry_after_ms`: the requested pause.
    Failed {
        retry_after_ms: Option<u64>,
    },
    /// The endpoint responded with 410 Gone: a failure that disables the queue.
    Gone,
    /// The host could not send the request, for example because the event could not be read. This does not count as an
    /// attempt or as a failure of the endpoint. The delivery keeps its state, and the queue pauses shortly so that a
    /// lasting problem does not cause a busy loop.
    NotMade,
    /// There is nothing to deliver: the row or its body was removed. The delivery is dropped without counting as a
    /// failure.
    Missing,
}

/// The effects of an ended attempt. The caller writes them to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedAttempt {
    pub delivery: Decision,
    /// The reason if this attempt disabled the queue.
    pub disabled: Option<Disabled>,
    /// The current health of the queue, to be written if it has changed.
    pub failing_since: Option<Timestamp>,
}

/// The new state of the delivery's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Delivered,
    /// The delivery waits for its next attempt.
    Retry {
        at: Timestamp,
    },
    /// The last attempt of the schedule has failed.
    Exhausted,
    /// The attempt was not made: the row stays as it is.
    Unchanged,
    /// The queue was closed, the delivery is missing, or the attempt is unknown: there is nothing to write.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disabled {
    Gone,
    /// Every attempt has failed since then.
    Failing {
        since: Timestamp,
    },
}

/// A request to read rows. The caller must first write all earlier decisions. Decisions made after the scheduler
/// returned the `Load` may or may not be visible in its rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Load {
    pub queue: QueueId,
    pub rows: Rows,
    /// Maximum number of rows. Fewer rows mean that there are no others.
    pub limit: usize,
    pub(super) ticket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Rows without an attempt, from this sequence number on, in ascending order. Completed by `loaded_fresh`.
    Fresh { from: Seq },
    /// Rows whose retry is due at this time or later, the earliest first. Completed by `loaded_retries`.
    Retries { due_from: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshRow {
    pub seq: Seq,
    pub subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryRow {
    pub seq: Seq,
    /// The number of the next attempt: the number of attempts made, plus 1.
    pub attempt: u32,
    pub due: Timestamp,
}

/// The state of a queue that only the scheduler has, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    pub in_flight: usize,
    pub breaker_open: bool,
}

/// Totals of all queues, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub held: usize,
    pub first_in_flight: usize,
    pub retries_in_flight: usize,
}
