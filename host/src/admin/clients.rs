//! Handlers of OAuth clients and of the keys that sign access tokens.

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
    wire::{ClientStatus, CreatedClient, NewClient, TokenKeysReport},
};

/// Creates a client. Only this response contains the secret.
pub async fn create<O: Operations>(
    State(operations): State<Arc<O>>,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedClient>), HttpError> {
    let operator = operator(request.headers());
    let hint = "Send plugin, tenant, environment (test or live), and optionally scopes and jwks.";
    let client: NewClient = read_json(request, hint).await?;
    Ok((StatusCode::CREATED, SecretJson(operations.create_client(client, operator).await?)))
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Result<Json<Vec<ClientStatus>>, HttpError> {
    Ok(Json(operations.clients().await?))
}

pub async fn rotate<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<SecretJson<CreatedClient>, HttpError> {
    Ok(SecretJson(operations.rotate_client(id, operator(&headers)).await?))
}

pub async fn revoke<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(id): Name,
    headers: HeaderMap,
) -> Result<Json<ClientStatus>, HttpError> {
    Ok(Json(operations.revoke_client(id, operator(&headers)).await?))
}

pub async fn rotate_keys<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
) -> Result<Json<TokenKeysReport>, HttpError> {
    Ok(Json(operations.rotate_token_keys(operator(&headers)).await?))
}
