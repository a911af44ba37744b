//! Deliveries and their attempts.
//!
//! Rows are created in the transaction of their event (`apply::outbox`), or soon after it (`fan_out`). This module also
//! reads them, records the outcomes of attempts, and deletes old rows. Invariant: an outcome is recorded only for an
//! existing delivery, so no attempt is added after its delivery is deleted.
//!
//! - `due`: the queries of the scheduler. `fan_out`: deliveries that exceeded the transaction of their event.
//!   `recovery`: recoveries that exceeded the transaction of their command.
//! - `list`: queries of tenants. `search`: queries of operators. `prune`: deletes old rows.

mod due;
mod fan_out;
mod list;
mod prune;
mod recovery;
mod search;

use std::sync::LazyLock;

pub use due::{DueRetry, FreshDelivery};
pub use fan_out::CreatedDeliveries;
pub use list::{DeliveryPage, StoredAttempt, StoredDelivery};
pub use recovery::RecoveredDeliveries;
pub use search::{EndpointDelivery, EndpointFilter, EndpointRow};

use super::apply::rows::{ChunkedSql, int, write_rows};
use super::apply::{EventSeq, QueueId};
use super::database::WriteTransaction;
use super::{Database, DbError};
use crate::clock::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Waits for its first attempt.
    Pending,
    /// Waits for its next attempt.
    Retrying,
    Delivered,
    /// The last attempt of the schedule has failed.
    Failed,
}

impl DeliveryState {
    const ALL: [DeliveryState; 4] =
        [DeliveryState::Pending, DeliveryState::Retrying, DeliveryState::Delivered, DeliveryState::Failed];

    /// Returns the stored number.
    fn number(self) -> i64 {
        match self {
            DeliveryState::Pending => 0,
            DeliveryState::Retrying => 1,
            DeliveryState::Delivered => 2,
            DeliveryState::Failed => 3,
        }
    }

    fn of(number: i64) -> Result<DeliveryState, DbError> {
        let known = DeliveryState::ALL.into_iter().find(|state| state.number() == number);
        known.ok_or_else(|| DbError::Corrupt(format!("a delivery in the state {number}")))
    }

    /// Returns "pending", "retrying", "delivered" or "failed".
    pub fn name(self) -> &'static str {
        match self {
            DeliveryState::Pending => "pending",
            DeliveryState::Retrying => "retrying",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Failed => "failed",
        }
    }

    pub fn parse(name: &str) -> Option<DeliveryState> {
        DeliveryState::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// An attempt, and the transition of its delivery.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    pub queue: QueueId,
    pub event: EventSeq,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// "delivered" or the class of the failure.
    pub outcome: &'static str,
    pub status: Option<u16>,
    /// The first bytes of the response, or the reason of the failure.
    pub response: Vec<u8>,
    pub transition: DeliveryTransition,
}

/// The new state of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryTransition {
    Delivered,
    RetryAt(Timestamp),
    GivenUp,
}

/// The health of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointHealth {
    pub queue: QueueId,
    /// The time since which all attempts have failed. `None` if the last attempt succeeded.
    pub failing_since: Option<Timestamp>,
}

// An attempt is numbered after all earlier attempts of the delivery, including those before a redelivery.
static ATTEMPTS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::new(
        "INSERT OR IGNORE INTO attempts (queue, event, number, at, duration_ms, outcome, status, answer) \
         SELECT d.queue, d.event, d.attempts + 1, v.column3, v.column4, v.column5, v.column6, v.column7 FROM (VALUES ",
        "(?,?,?,?,?,?,?)",
        ") v CROSS JOIN deliveries d ON d.queue = v.column1 AND d.event = v.column2",
    )
});

// A delivery that became due after the attempt began was redelivered meanwhile. It stays due, regardless of this
// outcome.
static OUTCOMES: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::new(
        "UPDATE deliveries SET attempts = attempts + 1, at = v.column5, \
         state = CASE WHEN state = 1 AND due > v.column6 THEN state ELSE v.column3 END, \
         due = CASE WHEN state = 1 AND due > v.column6 THEN due ELSE v.column4 END FROM (VALUES ",
        "(?,?,?,?,?,?)",
        ") v WHERE queue = v.column1 AND event = v.column2",
    )
});

impl Database {
    /// Records attempts and their transitions in one transaction.
    ///
    /// `attempts` contains at most one attempt for each delivery. Does not wait for the disk: after a power failure,
    /// deliveries whose outcome is lost are sent again with the same id, as after any crash.
    pub async fn record_attempts(&self, attempts: &[AttemptRow], health: &[EndpointHealth]) -> Result<(), DbError> {
        if attempts.is_empty() && health.is_empty() {
            return Ok(());
        }
        let (attempts, health) = (attempts.to_vec(), health.to_vec());
        self.write_lazily(move |write| Box::pin(async move { write_outcomes(write, &attempts, &health).await })).await
    }
}

async fn write_outcomes(
    write: &mut WriteTransaction,
    attempts: &[AttemptRow],
    health: &[EndpointHealth],
) -> Result<(), DbError> {
    write_rows(write.connection(), &ATTEMPTS, attempts, |query, row| {
        query
            .bind(row.queue.0)
            .bind(row.event)
            .bind(int(row.at))
            .bind(int(row.duration_ms))
            .bind(row.outcome)
            .bind(row.status)
            .bind(row.response.clone())
    })
    .await?;
    write_rows(write.connection(), &OUTCOMES, attempts, |query, row| {
        let (state, due) = match row.transition {
            DeliveryTransition::Delivered => (DeliveryState::Delivered, None),
            DeliveryTransition::RetryAt(due) => (DeliveryState::Retrying, Some(int(due))),
            DeliveryTransition::GivenUp => (DeliveryState::Failed, None),
        };
        query
            .bind(row.queue.0)
            .bind(row.event)
            .bind(state.number())
            .bind(due)
            .bind(int(row.at.saturating_add(row.duration_ms)))
            .bind(int(row.at))
    })
    .await?;
    for EndpointHealth { queue, failing_since } in health {
        sqlx::query("UPDATE queues SET failing_since = ? WHERE queue = ?")
            .bind(failing_since.map(int))
            .bind(queue.0)
            .execute(write.connection())
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
