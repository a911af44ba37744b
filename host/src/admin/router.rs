//! The router of the operators' listener, with the routes of all topics.

use std::sync::Arc;

use axum::{Extension, Router, extract::DefaultBodyLimit, middleware};
use http::StatusCode;

use super::{
    AdminError, Services, audit, backups, chains, clients,
    guard::{self, Guard},
    health, journal, keys, ledger, outbox, plugins, profile,
    routes::{ActionNames, Routes},
    secrets, seeds, tasks, webhooks,
};
use crate::limits;

fn all() -> Routes {
    let topics = [
        health::routes(),
        plugins::routes(),
        profile::routes(),
        journal::routes(),
        keys::routes(),
        clients::routes(),
        webhooks::routes(),
        tasks::routes(),
        outbox::routes(),
        audit::routes(),
        ledger::routes(),
        secrets::routes(),
        seeds::routes(),
        chains::routes(),
        backups::routes(),
    ];
    topics.into_iter().fold(Routes::default(), Routes::merge)
}

/// Creates the router of the operators' listener.
pub fn router(host: Arc<Services>, guard: Guard) -> Router {
    let Routes { router, actions: names, .. } = all();
    router
        .fallback(async || not_found())
        .method_not_allowed_fallback(async || not_allowed())
        .layer(Extension(ActionNames(names.into())))
        .layer(DefaultBodyLimit::max(limits::ADMIN_BODY_BYTES_MAX))
        .layer(Extension(Arc::clone(&host)))
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::admit))
        .with_state(host)
}

fn not_found() -> AdminError {
    let hint = "docs/operators/reference.md lists the routes. The interfaces of the plugins are on the other listener.";
    AdminError::not_found("The operators' listener has no route with this path.", hint)
}

fn not_allowed() -> AdminError {
    let hint = "The Allow header lists the allowed methods.";
    AdminError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "This path does not allow the method.", hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_operators_reference() {
        let reference = include_str!("../../../docs/operators/reference.md");
        let is_listed = |path: &str| ["`", "?", " "].iter().any(|end| reference.contains(&format!(" {path}{end}")));
        let missing: Vec<String> = all().paths.into_iter().filter(|path| !is_listed(path)).collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn actions_keep_their_names_in_the_journal() {
        let mut names = all().actions;
        names.sort_unstable();
        let expected = [
            "backup",
            "control-chain",
            "create-client",
            "create-key",
            "deploy",
            "drop-task",
            "export-seed",
            "import-seed",
            "profile",
            "recover",
            "redeliver",
            "retry-task",
            "revoke-client",
            "revoke-key",
            "rollback",
            "rotate-client",
            "rotate-secrets",
            "rotate-token-keys",
        ];
        assert_eq!(names, expected);
    }
}
