//! Backups: begin one, and see how far it is.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::StatusCode;

use super::{
    asked::read_json,
    operations::Operations,
    plugins::operator,
    problem::Rejection,
    wire::{BackupStatus, NewBackup},
};

/// Answers before it is written: `GET` says when it is.
pub async fn start<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, Json<BackupStatus>), Rejection> {
    let who = operator(request.headers());
    let wish: NewBackup =
        read_json(request, "Send folder, the absolute path of a folder that is not there yet.").await?;
    Ok((StatusCode::ACCEPTED, Json(operations.start_backup(wish, who).await?)))
}

pub async fn status<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<BackupStatus>, Rejection> {
    Ok(Json(operations.backup().await?))
}
