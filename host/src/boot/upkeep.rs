//! What runs beside requests: retention, the looks at the disk, at webhooks that wait and at the certificate, the last use
//! of keys, memory of an idle database.
//!
//! One task each, ended by the same signal; none of them is on the way of a request.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_blocking},
    time::sleep,
};

use super::allocator::trim_system_allocator;
use crate::clock::Timestamp;
use crate::{
    auth::Keys,
    changes::timer::TaskKind,
    clock::Clock,
    config::{Config, RetentionRule},
    db::{
        Database, DbError,
        disk::DiskGauge,
        retention::{GoOn, Growing},
        tasks::TaskCounts,
    },
    http::tls::Tls,
    limits::{
        DISK_LOOK_MS, ENDED_CREDENTIALS_KEPT_MS, IDLE_LOOK_MS, LOCK_FILE_LOOK_MS, OLDEST_LOOK_MS, RETENTION_EVERY_MS,
        VERSION_NOTE_MS,
    },
    metrics::{DeliveryMetrics, TaskMetrics, TaskReading},
};

pub struct Parts {
    pub database: Database,
    pub keys: Arc<Keys>,
    pub config: Arc<Config>,
    pub clock: Clock,
    pub webhooks: DeliveryMetrics,
    pub tasks: TaskMetrics,
    pub tls: Option<Arc<Tls>>,
    pub stopped: watch::Receiver<bool>,
}

/// The running tasks.
pub struct Upkeep {
    disk: DiskGauge,
    tasks: Vec<JoinHandle<()>>,
}

impl Upkeep {
    pub fn start(parts: Parts) -> Upkeep {
        let disk = DiskGauge::of(&parts.database);
        let Parts { database, keys, config, clock, webhooks, tasks: counted, tls, stopped } = parts;
        look_at_disk(&database, &config, &disk);
        let mut tasks = vec![
            tokio::spawn(watch_disk(database.clone(), config.clone(), disk.clone(), stopped.clone())),
            tokio::spawn(note_version(database.clone(), stopped.clone())),
            tokio::spawn(watch_lock(database.clone(), stopped.clone())),
            tokio::spawn(free_cache(database.clone(), stopped.clone())),
            tokio::spawn(watch_webhooks(database.clone(), webhooks, clock.clone(), stopped.clone())),
            tokio::spawn(watch_tasks(database.clone(), counted, clock.clone(), stopped.clone())),
            tokio::spawn(forget(database, config, clock, stopped.clone())),
            tokio::spawn({
                let stop = super::stopping(stopped.clone());
                async move { keys.keep_flushing(stop).await }
            }),
        ];
        if let Some(tls) = tls {
            tasks.push(tokio::spawn(async move { tls.keep_fresh(super::stopping(stopped)).await }));
        }
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

/// Notes the version of the database, so that a start after a crash detects lost commits.
async fn note_version(database: Database, stopped: watch::Receiver<bool>) {
    while next(VERSION_NOTE_MS, &stopped).await.is_some() {
        if let Err(error) = database.note_version().await {
            report(&database, &error, "failed to note the version of the database");
        }
    }
}

/// Returns memory of the database while few write to it.
async fn free_cache(database: Database, stopped: watch::Receiver<bool>) {
    while next(IDLE_LOOK_MS, &stopped).await.is_some() {
        match database.free_cache_if_idle().await {
            Ok(true) => drop(spawn_blocking(trim_system_allocator).await),
            Ok(false) => {}
            Err(error) => report(&database, &error, "failed to free memory of the database"),
        }
    }
}

/// Reports a lock file that was removed, once.
async fn watch_lock(database: Database, stopped: watch::Receiver<bool>) {
    while next(LOCK_FILE_LOOK_MS, &stopped).await.is_some() {
        if !database.has_lock_file().await {
            tracing::error!(
                database = %database.path().display(),
                "the lock file of the database was removed or replaced: restart the host, so that it holds the one that is there"
            );
            return;
        }
    }
}

/// A damaged database is reported once, by `Health`.
fn report(database: &Database, error: &DbError, what: &str) {
    database.health().note(error);
    if !database.health().is_damaged() {
        tracing::warn!("{what}: {error}");
    }
}

async fn watch_webhooks(database: Database, metrics: DeliveryMetrics, clock: Clock, stopped: watch::Receiver<bool>) {
    while next(OLDEST_LOOK_MS, &stopped).await.is_some() {
        match database.oldest_pending().await {
            Ok(oldest) => metrics.set_oldest_pending(oldest.map_or(0, |at| clock.now().saturating_sub(at))),
            Err(error) => report(&database, &error, "the oldest webhook that waits is not known"),
        }
    }
}

async fn watch_tasks(database: Database, metrics: TaskMetrics, clock: Clock, stopped: watch::Receiver<bool>) {
    while next(OLDEST_LOOK_MS, &stopped).await.is_some() {
        for (kind, name) in [(TaskKind::Timer, "timer"), (TaskKind::Effect, "effect")] {
            match database.count_tasks(kind).await {
                Ok(TaskCounts { waiting, given_up, earliest }) => {
                    let late_ms = earliest.map_or(0, |due| clock.now().saturating_sub(due));
                    metrics.set_counts(name, TaskReading { waiting, given_up, late_ms });
                }
                Err(error) => report(&database, &error, "how many tasks wait is not known"),
            }
        }
    }
}

/// At the start, too: a host that is started again and again forgets as well.
async fn forget(database: Database, config: Arc<Config>, clock: Clock, stopped: watch::Receiver<bool>) {
    loop {
        for rule in &config.retention {
            match apply_rule(&database, rule, clock.now(), &|| !*stopped.borrow()).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, kind = rule.kind, "rows past their retention were deleted"),
                Err(error) => {
                    report(&database, &error, &format!("retention of {} failed, it is tried again", rule.kind))
                }
            }
        }
        let ended_before = clock.now().saturating_sub(ENDED_CREDENTIALS_KEPT_MS);
        match database.prune_credentials(ended_before, &|| !*stopped.borrow()).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "keys and tokens of plugins that ended long ago were deleted"),
            Err(error) => report(&database, &error, "keys and tokens could not be deleted, it is tried again"),
        }
        match database.prune_orphans(&|| !*stopped.borrow()).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "deliveries of events or endpoints that are gone were deleted"),
            Err(error) => report(&database, &error, "deliveries could not be deleted, it is tried again"),
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
    if rule.kind == "deliveries" {
        return forget_deliveries(database, rule, now, go_on).await;
    }
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

/// The one kind whose rows are not simply the oldest of one table.
async fn forget_deliveries(
    database: &Database,
    rule: &RetentionRule,
    now: Timestamp,
    go_on: GoOn<'_>,
) -> Result<u64, DbError> {
    match rule.age_ms_max {
        Some(age_ms) => database.prune_deliveries(now.saturating_sub(age_ms), go_on).await,
        None => Ok(0),
    }
}
