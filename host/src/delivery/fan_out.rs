//! Makes the deliveries for which a batch had no room: those of new events, and those that a command makes again.
//!
//! A single task. Each transaction makes a bounded number of deliveries of one tenant, fewer where they take long, and tenants
//! take turns. New deliveries and those that are made again alternate. After each transaction the writer's connection is left to
//! others for some time, so that neither commits nor other tenants wait for long. The task runs at the start and whenever the
//! engine wakes it, until nothing is left.

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
        apply::Lane,
        deliveries::{MadeDeliveries, RecoveredDeliveries},
    },
    limits::{FAN_OUT_DELIVERIES_MAX, FAN_OUT_DELIVERIES_MIN, FAN_OUT_PART_US, FAN_OUT_PAUSE_MS, FAN_OUT_RESTS},
    stop::told,
};

/// The deliveries of one transaction, for the engine.
pub enum Made {
    New(MadeDeliveries),
    /// The endpoint whose deliveries are due again. `None` if the transaction examined deliveries and none of them is.
    Again(Option<Lane>),
}

/// The result of one transaction, with its size for the next limit.
struct Part {
    made: Made,
    deliveries: usize,
    took: Duration,
}

pub struct FanOutTask {
    database: Database,
    wake: Arc<Notify>,
    made: mpsc::Sender<Made>,
    /// The tenant whose turn was last.
    last: Option<Scope>,
    /// The endpoint whose deliveries were made again last.
    last_lane: Lane,
    /// Whether the last transaction made deliveries again.
    made_again: bool,
    /// Deliveries that the next transaction makes at most.
    limit: usize,
}

impl FanOutTask {
    pub fn new(database: Database) -> (FanOutEnds, FanOutTask) {
        let (wake, (sender, made)) = (Arc::new(Notify::new()), mpsc::channel(1));
        let (last, last_lane, made_again) = (None, 0, true);
        let limit = FAN_OUT_DELIVERIES_MIN;
        let task = FanOutTask { database, wake: wake.clone(), made: sender, last, last_lane, made_again, limit };
        (FanOutEnds { wake, made }, task)
    }

    /// Runs until the engine has ended. The remaining deliveries are made after the next start.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() && !self.made.is_closed() {
            let pause = match self.make_part().await {
                Ok(Some(part)) => {
                    self.limit = next_limit(part.deliveries, part.took);
                    let rest = part.took * FAN_OUT_RESTS;
                    tokio::select! {
                        sent = self.made.send(part.made) => if sent.is_err() { return },
                        () = told(&mut stopped) => return,
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
                () = told(&mut stopped) => return,
                () = self.made.closed() => return,
            }
        }
    }

    /// `None` if nothing of either kind is left.
    async fn make_part(&mut self) -> Result<Option<Part>, DbError> {
        for _ in 0..2 {
            self.made_again = !self.made_again;
            let part = if self.made_again { self.make_again().await? } else { self.make_new().await? };
            if part.is_some() {
                return Ok(part);
            }
        }
        Ok(None)
    }

    async fn make_new(&mut self) -> Result<Option<Part>, DbError> {
        let Some(made) = self.database.make_deliveries(self.last.as_ref(), self.limit).await? else { return Ok(None) };
        self.last = Some(made.scope.clone());
        let (deliveries, took) = (made.deliveries, made.took);
        Ok(Some(Part { made: Made::New(made), deliveries, took }))
    }

    async fn make_again(&mut self) -> Result<Option<Part>, DbError> {
        let part = self.database.recover_deliveries(self.last_lane, self.limit).await?;
        let Some(RecoveredDeliveries { lane, deliveries, is_due, took }) = part else { return Ok(None) };
        self.last_lane = lane;
        Ok(Some(Part { made: Made::Again(is_due.then_some(lane)), deliveries, took }))
    }

    /// A damaged database is reported once, by `Health`.
    fn report(&self, error: &DbError) {
        self.database.health().note(error);
        if !self.database.health().is_damaged() {
            tracing::error!(%error, "failed to make deliveries; trying again");
        }
    }
}

/// As many as would have taken `FAN_OUT_PART_US`, when so many took so long.
fn next_limit(deliveries: usize, took: Duration) -> usize {
    let limit = (deliveries as u128).saturating_mul(FAN_OUT_PART_US) / took.as_micros().max(1);
    usize::try_from(limit).unwrap_or(FAN_OUT_DELIVERIES_MAX).clamp(FAN_OUT_DELIVERIES_MIN, FAN_OUT_DELIVERIES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_that_take_long_are_made_in_smaller_parts() {
        let limit = |deliveries, took_ms| next_limit(deliveries, Duration::from_millis(took_ms));
        assert_eq!(limit(1_024, 5), 1_024);
        assert_eq!(limit(1_024, 10), 512);
        assert_eq!(limit(1_024, 140), FAN_OUT_DELIVERIES_MIN);
        assert_eq!(limit(128, 1), 640);
        assert_eq!(limit(128, 0), FAN_OUT_DELIVERIES_MAX);
        assert_eq!(limit(0, 1), FAN_OUT_DELIVERIES_MIN);
    }
}
