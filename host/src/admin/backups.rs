//! Handlers of backups: start one, and report its status.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::StatusCode;

use super::{
    error::HttpError,
    inputs::read_json,
    operations::Operations,
    plugins::operator,
    wire::{BackupStatus, NewBackup},
};

/// Starts a backup and responds while it is being written. `GET` reports its progress.
pub async fn start<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, Json<BackupStatus>), HttpError> {
    let operator = operator(request.headers());
    let backup: NewBackup =
        read_json(request, "Send folder, the absolute path of a folder that does not exist yet.").await?;
    Ok((StatusCode::ACCEPTED, Json(operations.start_backup(backup, operator).await?)))
}

pub async fn status<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<BackupStatus>, HttpError> {
    Ok(Json(operations.backup().await?))
}
