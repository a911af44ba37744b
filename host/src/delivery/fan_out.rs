//! Makes the deliveries that were too many for the batch of their events, beside the commits of others.
//!
//! A single task. Each transaction makes a bounded number of deliveries of one tenant, and tenants take turns, so that neither
//! commits nor other tenants wait for long. It runs at the start and whenever the engine wakes it, until nothing is left.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, watch},
    time::sleep,
};

use super::engine::FanOutEnds;
use crate::{
    changes::scope::Scope,
    db::{Database, DbError, deliveries::MadeDeliveries},
    limits::{FAN_OUT_DELIVERIES_MAX, FAN_OUT_PAUSE_MS},
    stop::told,
};

pub struct FanOutTask {
    database: Database,
    wake: Arc<Notify>,
    made: mpsc::Sender<MadeDeliveries>,
    /// The tenant whose turn was last.
    last: Option<Scope>,
}

impl FanOutTask {
    pub fn new(database: Database) -> (FanOutEnds, FanOutTask) {
        let (wake, (sender, made)) = (Arc::new(Notify::new()), mpsc::channel(1));
        (FanOutEnds { wake: wake.clone(), made }, FanOutTask { database, wake, made: sender, last: None })
    }

    /// Runs until the engine has ended. The remaining deliveries are made after the next start.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() && !self.made.is_closed() {
            let pause = match self.database.make_deliveries(self.last.as_ref(), FAN_OUT_DELIVERIES_MAX).await {
                Ok(Some(made)) => {
                    self.last = Some(made.scope.clone());
                    tokio::select! {
                        sent = self.made.send(made) => if sent.is_err() { return },
                        () = told(&mut stopped) => return,
                    }
                    continue;
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

    /// A damaged database is reported once, by `Health`.
    fn report(&self, error: &DbError) {
        self.database.health().note(error);
        if !self.database.health().is_damaged() {
            tracing::error!(%error, "failed to make the deliveries of an event; trying again");
        }
    }
}
