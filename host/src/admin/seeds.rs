//! Seeds: who has one, and their words, which no error repeats and nobody on the way may keep.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};

use super::{
    asked::{read_json, read_secret_json},
    operations::Operations,
    plugins::operator,
    problem::Rejection,
    secret_json::SecretJson,
    wire::{SeedCopy, SeedName},
};

/// Of every answer here.
const NOT_KEPT: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Response, Rejection> {
    Ok((NOT_KEPT, Json(operations.seeds().await?)).into_response())
}

pub async fn export<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Rejection> {
    let name: SeedName = read_json(request, "Send plugin and tenant (acme/test).").await?;
    Ok(SecretJson(operations.export_seed(name, operator(&headers)).await?).into_response())
}

pub async fn import<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Rejection> {
    let copy: SeedCopy = read_secret_json(request, "Send plugin, tenant (acme/test) and phrase.").await?;
    Ok((NOT_KEPT, Json(operations.import_seed(copy, operator(&headers)).await?)).into_response())
}
