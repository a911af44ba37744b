//! What runs beside requests: retention, the look at the disk, the last use of keys, the size of the log.
//!
//! One task each, ended by the same signal; none of them is on the way of a request.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    auth::Keys,
    changes::change_set::Timestamp,
    clock::Clock,
    config::{Config, RetentionRule},
    db::{
        Database, DbError,
        disk::DiskGauge,
        retention::{GoOn, Growing},
    },
    limits::{DISK_LOOK_MS, RETENTION_EVERY_MS},
};

pub struct Parts {
    pub database: Database,
    pub keys: Arc<Keys>,
    pub config: Arc<Config>,
    pub clock: Clock,
    pub stopped: watch::Receiver<bool>,
}

/// The running tasks.
pub struct Upkeep {
    disk: DiskGauge,
    tasks: Vec<JoinHandle<()>>,
}

impl Upkeep {
    pub fn start(parts: Parts) -> Upkeep {
        let disk = DiskGauge::default();
        let Parts { database, keys, config, clock, stopped } = parts;
        look_at_disk(&database, &config, &disk);
        let tasks = vec![
            tokio::spawn(watch_disk(database.clone(), config.clone(), disk.clone(), stopped.clone())),
            tokio::spawn(forget(database, config, clock, stopped.clone())),
            tokio::spawn(async move { keys.keep_flushing(super::stopping(stopped)).await }),
        ];
        Upkeep { disk, tasks }
    }

    pub fn disk(&self) -> DiskGauge {
        self.disk.clone()
    }

    pub async fn stop(self) {
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

/// `None` once the host stops.
async fn next(every_ms: u64, stopped: &watch::Receiver<bool>) -> Option<()> {
    let stop: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(super::stopping(stopped.clone()));
    tokio::select! {
        () = sleep(Duration::from_millis(every_ms)) => Some(()),
        () = stop => None,
    }
}

async fn watch_disk(database: Database, config: Arc<Config>, disk: DiskGauge, stopped: watch::Receiver<bool>) {
    while next(DISK_LOOK_MS, &stopped).await.is_some() {
        look_at_disk(&database, &config, &disk);
    }
}

fn look_at_disk(database: &Database, config: &Config, disk: &DiskGauge) {
    match database.free_disk_bytes() {
        Ok(free) => disk.set_free(free, config.free_disk_bytes_min),
        Err(error) => tracing::warn!("the free space of the disk is not known: {error}"),
    }
}

/// At the start, too: a host that is started again and again forgets as well.
async fn forget(database: Database, config: Arc<Config>, clock: Clock, stopped: watch::Receiver<bool>) {
    loop {
        for rule in &config.retention {
            match apply_rule(&database, rule, clock.now(), &|| !*stopped.borrow()).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, kind = rule.kind, "rows past their retention were deleted"),
                Err(error) => tracing::warn!(kind = rule.kind, "retention failed, it is tried again: {error}"),
            }
        }
        if next(RETENTION_EVERY_MS, &stopped).await.is_none() {
            return;
        }
    }
}

async fn apply_rule(
    database: &Database,
    rule: &RetentionRule,
    now: Timestamp,
    go_on: GoOn<'_>,
) -> Result<u64, DbError> {
    let Some(what) = Growing::parse(&rule.kind) else { return Ok(0) };
    let mut rows = 0;
    if let Some(age_ms) = rule.age_ms_max {
        rows += database.prune_older(what, now.saturating_sub(age_ms), go_on).await?;
    }
    if let Some(bytes) = rule.bytes_max {
        rows += database.prune_larger(what, bytes, go_on).await?;
    }
    Ok(rows)
}
