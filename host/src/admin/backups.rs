//! Backups of a running host: start, status.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    routing::post,
};
use http::StatusCode;

use super::{
    AdminError, Services,
    backup_task::BACKUP,
    inputs::{Operator, read_json},
    routes::Routes,
    wire::{BackupStatus, NewBackup},
};

pub fn routes() -> Routes {
    Routes::default().read("/v1/backup", status).action(BACKUP, "/v1/backup", post(start))
}

/// Starts a backup and responds while it is being written. `GET` reports its progress.
async fn start(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<(StatusCode, Json<BackupStatus>), AdminError> {
    let hint = "Send folder, the absolute path of a folder that does not exist yet.";
    let NewBackup { folder } = read_json(request, hint).await?;
    let status = host.backups.start(folder.into(), operator.name).await?;
    Ok((StatusCode::ACCEPTED, Json(status)))
}

async fn status(State(host): State<Arc<Services>>) -> Result<Json<BackupStatus>, AdminError> {
    host.backups.status().map(Json)
}
