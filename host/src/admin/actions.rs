//! Records of operators' requests: one line of the log for each request that changes something, and a line of the
//! operators' journal for each refused one. An accepted request already has its line, written in the transaction of the
//! action.
//!
//! Invariant: each route that is not a GET has a name here (a test enumerates them).

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{ConnectInfo, MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use http::{Method, StatusCode};

use super::{
    error::ErrorMessage,
    operations::{FailedAction, Operations},
    plugins::operator,
};
use crate::{changes::operator_action::ActionOutcome, limits::REFUSED_ACTION_CHARS_MAX};

/// Returns the name under which the journal lists a request, or `None` if the request only reads.
fn find_action(method: &Method, pattern: &str) -> Option<&'static str> {
    let action = match (method.as_str(), pattern) {
        ("GET" | "HEAD" | "OPTIONS", _) | ("POST", "/v1/plugins/{plugin}/check") => return None,
        ("PUT", "/v1/plugins/{plugin}/component") => "deploy",
        ("POST", "/v1/plugins/{plugin}/rollback") => "rollback",
        ("POST", "/v1/plugins/{plugin}/profile") => "profile",
        ("POST", "/v1/keys") => "create-key",
        ("DELETE", "/v1/keys/{id}") => "revoke-key",
        ("POST", "/v1/clients") => "create-client",
        ("DELETE", "/v1/clients/{id}") => "revoke-client",
        ("POST", "/v1/clients/{id}/rotate") => "rotate-client",
        ("POST", "/v1/oauth/rotate-keys") => "rotate-token-keys",
        ("POST", "/v1/webhooks/redeliver") => "redeliver",
        ("POST", "/v1/webhooks/recover") => "recover",
        ("POST", "/v1/tasks/retry") => "retry-task",
        ("POST", "/v1/tasks/drop") => "drop-task",
        ("POST", "/v1/secrets/rotate") => "rotate-secrets",
        ("POST", "/v1/seeds/export") => "export-seed",
        ("POST", "/v1/seeds/import") => "import-seed",
        ("POST", "/v1/chains/control") => "control-chain",
        ("POST", "/v1/backup") => "backup",
        _ => "other",
    };
    Some(action)
}

/// Returns true for swaps. Their failures are recorded by the reloader.
fn is_swap(action: &str) -> bool {
    matches!(action, "deploy" | "rollback")
}

/// Logs an action and records it if it failed. Middleware of every route, behind the guard.
pub async fn record<O: Operations>(State(operations): State<Arc<O>>, request: Request, next: Next) -> Response {
    let pattern = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let Some(action) = pattern.and_then(|pattern| find_action(request.method(), pattern)) else {
        return next.run(request).await;
    };
    let operator = operator(request.headers());
    let path = request.uri().path().to_owned();
    let peer = request.extensions().get::<ConnectInfo<IpAddr>>().map(|ConnectInfo(peer)| peer.to_string());
    let response = next.run(request).await;
    let (status, peer) = (response.status(), peer.unwrap_or_default());
    tracing::info!(operator, action, path, peer, status = status.as_u16(), "operator action");
    let outcome = match status {
        _ if is_swap(action) => None,
        StatusCode::CONFLICT => Some(ActionOutcome::Refused),
        status if status.is_server_error() => Some(ActionOutcome::Failed),
        _ => None,
    };
    if let Some(outcome) = outcome {
        let reason = response.extensions().get::<ErrorMessage>().map_or("", |ErrorMessage(message)| message.as_str());
        let reason = reason.chars().take(REFUSED_ACTION_CHARS_MAX).collect();
        operations.record_failed_action(FailedAction { action, operator, outcome, reason }).await;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::operator_action::ACTIONS;

    /// Source of the route table. axum does not list the routes of a router.
    const ROUTES: &str = include_str!("routes.rs");

    #[test]
    fn every_mutating_route_has_a_journal_action() {
        let (text, mut named) = (ROUTES.replace(char::is_whitespace, ""), 0);
        for route in text.split(".route(\"").skip(1) {
            let (pattern, handlers) = route.split_once("\",").unwrap();
            let handlers = handlers.replace("component)", "put(component)").replace("check)", "post(check)");
            for method in [Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
                if handlers.contains(&format!("{}(", method.as_str().to_lowercase())) {
                    let action = find_action(&method, pattern);
                    let is_known = action.is_none_or(|action| is_swap(action) || ACTIONS.contains(&action));
                    assert!(is_known, "{method} {pattern}: {action:?}");
                    named += 1;
                }
            }
        }
        assert!(named >= 18, "{named} routes were found");
    }
}
