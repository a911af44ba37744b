//! Route table of the operators' listener.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{delete, get, post, put},
};
use http::StatusCode;

use super::{
    actions, audit, backups, chains, checks, clients,
    error::HttpError,
    guard::{self, Guard},
    keys,
    operations::Operations,
    outbox, plugins, seeds, tasks, webhooks,
};
use crate::limits;

pub fn router<O: Operations>(operations: Arc<O>, guard: Guard) -> Router {
    let component = put(plugins::deploy::<O>).layer(DefaultBodyLimit::max(limits::ADMIN_COMPONENT_BYTES_MAX));
    let check = post(plugins::check::<O>).layer(DefaultBodyLimit::max(limits::ADMIN_COMPONENT_BYTES_MAX));
    Router::new()
        .route("/healthz", get(checks::health))
        .route("/readyz", get(checks::readiness::<O>))
        .route("/metrics", get(checks::metrics::<O>))
        .route("/v1/plugins", get(plugins::list::<O>))
        .route("/v1/journal", get(plugins::journal::<O>))
        .route("/v1/plugins/journal", get(plugins::journal::<O>))
        .route("/v1/plugins/{plugin}/component", component)
        .route("/v1/plugins/{plugin}/check", check)
        .route("/v1/plugins/{plugin}/rollback", post(plugins::rollback::<O>))
        .route("/v1/plugins/{plugin}/profile", post(plugins::profile::<O>))
        .route("/v1/keys", get(keys::list::<O>).post(keys::create::<O>))
        .route("/v1/keys/{id}", delete(keys::revoke::<O>))
        .route("/v1/clients", get(clients::list::<O>).post(clients::create::<O>))
        .route("/v1/clients/{id}", delete(clients::revoke::<O>))
        .route("/v1/clients/{id}/rotate", post(clients::rotate::<O>))
        .route("/v1/oauth/rotate-keys", post(clients::rotate_keys::<O>))
        .route("/v1/webhooks/endpoints", get(webhooks::endpoints::<O>))
        .route("/v1/webhooks/deliveries", get(webhooks::deliveries::<O>))
        .route("/v1/webhooks/attempts", get(webhooks::attempts::<O>))
        .route("/v1/webhooks/redeliver", post(webhooks::redeliver::<O>))
        .route("/v1/webhooks/recover", post(webhooks::recover::<O>))
        .route("/v1/tasks", get(tasks::list::<O>))
        .route("/v1/tasks/retry", post(tasks::retry::<O>))
        .route("/v1/tasks/drop", post(tasks::remove::<O>))
        .route("/v1/outbox", get(outbox::list::<O>))
        .route("/v1/audit/lines", get(audit::lines::<O>))
        .route("/v1/audit/chains", get(audit::chains::<O>))
        .route("/v1/ledger/check", get(checks::ledger::<O>))
        .route("/v1/secrets/rotate", post(checks::rotate_secrets::<O>))
        .route("/v1/seeds", get(seeds::list::<O>))
        .route("/v1/seeds/export", post(seeds::export::<O>))
        .route("/v1/seeds/import", post(seeds::import::<O>))
        .route("/v1/chains", get(chains::list::<O>))
        .route("/v1/chains/balance", get(chains::balance::<O>))
        .route("/v1/chains/transaction", get(chains::transaction::<O>))
        .route("/v1/chains/control", post(chains::control::<O>))
        .route("/v1/backup", get(backups::status::<O>).post(backups::start::<O>))
        .fallback(async || not_found())
        .method_not_allowed_fallback(async || not_allowed())
        .layer(DefaultBodyLimit::max(limits::ADMIN_BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&operations), actions::record::<O>))
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::admit))
        .with_state(operations)
}

fn not_found() -> HttpError {
    let hint = "docs/operators/reference.md lists the routes. The interfaces of the plugins are on the other listener.";
    HttpError::new(StatusCode::NOT_FOUND, "not-found", "The operators' listener has no route with this path.", hint)
}

fn not_allowed() -> HttpError {
    let hint = "The Allow header lists the allowed methods.";
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "This path does not allow the method.", hint)
}
