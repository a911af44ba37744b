//! API keys: create, list, revoke.

use std::sync::Arc;

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
    wire::{CreatedKey, KeyEnvironment, KeyStatus, NewKey, TimestampText},
};
use crate::{
    auth::{self, Environment, KeyRow},
    changes::operator_action::{CREATE_KEY, REVOKE_KEY},
    limits::KEY_DAYS_MAX,
    secrets::SecretText,
};

const DAY_MS: u64 = 86_400_000;

pub fn routes() -> Routes {
    Routes::default().read("/v1/keys", list).action(CREATE_KEY, "/v1/keys", post(create)).action(
        REVOKE_KEY,
        "/v1/keys/{id}",
        delete(revoke),
    )
}

async fn list(State(host): State<Arc<Services>>) -> Result<Json<Vec<KeyStatus>>, AdminError> {
    host.keys.flush_uses().await.map_err(|error| AdminError::failed(error.0))?;
    let rows = host.keys.list().await.map_err(|error| AdminError::failed(error.0))?;
    Ok(Json(rows.into_iter().map(key_status).collect()))
}

/// Creates a key. Only this response contains its text.
async fn create(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<(StatusCode, SecretJson<CreatedKey>), AdminError> {
    let hint = "Send plugin, tenant, environment (test or live), and optionally scopes, allow_unknown_scopes, owner, \
                expires_in_days, signs.";
    let key: NewKey = read_json(request, hint).await?;
    if key.plugin != "*" {
        host.find_plugin(&key.plugin).await?;
    }
    if !key.allow_unknown_scopes {
        let override_hint = " Accept unknown scopes with --allow-unknown-scopes (allow_unknown_scopes).";
        host.check_scopes(&key.plugin, &key.scopes, override_hint)?;
    }
    let now = host.clock.now();
    let expires_at = key.expires_in_days.map(|days| expiry(now, days)).transpose()?;
    let owner = match &key.owner {
        Some(id) => Some(find_owner(&host, id).await?),
        None => None,
    };
    let new = auth::keys::NewKey {
        plugin: key.plugin.clone(),
        organization: key.tenant.clone(),
        environment: key.environment.into(),
        scopes: key.scopes,
        attributes: Vec::new(),
        owner,
        expires_at,
        signs: key.signs,
        operator: Some(operator.name),
    };
    let created = host.keys.create(new, now).await;
    let created = created.map_err(|error| auth_error(error, "See the example in `tenon key create --help`."))?;
    let report = CreatedKey {
        id: created.row.id.to_string(),
        key: SecretText::from(created.text),
        tenant: key.tenant,
        environment: key.environment,
        plugin: key.plugin,
    };
    Ok((StatusCode::CREATED, SecretJson(report)))
}

/// Revokes a key. The next request with it is rejected.
async fn revoke(
    State(host): State<Arc<Services>>,
    operator: Operator,
    Name(id): Name,
) -> Result<Json<KeyStatus>, AdminError> {
    let revoked = host.keys.revoke(&id, host.clock.now(), Some(&operator.name)).await;
    let row = revoked.map_err(|error| AdminError::failed(error.0))?.ok_or_else(|| unknown_key(&id))?;
    Ok(Json(key_status(row)))
}

fn expiry(now: u64, days: u32) -> Result<u64, AdminError> {
    if !(1..=KEY_DAYS_MAX).contains(&days) {
        let message = format!("expires_in_days must be from 1 to {KEY_DAYS_MAX}.");
        return Err(AdminError::invalid(message, "Omit it for a key that does not expire."));
    }
    Ok(now.saturating_add(u64::from(days).saturating_mul(DAY_MS)))
}

/// Returns the owner of the key that a new key replaces.
async fn find_owner(host: &Services, id: &str) -> Result<String, AdminError> {
    let rows = host.keys.list().await.map_err(|error| AdminError::failed(error.0))?;
    let row = rows.iter().find(|row| *row.id == *id || *row.owner == *id);
    row.map(|row| row.owner.to_string()).ok_or_else(|| unknown_key(id))
}

fn unknown_key(id: &str) -> AdminError {
    let hint = "List the keys with `tenon key list`. A key is selected by its id, not by its text.";
    AdminError::not_found(format!("There is no key \"{id}\"."), hint)
}

fn key_status(row: KeyRow) -> KeyStatus {
    KeyStatus {
        id: row.id.to_string(),
        plugin: row.plugin.to_string(),
        tenant: row.organization.to_string(),
        environment: row.environment.into(),
        scopes: row.scopes,
        signs: row.signs,
        kind: row.kind.name().to_owned(),
        label: row.label,
        attributes: row.attributes,
        owner: row.owner.to_string(),
        created_at: TimestampText(row.created_at),
        expires_at: row.expires_at.map(TimestampText),
        last_used_at: row.last_used_at.map(TimestampText),
        revoked_at: row.revoked_at.map(TimestampText),
    }
}

impl From<KeyEnvironment> for Environment {
    fn from(environment: KeyEnvironment) -> Environment {
        match environment {
            KeyEnvironment::Test => Environment::Test,
            KeyEnvironment::Live => Environment::Live,
        }
    }
}

impl From<Environment> for KeyEnvironment {
    fn from(environment: Environment) -> KeyEnvironment {
        match environment {
            Environment::Test => KeyEnvironment::Test,
            Environment::Live => KeyEnvironment::Live,
        }
    }
}
