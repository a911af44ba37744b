//! Tests of the guard: tokens, wrong guesses, browsers, Host names.

use std::{net::IpAddr, sync::Arc};

use axum::{Router, body::Body, extract::ConnectInfo, middleware, routing::get};
use http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::send;
use crate::{
    admin::guard::{self, Guard},
    limits::OPERATOR_GUESSES_AT_ONCE,
    secrets::SecretText,
};

const TOKEN: &str = "ta_00112233445566778899aabbccddeeff";
const AUTHORIZATION: &str = "Bearer ta_00112233445566778899aabbccddeeff";

async fn ok() {}

/// Returns a router with a guard. Its routes answer 200.
fn guarded_router() -> Router {
    let guard = Arc::new(Guard::new(SecretText::new(TOKEN.into()), vec!["tenon.internal".into()]));
    Router::new()
        .route("/healthz", get(ok))
        .route("/readyz", get(ok))
        .route("/metrics", get(ok))
        .route("/v1/plugins", get(ok))
        .layer(middleware::from_fn_with_state(guard, guard::admit))
}

/// Sends a GET request with a valid Host and token, except for these headers. An empty value removes a header.
async fn get_with(router: &Router, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut all = vec![("host", "127.0.0.1:9090"), ("authorization", AUTHORIZATION)];
    all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
    let mut request = Request::get(path);
    for (name, value) in all.iter().chain(headers).filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    send(router, request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn only_health_and_metrics_are_open_without_the_token() {
    let router = guarded_router();
    let lower_case = AUTHORIZATION.replace("Bearer", "bearer");
    for (authorization, expected) in
        [("", 401), ("Bearer wrong", 401), ("Basic ta_0", 401), (AUTHORIZATION, 200), (lower_case.as_str(), 200)]
    {
        let (status, body) = get_with(&router, "/v1/plugins", &[("authorization", authorization)]).await;
        assert_eq!(status, expected, "{authorization} {body}");
    }
    for open in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get_with(&router, open, &[("authorization", "")]).await.0, 200, "{open}");
    }
    let (status, body) = get_with(&router, "/nothing", &[("authorization", "")]).await;
    assert_eq!((status, &body["error"]), (401, &json!("unauthenticated")));
}

#[tokio::test(start_paused = true)]
async fn address_with_too_many_wrong_tokens_is_limited_and_others_are_not() {
    let router = guarded_router();
    let send = async |peer: &str, authorization: &str| {
        let peer: IpAddr = peer.parse().unwrap();
        let request = Request::get("/v1/plugins").header("host", "127.0.0.1").header("authorization", authorization);
        let request = request.extension(ConnectInfo(peer)).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap()
    };
    for _ in 0..OPERATOR_GUESSES_AT_ONCE {
        assert_eq!(send("10.0.0.1", "Bearer wrong").await.status(), 401);
        assert_eq!(send("10.0.0.2", AUTHORIZATION).await.status(), 200, "a correct token is not counted as a guess");
    }
    let limited = send("10.0.0.1", "Bearer wrong").await;
    assert_eq!(limited.status(), 429);
    assert_eq!(limited.headers()["retry-after"], "1");
    for _ in 0..3 {
        assert_eq!(send("10.0.0.1", AUTHORIZATION).await.status(), 200, "a correct token passes a limited address");
        assert_eq!(send("10.0.0.1", "Bearer wrong").await.status(), 429);
    }
    assert_eq!(send("10.0.0.2", AUTHORIZATION).await.status(), 200);
}

#[tokio::test]
async fn browser_requests_and_unknown_host_names_are_rejected() {
    let router = guarded_router();
    let (status, body) = get_with(&router, "/metrics", &[("origin", "http://127.0.0.1:9090")]).await;
    assert_eq!((status, &body["error"]), (403, &json!("from-a-browser")));
    for (name, expected) in [
        ("evil.example:9090", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil@localhost", 403),
        ("localhost@evil.example", 403),
        ("", 403),
        ("a b", 403),
        ("localhost:9090", 200),
        ("[::1]:9090", 200),
        ("TENON.internal", 200),
        ("10.0.0.7", 200),
    ] {
        assert_eq!(get_with(&router, "/metrics", &[("host", name)]).await.0, expected, "{name}");
    }
}
