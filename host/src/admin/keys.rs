//! Keys of API consumers.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, StatusCode};

use super::{
    asked::{Name, read_json},
    operations::Operations,
    plugins::operator,
    problem::Rejection,
    secret_json::SecretJson,
    wire::{CreatedKey, KeyStatus, NewKey},
};

/// The answer holds the key: the only time that anybody sees it.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedKey>), Rejection> {
    let who = operator(request.headers());
    let hint = "Send plugin, tenant, environment (test or live), and if wanted scopes, allow_unknown_scopes, owner, \
                expires_in_days, signs.";
    let key: NewKey = read_json(request, hint).await?;
    Ok((StatusCode::CREATED, SecretJson(operations.create_key(key, who).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<KeyStatus>>, Rejection> {
    Ok(Json(operations.keys().await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<Json<KeyStatus>, Rejection> {
    Ok(Json(operations.revoke_key(id, operator(&headers)).await?))
}
