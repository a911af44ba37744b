//! Tests of the operators' listener without a host. Requests to a running host are tested in `tests/host`.

mod guard;
mod inputs;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{AdminError, token, wire::TimestampText};

/// Sends a request to a router. Returns the status and the body.
async fn send(router: &Router, request: Request<Body>) -> (u16, Value) {
    read(router.clone().oneshot(request).await.unwrap()).await
}

/// Returns the status and the body. A body that is not JSON is returned as a string.
async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn error_response_has_code_message_hint_and_reasons() {
    let conflict = AdminError::conflict("Not published.", vec!["it is empty".to_owned()], "Check it.");
    let body =
        json!({"error": "refused", "message": "Not published.", "hint": "Check it.", "reasons": ["it is empty"]});
    assert_eq!(read(conflict.into_response()).await, (409, body));
    let not_found = AdminError::not_found("There is no key.", "List them.");
    let body = json!({"error": "not-found", "message": "There is no key.", "hint": "List them."});
    assert_eq!(read(not_found.into_response()).await, (404, body));
    let failed = AdminError::failed("the disk is full");
    let body = json!({"error": "failed", "message": "the disk is full", "hint": "See the log of the host."});
    assert_eq!(read(failed.into_response()).await, (500, body));
}

#[test]
fn token_is_created_once_and_an_empty_file_is_not_a_token() {
    let folder = tempfile::tempdir().unwrap();
    assert!(token::find(folder.path()).unwrap().is_none());
    let created = token::load_or_create(folder.path()).unwrap();
    assert_eq!(token::load_or_create(folder.path()).unwrap().expose(), created.expose());
    crate::secrets::private_file::create(&folder.path().join(token::TOKEN_FILE), "\n").unwrap();
    assert!(token::load_or_create(folder.path()).unwrap().expose().len() >= 64);
}

#[test]
fn timestamps_are_json_strings() {
    let text = serde_json::to_string(&TimestampText(1_767_322_986_070)).unwrap();
    assert_eq!(text, "\"2026-01-02T03:03:06.070Z\"");
    assert_eq!(serde_json::from_str::<TimestampText>(&text).unwrap(), TimestampText(1_767_322_986_070));
}
