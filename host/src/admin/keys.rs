//! Handlers of API keys.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, StatusCode};

use super::{
    error::HttpError,
    inputs::{Name, read_json},
    operations::Operations,
    plugins::operator,
    secret_json::SecretJson,
    wire::{CreatedKey, KeyStatus, NewKey},
};

/// Creates a key. Only this response contains its text.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedKey>), HttpError> {
    let operator = operator(request.headers());
    let hint = "Send plugin, tenant, environment (test or live), and optionally scopes, allow_unknown_scopes, owner, \
                expires_in_days, signs.";
    let key: NewKey = read_json(request, hint).await?;
    Ok((StatusCode::CREATED, SecretJson(operations.create_key(key, operator).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<KeyStatus>>, HttpError> {
    Ok(Json(operations.keys().await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<Json<KeyStatus>, HttpError> {
    Ok(Json(operations.revoke_key(id, operator(&headers)).await?))
}
