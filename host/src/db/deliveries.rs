//! Deliveries and their attempts: what waits, what was tried, what became of it.
//!
//! Rows are made in the transaction of their event (`apply::outbox`); here they are read, and moved on by what an attempt
//! came to. Invariant: an outcome is noted only for a delivery that still waits, so that an endpoint that was removed
//! leaves nothing behind.
//!
//! - `due`: what the sender asks for. `fan_out`: rows that were too many for the transaction of their event. `recovery`: orders
//!   that were too large for theirs.
//! - `list`: what a tenant sees; `survey`: what an operator sees. `forget`: growth.

mod due;
mod fan_out;
mod forget;
mod list;
mod recovery;
mod survey;

use std::sync::LazyLock;

pub use due::{DueRetry, FreshDelivery};
pub use fan_out::MadeDeliveries;
pub use list::{DeliveryPage, StoredAttempt, StoredDelivery};
pub use recovery::RecoveredDeliveries;
pub use survey::{EndpointFilter, EndpointRow, SurveyedDelivery};

use super::apply::rows::{ChunkedSql, int, write_rows};
use super::apply::{EventSeq, Lane};
use super::database::WriteTransaction;
use super::{Database, DbError};
use crate::clock::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Not tried yet.
    Pending,
    /// Waits for its next attempt.
    Retrying,
    Delivered,
    /// The schedule is used up.
    Failed,
}

impl DeliveryState {
    const ALL: [DeliveryState; 4] =
        [DeliveryState::Pending, DeliveryState::Retrying, DeliveryState::Delivered, DeliveryState::Failed];

    /// As it stands in its row.
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

    /// "pending", "retrying", "delivered", "failed".
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

/// One request that was made, and what follows from it.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    pub lane: Lane,
    pub event: EventSeq,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// "delivered" or the class of the failure.
    pub outcome: &'static str,
    pub status: Option<u16>,
    /// The first bytes of the answer, or what went wrong.
    pub answer: Vec<u8>,
    pub then: Then,
}

/// What becomes of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Delivered,
    RetryAt(Timestamp),
    GivenUp,
}

/// Since when an endpoint has done nothing but fail; `None`: it does not.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    pub lane: Lane,
    pub failing_since: Option<Timestamp>,
}

// The number of an attempt is one more than those before it: a redelivery goes on counting.
static ATTEMPTS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::new(
        "INSERT OR IGNORE INTO attempts (lane, event, number, at, duration_ms, outcome, status, answer) \
         SELECT d.lane, d.event, d.attempts + 1, v.column3, v.column4, v.column5, v.column6, v.column7 FROM (VALUES ",
        "(?,?,?,?,?,?,?)",
        ") v CROSS JOIN deliveries d ON d.lane = v.column1 AND d.event = v.column2",
    )
});

// One that fell due after the attempt began was wanted once more meanwhile: it stays so, whatever this attempt came to.
static OUTCOMES: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::new(
        "UPDATE deliveries SET attempts = attempts + 1, at = v.column5, \
         state = CASE WHEN state = 1 AND due > v.column6 THEN state ELSE v.column3 END, \
         due = CASE WHEN state = 1 AND due > v.column6 THEN due ELSE v.column4 END FROM (VALUES ",
        "(?,?,?,?,?,?)",
        ") v WHERE lane = v.column1 AND event = v.column2",
    )
});

impl Database {
    /// Notes attempts and what follows from them, all in one transaction. At most one for each delivery. Does not wait for the
    /// disk: what a loss of power takes back is sent once more, with the same id, as after any crash.
    pub async fn record_attempts(&self, attempts: &[AttemptRow], health: &[Health]) -> Result<(), DbError> {
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
    health: &[Health],
) -> Result<(), DbError> {
    write_rows(write.connection(), &ATTEMPTS, attempts, |query, row| {
        query
            .bind(row.lane)
            .bind(row.event)
            .bind(int(row.at))
            .bind(int(row.duration_ms))
            .bind(row.outcome)
            .bind(row.status)
            .bind(row.answer.clone())
    })
    .await?;
    write_rows(write.connection(), &OUTCOMES, attempts, |query, row| {
        let (state, due) = match row.then {
            Then::Delivered => (DeliveryState::Delivered, None),
            Then::RetryAt(due) => (DeliveryState::Retrying, Some(int(due))),
            Then::GivenUp => (DeliveryState::Failed, None),
        };
        query
            .bind(row.lane)
            .bind(row.event)
            .bind(state.number())
            .bind(due)
            .bind(int(row.at.saturating_add(row.duration_ms)))
            .bind(int(row.at))
    })
    .await?;
    for Health { lane, failing_since } in health {
        sqlx::query("UPDATE lanes SET failing_since = ? WHERE lane = ?")
            .bind(failing_since.map(int))
            .bind(lane)
            .execute(write.connection())
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
