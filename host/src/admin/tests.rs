//! Tests of the operators' listener: authentication, parsing and error responses.

mod commands;
mod fake_host;

use std::sync::Arc;

use axum::{Router, body::Body, extract::ConnectInfo};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::{wire::*, *};
use crate::secrets::SecretText;

use fake_host::FakeHost;
pub(crate) use fake_host::serve_fake_host;

const TOKEN: &str = "ta_00112233445566778899aabbccddeeff";

fn listener(host: Arc<FakeHost>) -> Router {
    router(host, Guard::new(SecretText::new(TOKEN.into()), vec!["tenon.internal".into()]))
}

/// Sends a request with the operators' token and these additional headers. An empty value removes a header.
async fn send(
    host: &Arc<FakeHost>,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (StatusCode, serde_json::Value) {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    let mut all = vec![("host", "127.0.0.1:9090"), ("authorization", "Bearer ta_00112233445566778899aabbccddeeff")];
    all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
    for (name, value) in all.iter().chain(headers).filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let response =
        listener(Arc::clone(host)).oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (status, serde_json::from_slice(&bytes).unwrap_or(serde_json::Value::String(text)))
}

#[tokio::test]
async fn only_health_and_metrics_are_open_without_the_token() {
    let host = Arc::default();
    for (authorization, expected) in
        [("", 401), ("Bearer wrong", 401), ("Basic ta_0", 401), (&format!("bearer {TOKEN}"), 200)]
    {
        let (status, body) = send(&host, "GET /v1/plugins", &[("authorization", authorization)], "").await;
        assert_eq!(status, expected, "{authorization} {body}");
    }
    for open in ["GET /healthz", "GET /readyz", "GET /metrics"] {
        assert_eq!(send(&host, open, &[("authorization", "")], "").await.0, 200, "{open}");
    }
    let (status, body) = send(&host, "GET /nothing", &[("authorization", "")], "").await;
    assert_eq!((status.as_u16(), &body["error"]), (401, &"unauthenticated".into()));
}

#[tokio::test(start_paused = true)]
async fn address_with_too_many_wrong_tokens_is_limited_and_others_are_not() {
    let router = listener(Arc::default());
    let send = async |peer: &str, authorization: &str| {
        let peer: std::net::IpAddr = peer.parse().unwrap();
        let request = Request::get("/v1/plugins").header("host", "127.0.0.1").header("authorization", authorization);
        let request = request.extension(ConnectInfo(peer)).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap()
    };
    let right = format!("Bearer {TOKEN}");
    for _ in 0..crate::limits::OPERATOR_GUESSES_AT_ONCE {
        assert_eq!(send("10.0.0.1", "Bearer wrong").await.status(), 401);
        assert_eq!(send("10.0.0.2", &right).await.status(), 200, "a correct token is not counted as a guess");
    }
    let limited = send("10.0.0.1", "Bearer wrong").await;
    assert_eq!(limited.status().as_u16(), 429);
    assert_eq!(limited.headers()["retry-after"], "1");
    for _ in 0..3 {
        assert_eq!(send("10.0.0.1", &right).await.status(), 200, "a correct token passes from a limited address");
        assert_eq!(send("10.0.0.1", "Bearer wrong").await.status(), 429);
    }
    assert_eq!(send("10.0.0.2", &right).await.status(), 200);
}

#[tokio::test]
async fn browser_requests_and_unknown_host_names_are_rejected() {
    let host = Arc::default();
    let (status, body) = send(&host, "GET /metrics", &[("origin", "http://127.0.0.1:9090")], "").await;
    assert_eq!((status.as_u16(), &body["error"]), (403, &"from-a-browser".into()));
    let hosts = [
        ("evil.example:9090", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil@localhost", 403),
        ("localhost@evil.example", 403),
        ("", 403),
        ("a b", 403),
    ];
    let accepted = [("localhost:9090", 200), ("[::1]:9090", 200), ("TENON.internal", 200), ("10.0.0.7", 200)];
    for (name, expected) in hosts.into_iter().chain(accepted) {
        let (status, _) = send(&host, "GET /metrics", &[("host", name)], "").await;
        assert_eq!(status, expected, "{name}");
    }
}

#[tokio::test]
async fn deploy_and_rollback_carry_the_operator_name() {
    let host = Arc::default();
    let headers = [("x-tenon-operator", "ada\t<script>")];
    let (status, body) = send(&host, "PUT /v1/plugins/notes/component?allow-breaking=true", &headers, "bytes").await;
    assert_eq!((status.as_u16(), &body["to"]["hash"]), (200, &"bb".into()));
    let large = "x".repeat(2 * crate::limits::ADMIN_BODY_BYTES_MAX);
    assert_eq!(send(&host, "PUT /v1/plugins/notes/component?allow-slow-index=true", &[], &large).await.0, 200);
    send(&host, "POST /v1/plugins/notes/rollback", &[], "").await;
    assert_eq!(
        *host.requests.lock(),
        ["deploy notes 5 true false adascript", "deploy notes 131072 false true operator", "rollback notes operator"]
    );
}

#[tokio::test]
async fn error_responses_carry_code_message_reasons_and_hint() {
    let host = Arc::default();
    let (status, body) = send(&host, "PUT /v1/plugins/notes/component", &[], "").await;
    assert_eq!(status, 409);
    assert_eq!(
        body,
        serde_json::json!({"error": "refused", "message": "Not published.", "hint": "", "reasons": ["it is empty"]})
    );
    for (line, expected, error) in [
        ("PUT /v1/plugins/other/component", 404, "not-found"),
        ("PUT /v1/plugins/notes/component?allow-braking=true", 400, "invalid"),
        ("DELETE /v1/keys/key_9", 404, "not-found"),
        ("GET /v1/keys", 500, "failed"),
        ("GET /v1/nothing", 404, "not-found"),
        ("DELETE /v1/plugins", 405, "method-not-allowed"),
        ("GET /v1/plugins/journal?limit=0", 400, "invalid"),
        ("GET /v1/plugins/journal?plugin=%ff", 400, "invalid"),
        ("PUT /v1/plugins/%ff/component", 400, "invalid"),
        ("PUT /v1/plugins/notes/component?allow-breaking=%ff", 400, "invalid"),
        ("POST /v1/plugins/%ff/rollback", 400, "invalid"),
        ("DELETE /v1/keys/%ff", 400, "invalid"),
    ] {
        let (status, body) = send(&host, line, &[], "").await;
        assert_eq!((status.as_u16(), &body["error"]), (expected, &error.into()), "{line}");
    }
}

#[tokio::test]
async fn key_is_created_from_json_and_unknown_members_are_rejected() {
    let host = Arc::default();
    let json = [("content-type", "application/json")];
    let valid = r#"{"plugin":"notes","tenant":"acme","environment":"test"}"#;
    let (status, body) = send(&host, "POST /v1/keys", &json, valid).await;
    assert_eq!((status.as_u16(), &body["environment"]), (201, &"test".into()));
    let misspelt = r#"{"plugin":"notes","tenant":"acme","environment":"test","scope":["read"]}"#;
    assert_eq!(send(&host, "POST /v1/keys", &json, misspelt).await.0, 422);
    let long = format!("{{\"plugin\":\"{}\"}}", "x".repeat(crate::limits::ADMIN_BODY_BYTES_MAX));
    let (status, body) = send(&host, "POST /v1/keys", &json, &long).await;
    assert_eq!((status.as_u16(), &body["error"]), (413, &"too-large".into()));
    assert_eq!(send(&host, "POST /v1/keys", &[("content-type", "text/plain")], valid).await.0, 415);
}

#[tokio::test]
async fn parse_errors_name_the_cause_without_parser_internals() {
    let host = Arc::default();
    let json = [("content-type", "application/json")];
    for (line, body, named) in [
        ("POST /v1/keys", r#"{"plugin":1}"#, "invalid type: integer `1`, expected a string"),
        ("POST /v1/keys", r#"{"plugin""#, "EOF while parsing"),
        ("GET /v1/plugins/journal?limit=x", "", "limit: invalid digit"),
        ("PUT /v1/plugins/notes/component?allow-breaking=maybe", "", "allow-breaking"),
    ] {
        let message = send(&host, line, &json, body).await.1["message"].as_str().unwrap().to_owned();
        assert!(message.contains(named) && message.contains(" cannot be read: "), "{line}: {message}");
        assert!(!message.contains("eserialize") && !message.contains("target type"), "{line}: {message}");
    }
}

#[tokio::test]
async fn host_that_is_not_ready_is_still_healthy() {
    let host = Arc::new(FakeHost { is_unready: true, ..FakeHost::default() });
    assert_eq!(send(&host, "GET /readyz", &[], "").await.0, 503);
    assert_eq!(send(&host, "GET /healthz", &[], "").await.0, 200);
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
