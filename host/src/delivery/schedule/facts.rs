//! The words between the scheduler and the engine around it: what the engine tells, and what it hears.
//!
//! Plain values. Times are milliseconds since 1970, as everywhere; durations say `_ms`.

use std::sync::Arc;

use super::RetrySchedule;
use crate::clock::Timestamp;
use crate::limits;

/// The lane of one endpoint. A number stands for one endpoint as long as the process lives.
pub type LaneId = u64;
/// The number of an event in the sequence of commits. Within a lane it names a delivery.
pub type Seq = u64;
/// A hash of the event's subject. Two subjects with the same hash only wait for each other.
pub type Subject = u64;
/// Who shares the slots: one number for each tenant.
pub type TenantId = u64;

/// How an endpoint is to be treated. Shared by all lanes of one plugin, mostly.
#[derive(Clone, Debug)]
pub struct LaneSettings {
    pub schedule: RetrySchedule,
    /// First attempts under way at once; 1 at least.
    pub first_in_flight_max: usize,
    /// Retries under way at once; 1 at least.
    pub retries_in_flight_max: usize,
    /// The endpoint is disabled when a failure comes this long after the first one since its last success. Nothing: never.
    pub disable_after_ms: Option<u64>,
}

impl Default for LaneSettings {
    fn default() -> Self {
        LaneSettings {
            schedule: RetrySchedule::default(),
            first_in_flight_max: limits::LANE_FIRST_IN_FLIGHT_MAX,
            retries_in_flight_max: limits::LANE_RETRIES_IN_FLIGHT_MAX,
            disable_after_ms: Some(limits::DISABLE_AFTER_MS),
        }
    }
}

/// A lane as it is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub tenant: TenantId,
    pub settings: Arc<LaneSettings>,
    pub enabled: bool,
    /// When the first failure after the last success was, as the database has it.
    pub failing_since: Option<Timestamp>,
    /// Whether the database may hold deliveries of this lane that have not ended. Then the scheduler asks for them. An
    /// endpoint that was just created has none.
    pub has_stored: bool,
}

/// What all lanes share.
#[derive(Clone, Debug)]
pub struct Caps {
    /// First attempts under way at once.
    pub first_max: usize,
    /// Retries under way at once.
    pub retries_max: usize,
    /// First attempts of one tenant under way at once.
    pub tenant_first_max: usize,
    /// Retries of one tenant under way at once.
    pub tenant_retries_max: usize,
    /// Deliveries in memory, of all lanes.
    pub held_max: usize,
    /// Deliveries in memory of one lane: so many fresh ones, and so many that wait for a retry.
    pub lane_held_max: usize,
    /// The same where `held_max` is reached: a few, so that no lane waits for the memory of another.
    pub lane_held_min: usize,
    /// Retries that are due later than this from now stay in the database.
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
            lane_held_max: limits::LANE_DELIVERIES_HELD_MAX,
            lane_held_min: limits::LANE_DELIVERIES_HELD_MIN,
            horizon_ms: limits::RETRY_HORIZON_MS,
        }
    }
}

/// Start this attempt now. Exactly one [`super::Scheduler::finished`] answers it, whatever happened to the lane meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub lane: LaneId,
    pub seq: Seq,
    pub attempt: Attempt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    First,
    /// The number of this attempt, as the row counts: 2 for the first retry, 1 where the first attempt was asked for out of
    /// its turn.
    Retry(u32),
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Delivered,
    /// The endpoint's fault, or that of the way to it. `retry_after_ms`: the pause that it asked for.
    Failed {
        retry_after_ms: Option<u64>,
    },
    /// It answered that it is gone for good (410): a failure that disables the lane.
    Gone,
    /// Our own trouble: a shutdown, no memory, no body. It was no attempt, and is charged to nobody; the delivery stands
    /// where it stood, and the lane rests for a moment, so that trouble that lasts does not spin.
    NotMade,
    /// There is nothing to deliver: the row or its body is gone, or has ended otherwise. The delivery is dropped, and
    /// charged to nobody.
    Missing,
}

/// What the end of an attempt means. The caller writes it to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub delivery: Decision,
    /// The lane is disabled from now on, because of this attempt.
    pub disabled: Option<Disabled>,
    /// As the lane stands now: worth a write where it changed.
    pub failing_since: Option<Timestamp>,
}

/// What becomes of the delivery's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Delivered,
    /// It waits for its next attempt.
    Retry {
        at: Timestamp,
    },
    /// That was the last attempt.
    Exhausted,
    /// The attempt was not made: the row stays as it is.
    Unchanged,
    /// The lane was closed meanwhile, or the delivery is missing, or the attempt is not known: there is nothing to write.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disabled {
    Gone,
    /// Nothing but failures since then.
    Failing {
        since: Timestamp,
    },
}

/// Rows that the scheduler wants. Before the question, everything that it decided so far must be written; what it decides
/// after handing out the `Load` may or may not be seen.
#[derive(Debug, PartialEq, Eq)]
pub struct Load {
    pub lane: LaneId,
    pub rows: Rows,
    /// Ask for no more rows than this. Fewer mean that there are no others.
    pub limit: usize,
    pub(super) ticket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Rows without an attempt, from this sequence number on, in their sequence. Answer: `loaded_fresh`.
    Fresh { from: Seq },
    /// Rows that wait for a retry due at this time or later, the earliest first. Answer: `loaded_retries`.
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
    /// The number of the attempt that it waits for: one more than were made.
    pub attempt: u32,
    pub due: Timestamp,
}

/// What operators see of a lane beyond its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneView {
    pub in_flight: usize,
    pub breaker_open: bool,
}

/// All lanes together, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub held: usize,
    pub first_in_flight: usize,
    pub retries_in_flight: usize,
}
