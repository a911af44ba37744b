//! Health, metrics, and what operators check or repair.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};

use super::{
    operations::Operations,
    plugins::operator,
    problem::Rejection,
    wire::{LedgerReport, RotationReport},
};

/// The process runs and answers. Asks nothing else, so that a full disk does not get the host restarted.
pub async fn health() -> &'static str {
    "ok\n"
}

pub async fn readiness<O: Operations>(State(operations): State<Arc<O>>) -> Response {
    let readiness = operations.readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

pub async fn metrics<O: Operations>(State(operations): State<Arc<O>>) -> Result<Response, Rejection> {
    let text = operations.metrics()?;
    Ok(([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}

pub async fn ledger<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<LedgerReport>, Rejection> {
    Ok(Json(operations.check_ledger().await?))
}

pub async fn rotate_secrets<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
) -> Result<Json<RotationReport>, Rejection> {
    Ok(Json(operations.rotate_secrets(operator(&headers)).await?))
}
