//! Health, readiness and metrics, for supervisors, load balancers and monitoring. They need no token.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};

use super::{AdminError, Services, routes::Routes, wire::Readiness};
use crate::{
    commit::committer::Committer,
    db::{Database, disk::DiskGauge},
    metrics::{CommitterReading, CommitterResets, DatabaseReading, HostReading},
    plugin::progress,
};

pub fn routes() -> Routes {
    Routes::default().probe("/healthz", health).probe("/readyz", readiness).probe("/metrics", metrics)
}

/// Answers 200 while the process runs. It checks nothing else, so that a full disk does not cause a restart of the
/// host.
async fn health() -> &'static str {
    "ok\n"
}

/// Answers 200 if load balancers may send requests, otherwise 503 with the reasons.
async fn readiness(State(host): State<Arc<Services>>) -> Response {
    let mut reasons = Vec::new();
    if *host.stopped.borrow() {
        reasons.push("the host is stopping".to_owned());
    }
    reasons.extend(storage_reasons(&host.committer, &host.database, &host.disk));
    if host.reloader.has_ended() {
        reasons.push("the task that swaps plugins has ended".to_owned());
    }
    reasons.extend(progress::reasons(&host.reloader.status().await, &host.loader.progress().current()));
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready: reasons.is_empty(), reasons })).into_response()
}

/// Returns the reasons why writing requests get 503, for `/readyz` and the banner.
pub fn storage_reasons(committer: &Committer, database: &Database, disk: &DiskGauge) -> Vec<String> {
    let closed = committer.closed().map(|reason| format!("the database cannot be written: {reason}"));
    let low = "the disk is nearly full: writing requests get 503";
    let low = disk.is_low().then(|| low.to_owned());
    closed.into_iter().chain(database.health().storage_failure()).chain(low).collect()
}

/// Renders the metrics in the Prometheus text format.
async fn metrics(State(host): State<Arc<Services>>) -> Result<Response, AdminError> {
    host.metrics.memory().set(&host.budget.readings(), host.connections.reading());
    let (file_bytes, log_bytes) = host.database.file_bytes();
    let free_disk_bytes = host.database.free_disk_bytes().unwrap_or_default();
    let reading = HostReading {
        committer: read_committer(&host.committer),
        database: DatabaseReading { file_bytes, log_bytes, free_disk_bytes },
        started_at: host.started_at,
        certificate_expires_at: host.tls.as_ref().and_then(|tls| tls.expires_at()),
    };
    let text = host.metrics.render(reading).map_err(AdminError::failed)?;
    Ok(([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}

fn read_committer(committer: &Committer) -> CommitterReading {
    let stats = committer.stats();
    CommitterReading {
        batches: stats.batches,
        changes: stats.changes,
        conflicts: stats.conflicts,
        reservations: stats.reservations,
        resets: CommitterResets {
            foreign_writes: stats.resets.foreign_writes,
            storage_failures: stats.resets.storage_failures,
            swaps: stats.resets.swaps,
        },
        queue: stats.queued,
        overlay_bytes: stats.overlay_bytes,
        overlay_pinned_bytes: stats.overlay_pinned_bytes,
    }
}
