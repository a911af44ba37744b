//! What runs beside requests: retention, the look at the disk, the last use of keys, the size of the log.
//!
//! One task each, ended by the same signal; none of them is on the way of a request.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    auth::Keys,
    clock::Clock,
    config::Config,
    db::Database,
    limits::{DISK_LOOK_MS, RETENTION_EVERY_MS},
};

/// Whether the disk of the database has fallen below the watermark.
#[derive(Clone, Default)]
pub struct Disk(Arc<AtomicBool>);

impl Disk {
    pub fn is_low(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, low: bool) {
        if self.0.swap(low, Ordering::Relaxed) != low {
            match low {
                true => tracing::error!("the disk is nearly full (free-disk-bytes-min): writing requests get 503 until there is room"),
                false => tracing::info!("there is room on the disk again: writing requests are served"),
            }
        }
    }
}

pub struct Parts {
    pub database: Database,
    pub keys: Arc<Keys>,
    pub config: Arc<Config>,
    pub clock: Clock,
    pub stopped: watch::Receiver<bool>,
}

/// The running tasks.
pub struct Upkeep {
    disk: Disk,
    tasks: Vec<JoinHandle<()>>,
}

impl Upkeep {
    pub fn start(parts: Parts) -> Upkeep {
        let disk = Disk::default();
        let Parts { database, keys, config, clock, stopped } = parts;
        look_at_disk(&database, &config, &disk);
        let tasks = vec![
            tokio::spawn(watch_disk(database.clone(), config.clone(), disk.clone(), stopped.clone())),
            tokio::spawn(forget(database, config, clock, stopped.clone())),
            tokio::spawn(async move { keys.keep_flushing(super::stopping(stopped)).await }),
        ];
        Upkeep { disk, tasks }
    }

    pub fn disk(&self) -> Disk {
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

async fn watch_disk(database: Database, config: Arc<Config>, disk: Disk, stopped: watch::Receiver<bool>) {
    while next(DISK_LOOK_MS, &stopped).await.is_some() {
        look_at_disk(&database, &config, &disk);
    }
}

fn look_at_disk(database: &Database, config: &Config, disk: &Disk) {
    match database.free_disk_bytes() {
        Ok(free) => disk.set(free < config.free_disk_bytes_min),
        Err(error) => tracing::warn!("the free space of the disk is not known: {error}"),
    }
}

async fn forget(database: Database, config: Arc<Config>, clock: Clock, stopped: watch::Receiver<bool>) {
    while next(RETENTION_EVERY_MS, &stopped).await.is_some() {
        for rule in &config.retention {
            match database.forget(rule, clock.now()).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, kind = rule.kind, "rows past their retention were deleted"),
                Err(error) => tracing::warn!(kind = rule.kind, "retention failed, it is tried again: {error}"),
            }
        }
    }
}
