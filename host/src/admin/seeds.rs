//! Seeds: list the owners, export, import.
//!
//! Invariant: the words of a seed are passed only between the keyring and the operator. No log, error or journal
//! contains them, and no cache may store a response.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::IntoResponse,
    routing::post,
};
use http::header;
use tenon_keyring::SeedPhrase;

use super::{
    AdminError, Services,
    inputs::{Operator, read_json, read_secret_json},
    routes::Routes,
    secret_json::SecretJson,
    services::invalid_tenant,
    wire::{SeedCopy, SeedOwner, SeedReport},
};
use crate::{
    changes::scope::Scope,
    config,
    keyring::{SEED_PURPOSE, SeedError},
    secrets::{SealedRows, SecretText},
};

/// Header of each response. `SecretJson` sets it too.
const NO_STORE: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

pub fn routes() -> Routes {
    Routes::default().read("/v1/seeds", list).action("export-seed", "/v1/seeds/export", post(export)).action(
        "import-seed",
        "/v1/seeds/import",
        post(import),
    )
}

/// Lists the owners of seeds, without unsealing any.
async fn list(State(host): State<Arc<Services>>) -> Result<impl IntoResponse, AdminError> {
    let rows = host.stores.list().await.map_err(AdminError::failed)?;
    let seeds = rows.into_iter().filter(|row| row.name.purpose == SEED_PURPOSE);
    let mut owners: Vec<SeedOwner> =
        seeds.map(|row| SeedOwner { plugin: row.name.name, tenant: row.name.tenant }).collect();
    owners.sort();
    Ok((NO_STORE, Json(owners)))
}

/// Returns a seed after the export was recorded in the journal. If the recording fails, the seed is not returned.
async fn export(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<SecretJson<SeedCopy>, AdminError> {
    let SeedOwner { plugin, tenant } = read_json(request, "Send plugin and tenant (acme/test).").await?;
    let found = host.keyring.export(&seed_scope(&plugin, &tenant)?).await;
    let phrase = found.map_err(|error| seed_error(error, &tenant))?.ok_or_else(|| {
        let hint = "List the seeds with `tenon seed list`. A seed is created at its first use.";
        AdminError::not_found(format!("{tenant} has no seed for {plugin}."), hint)
    })?;
    let target = format!("the words of the seed of {tenant} were exported");
    let recorded = host.stores.record_action(&operator.done(host.clock.now(), &plugin, target)).await;
    recorded.map_err(AdminError::failed)?;
    Ok(SecretJson(SeedCopy { plugin, tenant, phrase: SecretText::from(phrase.expose()) }))
}

/// Imports a seed for a tenant that has none.
async fn import(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<impl IntoResponse, AdminError> {
    let hint = "Send plugin, tenant (acme/test) and phrase.";
    let SeedCopy { plugin, tenant, phrase } = read_secret_json(request, hint).await?;
    host.find_plugin(&plugin).await?;
    let scope = seed_scope(&plugin, &tenant)?;
    let phrase = SeedPhrase::parse(phrase.expose()).map_err(|error| {
        let hint = "Send 12 to 24 words of the English BIP-39 list in lower case, separated by spaces.";
        AdminError::invalid(format!("`phrase` must be a valid seed phrase: {error}."), hint)
    })?;
    let action = operator.done(host.clock.now(), &plugin, format!("a seed for {tenant} was imported"));
    let imported = host.keyring.import(&scope, &phrase, action).await;
    let is_new = imported.map_err(|error| seed_error(error, &tenant))?;
    Ok((NO_STORE, Json(SeedReport { plugin, tenant, is_new })))
}

fn seed_scope(plugin: &str, tenant: &str) -> Result<Scope, AdminError> {
    let scope = Scope::new(plugin.into(), tenant.into()).filter(|_| config::is_tenant(tenant));
    scope.ok_or_else(|| invalid_tenant(tenant))
}

fn seed_error(error: SeedError, tenant: &str) -> AdminError {
    match error {
        SeedError::Taken => AdminError::conflict(
            format!("{tenant} already has another seed. Nothing was changed."),
            Vec::new(),
            "A seed is never replaced, because the funds on its addresses would become inaccessible. Import this one \
             for a tenant that has none yet.",
        ),
        error => AdminError::failed(error),
    }
}
