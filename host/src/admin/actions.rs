//! Records of operators' requests: one line of the log for each request that changes something, and a line of the
//! operators' journal for each refused or failed one. An accepted request already has its line, written in the
//! transaction of the action.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::Response,
};
use http::StatusCode;

use super::{
    Services,
    error::ErrorMessage,
    inputs::{Action, operator_name},
};
use crate::{
    changes::operator_action::{ActionOutcome, OperatorAction},
    limits::REFUSED_ACTION_CHARS_MAX,
    plugin::reload::journal::SwapAction,
};

/// Adds the action of a route to the request, for its handler, and to the response, for [`record`].
pub async fn mark(State(action): State<Action>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(action);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(action);
    response
}

/// Returns true for swaps. Their failures are recorded by the reloader.
fn is_swap(Action(name): Action) -> bool {
    SwapAction::ALL.into_iter().any(|swap| swap.name() == name)
}

/// Logs an action and records it if it failed. Middleware of every route, behind the guard.
pub async fn record(State(host): State<Arc<Services>>, request: Request, next: Next) -> Response {
    let operator = operator_name(request.headers());
    let path = request.uri().path().to_owned();
    let peer = request.extensions().get::<ConnectInfo<IpAddr>>().map(|ConnectInfo(peer)| peer.to_string());
    let response = next.run(request).await;
    let Some(action) = response.extensions().get::<Action>().copied() else { return response };
    let (status, peer) = (response.status(), peer.unwrap_or_default());
    tracing::info!(operator, action = action.0, path, peer, status = status.as_u16(), "operator action");
    let outcome = match status {
        _ if is_swap(action) => None,
        StatusCode::CONFLICT => Some(ActionOutcome::Refused),
        status if status.is_server_error() => Some(ActionOutcome::Failed),
        _ => None,
    };
    if let Some(outcome) = outcome {
        let reason = response.extensions().get::<ErrorMessage>().map_or("", |ErrorMessage(message)| message.as_str());
        let reason = reason.chars().take(REFUSED_ACTION_CHARS_MAX).collect();
        let line = OperatorAction::done(host.clock.now(), &operator, ("*", action.0), reason);
        if let Err(error) = host.stores.record_action(&OperatorAction { outcome, ..line }).await {
            tracing::warn!(action = action.0, operator, "failed to write a line of the operators' journal: {error}");
        }
    }
    response
}
