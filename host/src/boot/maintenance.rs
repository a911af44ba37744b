//! Background tasks: retention, checks of the disk, the lock file, waiting webhooks and tasks, reloads of the
//! certificate, the last use of keys, the noted version of the database, and its memory while it is idle.
//!
//! Each is a separate task. All of them end with the shutdown signal, and no request waits for them.

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
        retention::{ContinueCheck, GrowingTable},
        tasks::TaskCounts,
    },
    http::tls::Tls,
    limits::{
        DISK_CHECK_MS, ENDED_CREDENTIALS_KEPT_MS, IDLE_CHECK_MS, LOCK_FILE_CHECK_MS, OLDEST_PENDING_CHECK_MS,
        RETENTION_EVERY_MS, VERSION_NOTE_MS,
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
pub struct Maintenance {
    disk: DiskGauge,
    tasks: Vec<JoinHandle<()>>,
}

impl Maintenance {
    pub fn start(parts: Parts) -> Maintenance {
        let disk = DiskGauge::of(&parts.database);
        let Parts { database, keys, config, clock, webhooks, tasks: task_metrics, tls, stopped } = parts;
        measure_disk(&database, &config, &disk);
        let mut tasks = vec![
            tokio::spawn(watch_disk(database.clone(), config.clone(), disk.clone(), stopped.clone())),
            tokio::spawn(record_version(database.clone(), stopped.clone())),
            tokio::spawn(watch_lock(database.clone(), stopped.clone())),
            tokio::spawn(free_cache(database.clone(), stopped.clone())),
            tokio::spawn(watch_webhooks(database.clone(), webhooks, clock.clone(), stopped.clone())),
            tokio::spawn(watch_tasks(database.clone(), task_metrics, clock.clone(), stopped.clone())),
            tokio::spawn(apply_retention(database, config, clock, stopped.clone())),
            tokio::spawn({
                let stop = super::stopping(stopped.clone());
                async move { keys.run_use_flusher(stop).await }
            }),
        ];
        if let Some(tls) = tls {
            tasks.push(tokio::spawn(async move { tls.reload_on_change(super::stopping(stopped)).await }));
        }
        Maintenance { disk, tasks }
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

/// Waits for the interval. Returns `None` once the host stops.
async fn wait(every_ms: u64, stopped: &watch::Receiver<bool>) -> Option<()> {
    let stop: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(super::stopping(stopped.clone()));
    tokio::select! {
        () = sleep(Duration::from_millis(every_ms)) => Some(()),
        () = stop => None,
    }
}

async fn watch_disk(database: Database, config: Arc<Config>, disk: DiskGauge, stopped: watch::Receiver<bool>) {
    while wait(DISK_CHECK_MS, &stopped).await.is_some() {
        measure_disk(&database, &config, &disk);
    }
}

fn measure_disk(database: &Database, config: &Config, disk: &DiskGauge) {
    match database.free_disk_bytes() {
        Ok(free) => disk.set_free_bytes(free, config.free_disk_bytes_min),
        Err(error) => tracing::warn!("failed to read the free disk space: {error}"),
    }
}

/// Notes the version of the database, so that a start after a crash detects lost commits.
async fn record_version(database: Database, stopped: watch::Receiver<bool>) {
    while wait(VERSION_NOTE_MS, &stopped).await.is_some() {
        if let Err(error) = database.record_version().await {
            report(&database, &error, "failed to note the version of the database");
        }
    }
}

/// Frees memory of the database while it has few writes.
async fn free_cache(database: Database, stopped: watch::Receiver<bool>) {
    while wait(IDLE_CHECK_MS, &stopped).await.is_some() {
        match database.free_cache_if_idle().await {
            Ok(true) => drop(spawn_blocking(trim_system_allocator).await),
            Ok(false) => {}
            Err(error) => report(&database, &error, "failed to free memory of the database"),
        }
    }
}

/// Reports a lock file that was removed, once.
async fn watch_lock(database: Database, stopped: watch::Receiver<bool>) {
    while wait(LOCK_FILE_CHECK_MS, &stopped).await.is_some() {
        if !database.has_lock_file().await {
            tracing::error!(
                database = %database.path().display(),
                "the lock file of the database was removed or replaced: restart the host, so that it locks the current file"
            );
            return;
        }
    }
}

/// Records an error. Logs it unless the database is damaged, which `Health` reports once.
fn report(database: &Database, error: &DbError, message: &str) {
    database.health().record_error(error);
    if !database.health().is_damaged() {
        tracing::warn!("{message}: {error}");
    }
}

async fn watch_webhooks(database: Database, metrics: DeliveryMetrics, clock: Clock, stopped: watch::Receiver<bool>) {
    while wait(OLDEST_PENDING_CHECK_MS, &stopped).await.is_some() {
        match database.oldest_pending().await {
            Ok(oldest) => metrics.set_oldest_pending(oldest.map_or(0, |at| clock.now().saturating_sub(at))),
            Err(error) => report(&database, &error, "failed to find the oldest waiting webhook"),
        }
    }
}

async fn watch_tasks(database: Database, metrics: TaskMetrics, clock: Clock, stopped: watch::Receiver<bool>) {
    while wait(OLDEST_PENDING_CHECK_MS, &stopped).await.is_some() {
        for (kind, name) in [(TaskKind::Timer, "timer"), (TaskKind::Effect, "effect")] {
            match database.count_tasks(kind).await {
                Ok(TaskCounts { waiting, given_up, earliest }) => {
                    let late_ms = earliest.map_or(0, |due| clock.now().saturating_sub(due));
                    metrics.set_counts(name, TaskReading { waiting, given_up, late_ms });
                }
                Err(error) => report(&database, &error, "failed to count the waiting tasks"),
            }
        }
    }
}

/// Applies the retention rules periodically. Also deletes orphaned deliveries, and keys and tokens that plugins issued
/// if they expired or were revoked long ago.
///
/// The first run is at the start, so that a host that restarts often applies the rules, too.
async fn apply_retention(database: Database, config: Arc<Config>, clock: Clock, stopped: watch::Receiver<bool>) {
    loop {
        for rule in &config.retention {
            match apply_rule(&database, rule, clock.now(), &|| !*stopped.borrow()).await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, kind = rule.kind, "deleted rows past their retention"),
                Err(error) => {
                    report(&database, &error, &format!("failed to apply the retention of {}, will retry", rule.kind))
                }
            }
        }
        let ended_before = clock.now().saturating_sub(ENDED_CREDENTIALS_KEPT_MS);
        match database.prune_credentials(ended_before, &|| !*stopped.borrow()).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "deleted keys and tokens of plugins that expired long ago"),
            Err(error) => report(&database, &error, "failed to delete expired keys and tokens, will retry"),
        }
        match database.prune_orphans(&|| !*stopped.borrow()).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "deleted deliveries without an event or endpoint"),
            Err(error) => report(&database, &error, "failed to delete orphaned deliveries, will retry"),
        }
        if wait(RETENTION_EVERY_MS, &stopped).await.is_none() {
            return;
        }
    }
}

async fn apply_rule(
    database: &Database,
    rule: &RetentionRule,
    now: Timestamp,
    should_continue: ContinueCheck<'_>,
) -> Result<u64, DbError> {
    if rule.kind == "deliveries" {
        return prune_old_deliveries(database, rule, now, should_continue).await;
    }
    let Some(table) = GrowingTable::parse(&rule.kind) else { return Ok(0) };
    let mut rows = 0;
    if let Some(age_ms) = rule.age_ms_max {
        rows += database.prune_older(table, now.saturating_sub(age_ms), should_continue).await?;
    }
    if let Some(bytes) = rule.bytes_max {
        rows += database.prune_larger(table, bytes, should_continue).await?;
    }
    Ok(rows)
}

/// Applies a rule for deliveries, the only kind that spans several tables.
async fn prune_old_deliveries(
    database: &Database,
    rule: &RetentionRule,
    now: Timestamp,
    should_continue: ContinueCheck<'_>,
) -> Result<u64, DbError> {
    match rule.age_ms_max {
        Some(age_ms) => database.prune_deliveries(now.saturating_sub(age_ms), should_continue).await,
        None => Ok(0),
    }
}
