//! Handlers of health, readiness, metrics, the ledger check and the rotation of secrets.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};

use super::{
    error::HttpError,
    operations::Operations,
    plugins::operator,
    wire::{LedgerReport, RotationReport},
};

/// Answers 200 while the process runs. It checks nothing else, so that a full disk does not cause a restart of the
/// host.
pub async fn health() -> &'static str {
    "ok\n"
}

pub async fn readiness<O: Operations>(State(operations): State<Arc<O>>) -> Response {
    let readiness = operations.readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

pub async fn metrics<O: Operations>(State(operations): State<Arc<O>>) -> Result<Response, HttpError> {
    let text = operations.metrics()?;
    Ok(([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}

pub async fn ledger<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<LedgerReport>, HttpError> {
    Ok(Json(operations.check_ledger().await?))
}

pub async fn rotate_secrets<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
) -> Result<Json<RotationReport>, HttpError> {
    Ok(Json(operations.rotate_secrets(operator(&headers)).await?))
}
