//! Keys of API consumers.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
};
use http::StatusCode;

use super::{
    operations::Operations,
    problem::Rejection,
    wire::{CreatedKey, KeyStatus, NewKey},
};

/// The answer holds the key: the only time that anybody sees it.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    key: Result<Json<NewKey>, JsonRejection>,
) -> Result<(StatusCode, Json<CreatedKey>), Rejection> {
    let Json(key) = key.map_err(|error| {
        let hint = "Send plugin, tenant, environment (test or live), and if wanted scopes, owner, expires_in_days.";
        Rejection::new(error.status(), "invalid", error.body_text(), hint)
    })?;
    Ok((StatusCode::CREATED, Json(operations.create_key(key).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<KeyStatus>>, Rejection> {
    Ok(Json(operations.keys().await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Path(id): Path<String>,
) -> Result<Json<KeyStatus>, Rejection> {
    Ok(Json(operations.revoke_key(id).await?))
}
