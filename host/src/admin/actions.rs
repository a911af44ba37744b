//! Requests of operators that change something: each is carried out to its end, even if its caller disconnects.
//!
//! Each request gets one line of the log. It gets a line of the operators' journal here if it was refused (409) or
//! failed (5xx). The line of a completed action comes from its handler, where possible in the transaction of the
//! action. The reloader writes the lines of swaps.

use std::{net::IpAddr, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Extension,
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use http::StatusCode;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, timeout_at},
};

use super::{
    AdminError, Services,
    error::ErrorMessage,
    inputs::{Action, Caller, operator_name},
};
use crate::{
    changes::operator_action::{ActionOutcome, OperatorAction},
    limits::{OPERATOR_ACTIONS_MAX, REFUSED_ACTION_CHARS_MAX},
    plugin::reload::journal::SwapAction,
};

/// The actions that run. A host that stops waits for them. Cheap to clone.
#[derive(Clone)]
pub struct RunningActions(Arc<Semaphore>);

impl Default for RunningActions {
    fn default() -> RunningActions {
        RunningActions(Arc::new(Semaphore::new(OPERATOR_ACTIONS_MAX as usize)))
    }
}

impl RunningActions {
    async fn begin(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.0.clone().acquire_owned().await.ok()
    }

    /// Waits until no action runs, at most until `until`.
    pub async fn end(&self, until: Instant) {
        let _ended = timeout_at(until, self.0.acquire_many(OPERATOR_ACTIONS_MAX)).await;
    }
}

/// Runs the action of a request to its end, and records it. Middleware of every route with an action.
#[expect(clippy::disallowed_methods, reason = "the action of a caller that disconnected; `RunningActions::end` waits")]
pub async fn perform(
    State(action): State<Action>,
    Extension(host): Extension<Arc<Services>>,
    mut request: Request,
    next: Next,
) -> Response {
    let permit = host.actions.begin().await;
    let (connection, caller) = watch::channel(());
    request.extensions_mut().insert(action);
    request.extensions_mut().insert(Caller(caller));
    let task = tokio::spawn(async move {
        let response = perform_and_record(&host, action, request, next).await;
        drop(permit);
        response
    });
    let response = task.await;
    drop(connection);
    response.unwrap_or_else(|error| AdminError::failed(error).into_response())
}

async fn perform_and_record(host: &Services, action: Action, request: Request, next: Next) -> Response {
    let operator = operator_name(request.headers());
    let path = request.uri().path().to_owned();
    let peer = request.extensions().get::<ConnectInfo<IpAddr>>().map(|ConnectInfo(peer)| peer.to_string());
    let response = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = response.unwrap_or_else(|_panic| AdminError::failed("the request panicked").into_response());
    let (status, peer) = (response.status(), peer.unwrap_or_default());
    tracing::info!(operator, action = action.0, path, peer, status = status.as_u16(), "operator action");
    if let Some(outcome) = outcome_to_record(action, status) {
        let reason = response.extensions().get::<ErrorMessage>().map_or("", |ErrorMessage(message)| message.as_str());
        let reason = reason.chars().take(REFUSED_ACTION_CHARS_MAX).collect();
        let line = OperatorAction::done(host.clock.now(), &operator, ("*", action.0), reason);
        if let Err(error) = host.stores.record_action(&OperatorAction { outcome, ..line }).await {
            tracing::warn!(action = action.0, operator, "failed to write a line of the operators' journal: {error}");
        }
    }
    response
}

/// Returns the outcome for the journal. Returns `None` if the action was done, for client errors other than 409, and
/// for swaps, which the reloader records.
fn outcome_to_record(Action(name): Action, status: StatusCode) -> Option<ActionOutcome> {
    match status {
        _ if SwapAction::ALL.into_iter().any(|swap| swap.name() == name) => None,
        StatusCode::CONFLICT => Some(ActionOutcome::Refused),
        status if status.is_server_error() => Some(ActionOutcome::Failed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stop_waits_for_running_actions_up_to_its_deadline() {
        let actions = RunningActions::default();
        let permit = actions.begin().await;
        let started = Instant::now();
        actions.end(started + Duration::from_secs(1)).await;
        assert_eq!(started.elapsed(), Duration::from_secs(1));
        drop(permit);
        actions.end(started + Duration::from_secs(9)).await;
        assert_eq!(started.elapsed(), Duration::from_secs(1));
    }

    #[test]
    fn refused_and_failed_actions_are_recorded_except_swaps() {
        let outcome = |name, status| outcome_to_record(Action(name), StatusCode::from_u16(status).unwrap());
        assert_eq!(outcome("create-key", 409), Some(ActionOutcome::Refused));
        assert_eq!(outcome("create-key", 500), Some(ActionOutcome::Failed));
        assert_eq!([201, 400, 404].map(|status| outcome("create-key", status)), [None; 3]);
        assert_eq!(outcome("deploy", 409), None);
    }
}
