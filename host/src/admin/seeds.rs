//! Handlers of seeds. No error message repeats the words of a seed, and no cache may store a response.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};

use super::{
    error::HttpError,
    inputs::{read_json, read_secret_json},
    operations::Operations,
    plugins::operator,
    secret_json::SecretJson,
    wire::{SeedCopy, SeedOwner},
};

/// Header of every response in this file.
const NO_STORE: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Response, HttpError> {
    Ok((NO_STORE, Json(operations.seeds().await?)).into_response())
}

pub async fn export<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, HttpError> {
    let owner: SeedOwner = read_json(request, "Send plugin and tenant (acme/test).").await?;
    Ok(SecretJson(operations.export_seed(owner, operator(&headers)).await?).into_response())
}

pub async fn import<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, HttpError> {
    let copy: SeedCopy = read_secret_json(request, "Send plugin, tenant (acme/test) and phrase.").await?;
    Ok((NO_STORE, Json(operations.import_seed(copy, operator(&headers)).await?)).into_response())
}
