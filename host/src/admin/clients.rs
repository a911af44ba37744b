//! OAuth clients and the keys that sign access tokens: create, list, rotate, revoke.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Json,
    extract::{Request, State},
    routing::{delete, post},
};
use http::StatusCode;

use super::{
    AdminError, Services,
    inputs::{Name, Operator, read_json},
    routes::Routes,
    secret_json::SecretJson,
    services::auth_error,
    wire::{ClientStatus, CreatedClient, NewClient, TimestampText, TokenKeysReport},
};
use crate::{
    auth::{
        AuthAdminError,
        oauth::{self, ClientRow, OAuthError},
    },
    changes::operator_action::{CREATE_CLIENT, REVOKE_CLIENT, ROTATE_CLIENT, ROTATE_TOKEN_KEYS},
    secrets::SecretText,
};

pub fn routes() -> Routes {
    Routes::default()
        .read("/v1/clients", list)
        .action(CREATE_CLIENT, "/v1/clients", post(create))
        .action(REVOKE_CLIENT, "/v1/clients/{id}", delete(revoke))
        .action(ROTATE_CLIENT, "/v1/clients/{id}/rotate", post(rotate))
        .action(ROTATE_TOKEN_KEYS, "/v1/oauth/rotate-keys", post(rotate_token_keys))
}

async fn list(State(host): State<Arc<Services>>) -> Json<Vec<ClientStatus>> {
    Json(host.oauth.clients().iter().map(|row| client_status(row)).collect())
}

/// Creates a client. Only this response contains the secret.
async fn create(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedClient>), AdminError> {
    let hint = "Send plugin, tenant, environment (test or live), and optionally scopes and jwks.";
    let client: NewClient = read_json(request, hint).await?;
    host.find_plugin(&client.plugin).await?;
    let known = token_scopes(&host, &client.plugin)?;
    let scopes = match client.scopes {
        None => known,
        Some(scopes) => {
            host.check_scopes(&client.plugin, &scopes, "")?;
            scopes
        }
    };
    let new = oauth::NewClient {
        plugin: client.plugin,
        organization: client.tenant,
        environment: client.environment.into(),
        scopes,
        jwks: client.jwks.map(|jwks| jwks.to_string()),
        operator: Some(operator.name),
    };
    let created = host.oauth.create_client(new, host.clock.now()).await.map_err(client_error)?;
    Ok((StatusCode::CREATED, SecretJson(created_client(created))))
}

/// Replaces the secret. The previous secret stays valid for a limited time.
async fn rotate(
    State(host): State<Arc<Services>>,
    operator: Operator,
    Name(id): Name,
) -> Result<SecretJson<CreatedClient>, AdminError> {
    let rotated = host.oauth.rotate_client(&id, host.clock.now(), Some(&operator.name)).await;
    let created = rotated.map_err(client_error)?.ok_or_else(|| {
        let message = format!("There is no client \"{id}\" that has a secret and is not revoked.");
        let hint = "List the clients with `tenon client list`. To replace the keys of a client that signs, create a \
                    new client.";
        AdminError::not_found(message, hint)
    })?;
    Ok(SecretJson(created_client(created)))
}

/// Revokes a client. From the next request on it gets no tokens, and its existing tokens are rejected.
async fn revoke(
    State(host): State<Arc<Services>>,
    operator: Operator,
    Name(id): Name,
) -> Result<Json<ClientStatus>, AdminError> {
    let revoked = host.oauth.revoke_client(&id, host.clock.now(), Some(&operator.name)).await;
    let row = revoked.map_err(client_error)?.ok_or_else(|| {
        let hint = "List the clients with `tenon client list`.";
        AdminError::not_found(format!("There is no client \"{id}\"."), hint)
    })?;
    Ok(Json(client_status(&row)))
}

/// Replaces the key that signs access tokens. Previous keys verify until their last token expires.
async fn rotate_token_keys(
    State(host): State<Arc<Services>>,
    operator: Operator,
) -> Result<Json<TokenKeysReport>, AdminError> {
    require_issuer(&host)?;
    let rotated = host.oauth.rotate_keys(host.clock.now(), Some(&operator.name)).await;
    let rotation = rotated.map_err(|error| match error {
        OAuthError::Keys => {
            let hint = "Wait until their last tokens expire: `token-ms` of [oauth], plus half a minute.";
            AdminError::conflict(error.to_string(), Vec::new(), hint)
        }
        error => AdminError::failed(error),
    })?;
    Ok(Json(TokenKeysReport {
        key: rotation.key,
        algorithm: rotation.algorithm.name().to_owned(),
        previous: rotation.previous,
    }))
}

fn require_issuer(host: &Services) -> Result<(), AdminError> {
    if host.oauth.issuer().is_some() {
        return Ok(());
    }
    let hint = "Set `issuer` in [oauth] of plugins.toml and restart Tenon.";
    Err(AdminError::conflict("This host does not issue tokens.", Vec::new(), hint))
}

/// Returns all scopes that the routes of a plugin require. Returns an error if the plugin does not accept tokens.
fn token_scopes(host: &Services, plugin: &str) -> Result<Vec<String>, AdminError> {
    require_issuer(host)?;
    let table = host.registry.current();
    let mounted = table.find_plugin(plugin);
    let mounted = mounted.filter(|mounted| mounted.manifest.authentication.oauth).ok_or_else(|| {
        let message = format!("{plugin} does not accept tokens, or does not serve.");
        let hint = "List the serving plugins with `tenon plugin list`. Create API keys with `tenon key create`.";
        AdminError::conflict(message, Vec::new(), hint)
    })?;
    let scopes: BTreeSet<&String> = mounted.manifest.routes.iter().flat_map(|route| &route.scopes).collect();
    Ok(scopes.into_iter().cloned().collect())
}

fn client_error(error: AuthAdminError) -> AdminError {
    auth_error(error, "See the example in `tenon client create --help`.")
}

fn created_client(created: oauth::CreatedClient) -> CreatedClient {
    let row = &created.row;
    CreatedClient {
        client_id: row.id.to_string(),
        client_secret: created.secret.map(SecretText::from),
        scopes: row.scopes.clone(),
        tenant: row.organization.to_string(),
        environment: row.environment.into(),
        plugin: row.plugin.to_string(),
    }
}

fn client_status(row: &ClientRow) -> ClientStatus {
    let previous = row.secrets().and_then(|(_, previous)| previous);
    ClientStatus {
        client_id: row.id.to_string(),
        plugin: row.plugin.to_string(),
        tenant: row.organization.to_string(),
        environment: row.environment.into(),
        scopes: row.scopes.clone(),
        authentication: if row.jwks().is_some() { "keys" } else { "secret" }.to_owned(),
        previous_secret_until: previous.map(|(_, until)| TimestampText(until)),
        created_at: TimestampText(row.created_at),
        revoked_at: row.revoked_at.map(TimestampText),
    }
}
