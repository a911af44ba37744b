//! Clients of OAuth, and the keys that sign their tokens.

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
    wire::{ClientStatus, CreatedClient, NewClient, TokenKeysReport},
};

/// The answer holds the secret: the only time that anybody sees it.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedClient>), Rejection> {
    let who = operator(request.headers());
    let hint = "Send plugin, tenant, environment (test or live), and if wanted scopes and jwks.";
    let client: NewClient = read_json(request, hint).await?;
    Ok((StatusCode::CREATED, SecretJson(operations.create_client(client, who).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<ClientStatus>>, Rejection> {
    Ok(Json(operations.clients().await?))
}

pub async fn rotate<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<SecretJson<CreatedClient>, Rejection> {
    Ok(SecretJson(operations.rotate_client(id, operator(&headers)).await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<Json<ClientStatus>, Rejection> {
    Ok(Json(operations.revoke_client(id, operator(&headers)).await?))
}

pub async fn rotate_keys<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
) -> Result<Json<TokenKeysReport>, Rejection> {
    Ok(Json(operations.rotate_token_keys(operator(&headers)).await?))
}
