//! Keys of API consumers.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::StatusCode;

use super::{
    asked::{Name, read_json},
    operations::Operations,
    problem::Rejection,
    wire::{CreatedKey, KeyStatus, NewKey},
};

/// The answer holds the key: the only time that anybody sees it.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, Json<CreatedKey>), Rejection> {
    let hint = "Send plugin, tenant, environment (test or live), and if wanted scopes, allow_unknown_scopes, owner, \
                expires_in_days, signs.";
    let key: NewKey = read_json(request, hint).await?;
    Ok((StatusCode::CREATED, Json(operations.create_key(key).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<KeyStatus>>, Rejection> {
    Ok(Json(operations.keys().await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
) -> Result<Json<KeyStatus>, Rejection> {
    Ok(Json(operations.revoke_key(id).await?))
}
