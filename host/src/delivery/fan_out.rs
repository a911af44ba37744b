//! Creates the deliveries that exceed the batch of their event, and continues recoveries that exceed the batch of their
//! command.
//!
//! A single task. Each transaction handles a bounded number of deliveries of one tenant, fewer if they take long.
//! Tenants alternate, and so do new deliveries and recoveries. After each transaction the task pauses and leaves the
//! writer's connection to others, so that neither commits nor other tenants wait for long. The task runs at the start
//! and whenever the engine wakes it, until nothing is left.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, watch},
    time::sleep,
};

use super::engine::FanOutEnds;
use crate::{
    changes::scope::Scope,
    db::{
        Database, DbError,
        apply::QueueId,
        deliveries::{CreatedDeliveries, RecoveredDeliveries},
    },
    limits::{FAN_OUT_DELIVERIES_MAX, FAN_OUT_DELIVERIES_MIN, FAN_OUT_PART_US, FAN_OUT_PAUSE_FACTOR, FAN_OUT_PAUSE_MS},
    shutdown::requested,
};

/// The result of one transaction, for the engine.
pub enum FanOutResult {
    Created(CreatedDeliveries),
    /// The queue whose deliveries are due again. `None` if none of the examined deliveries is due again.
    Recovered(Option<QueueId>),
}

/// The result of one transaction, with its size and duration for the next limit.
struct Part {
    result: FanOutResult,
    deliveries: usize,
    took: Duration,
}

pub struct FanOutTask {
    database: Database,
    wake: Arc<Notify>,
    results: mpsc::Sender<FanOutResult>,
    /// The tenant of the last created deliveries.
    last: Option<Scope>,
    /// The queue of the last recovered deliveries.
    last_queue: QueueId,
    /// True if the last search was for recoveries, whether or not it found any.
    has_recovered: bool,
    /// Maximum number of deliveries in the next transaction.
    limit: usize,
}

impl FanOutTask {
    pub fn new(database: Database) -> (FanOutEnds, FanOutTask) {
        let (wake, (sender, results)) = (Arc::new(Notify::new()), mpsc::channel(1));
        let (last, last_queue, has_recovered) = (None, QueueId::default(), true);
        let limit = FAN_OUT_DELIVERIES_MIN;
        let task = FanOutTask { database, wake: wake.clone(), results: sender, last, last_queue, has_recovered, limit };
        (FanOutEnds { wake, results }, task)
    }

    /// Runs until the host stops or the engine has ended. The remaining deliveries are created after the next start.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() && !self.results.is_closed() {
            let pause = match self.run_part().await {
                Ok(Some(part)) => {
                    self.limit = next_limit(part.deliveries, part.took);
                    let rest = part.took * FAN_OUT_PAUSE_FACTOR;
                    tokio::select! {
                        sent = self.results.send(part.result) => if sent.is_err() { return },
                        () = requested(&mut stopped) => return,
                    }
                    Some(rest)
                }
                Ok(None) => None,
                Err(error) => {
                    self.report(&error);
                    Some(Duration::from_millis(FAN_OUT_PAUSE_MS))
                }
            };
            tokio::select! {
                () = self.wake.notified(), if pause.is_none() => {}
                () = sleep(pause.unwrap_or_default()), if pause.is_some() => {}
                () = requested(&mut stopped) => return,
                () = self.results.closed() => return,
            }
        }
    }

    /// Runs one transaction. Returns `None` if neither deliveries nor recoveries remain.
    async fn run_part(&mut self) -> Result<Option<Part>, DbError> {
        for _ in 0..2 {
            self.has_recovered = !self.has_recovered;
            let part = if self.has_recovered { self.recover().await? } else { self.create().await? };
            if part.is_some() {
                return Ok(part);
            }
        }
        Ok(None)
    }

    async fn create(&mut self) -> Result<Option<Part>, DbError> {
        let Some(created) = self.database.create_deliveries(self.last.as_ref(), self.limit).await? else {
            return Ok(None);
        };
        self.last = Some(created.scope.clone());
        let (deliveries, took) = (created.deliveries, created.took);
        Ok(Some(Part { result: FanOutResult::Created(created), deliveries, took }))
    }

    async fn recover(&mut self) -> Result<Option<Part>, DbError> {
        let part = self.database.recover_deliveries(self.last_queue, self.limit).await?;
        let Some(RecoveredDeliveries { queue, deliveries, is_due, took }) = part else { return Ok(None) };
        self.last_queue = queue;
        Ok(Some(Part { result: FanOutResult::Recovered(is_due.then_some(queue)), deliveries, took }))
    }

    /// Logs an error. `Health` logs damage of the database, once.
    fn report(&self, error: &DbError) {
        self.database.health().record_error(error);
        if !self.database.health().is_damaged() {
            tracing::error!(%error, "failed to create deliveries; trying again");
        }
    }
}

/// Returns the number of deliveries that would take `FAN_OUT_PART_US` at the measured rate, between
/// `FAN_OUT_DELIVERIES_MIN` and `FAN_OUT_DELIVERIES_MAX`.
fn next_limit(deliveries: usize, took: Duration) -> usize {
    let limit = (deliveries as u128).saturating_mul(FAN_OUT_PART_US) / took.as_micros().max(1);
    usize::try_from(limit).unwrap_or(FAN_OUT_DELIVERIES_MAX).clamp(FAN_OUT_DELIVERIES_MIN, FAN_OUT_DELIVERIES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_transactions_reduce_the_next_limit() {
        let limit = |deliveries, took_ms| next_limit(deliveries, Duration::from_millis(took_ms));
        assert_eq!(limit(1_024, 5), 1_024);
        assert_eq!(limit(1_024, 10), 512);
        assert_eq!(limit(1_024, 140), FAN_OUT_DELIVERIES_MIN);
        assert_eq!(limit(128, 1), 640);
        assert_eq!(limit(128, 0), FAN_OUT_DELIVERIES_MAX);
        assert_eq!(limit(0, 1), FAN_OUT_DELIVERIES_MIN);
    }
}
