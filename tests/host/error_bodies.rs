//! Errors that the host detects, rendered with the error bodies of the interface: status, code, and request id.

use serde_json::json;

use crate::support::{RawConnection, Response, TestHost, TestHostBuilder, component};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;

fn fleet(lines: &str) -> TestHostBuilder {
    TestHost::builder().plugin("fleet", component("fleet"), &format!("{GRANTS}\n{lines}"))
}

fn order() -> serde_json::Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

#[track_caller]
fn check_error(response: &Response, status: u16, code: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    let body = response.json();
    assert_eq!((body["code"].as_str(), response.header("content-type")), (Some(code), Some("application/json")));
    assert_eq!(body["request_id"].as_str(), response.header("x-request-id"));
    assert_eq!(body["errors"][0], body["error"]);
}

#[tokio::test]
async fn missing_key_unknown_path_and_wrong_method_are_rejected() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let anonymous = host.anonymous().get("/v1/orders").await;
    check_error(&anonymous, 401, "API_UNAUTHENTICATED");
    assert_eq!(anonymous.header("www-authenticate"), Some("Bearer"));
    check_error(&acme.get("/v1/nothing").await, 404, "RESOURCE_NOT_FOUND");
    check_error(&acme.get("/v2/orders").await, 400, "API_VERSION_NOT_SUPPORTED");
    let wrong = acme.send("POST", "/v1/orders/order_1", &[], Vec::new()).await;
    check_error(&wrong, 405, "METHOD_NOT_ALLOWED");
    assert_eq!(wrong.header("allow"), Some("GET, HEAD, PUT, PATCH, DELETE, OPTIONS"));
    host.stop().await;
}

#[tokio::test]
async fn unacceptable_bodies_are_rejected() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let send = async |media_type: &str, body: Vec<u8>| {
        acme.send("POST", "/v1/orders", &[("content-type", media_type)], body).await
    };
    check_error(&send("text/plain", b"order".to_vec()).await, 415, "UNSUPPORTED_MEDIA_TYPE");
    check_error(&send("application/json", vec![b' '; 2 << 20]).await, 413, "PAYLOAD_TOO_LARGE");
    check_error(&send("application/json", b"\"\xff\"".to_vec()).await, 400, "MALFORMED_REQUEST");
    for text in ["{", "{\"pickup\":}", "{} {}", "{'pickup':1}", "nonsense", "{\"a\":01}"] {
        check_error(&send("application/json", text.into()).await, 400, "MALFORMED_REQUEST");
    }
    host.stop().await;
}

#[tokio::test]
async fn invalid_and_reused_idempotency_keys_are_rejected() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for key in ["", "two words", &"k".repeat(256)] {
        check_error(&acme.post_once("/v1/orders", key, order()).await, 400, "MALFORMED_REQUEST");
    }
    acme.post_once("/v1/orders", "once", order()).await.check(201);
    let other = json!({"pickup": "elsewhere", "dropoff": "2 Mill Rd"});
    check_error(&acme.post_once("/v1/orders", "once", other).await, 422, "IDEMPOTENCY_MISMATCH");
    host.stop().await;
}

#[tokio::test]
async fn request_above_the_rate_limit_is_429_with_retry_after() {
    let host = fleet("limits = { rate-per-second = 1, rate-burst = 2 }").start().await;
    let acme = host.client("fleet", "acme").await;
    let first = acme.get("/v1/orders").await.expect(200);
    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), (Some("2"), Some("1")));
    let mut response = acme.get("/v1/orders").await;
    while response.status == 200 {
        response = acme.get("/v1/orders").await;
    }
    check_error(&response, 429, "RATE_LIMITED");
    assert_eq!((response.header("retry-after"), response.header("x-ratelimit-remaining")), (Some("1"), Some("0")));
    host.client("fleet", "rival").await.get("/v1/orders").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn call_above_a_plugin_limit_is_500() {
    let host = fleet("limits = { host-calls = 1 }").start().await;
    let acme = host.client("fleet", "acme").await;
    check_error(&acme.post("/v1/orders", order()).await, 500, "SERVER_ERROR");
    host.stop().await;
}

#[tokio::test]
async fn call_past_its_deadline_is_504() {
    let host = fleet("limits = { compute-ms = 50, deadline-ms = 50 }").start().await;
    let key = host.key("fleet", "acme").await;
    let mut late = RawConnection::open(host.base()).await;
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nexpect: 100-continue\r\n\
         connection: close\r\ncontent-length: 2\r\n\r\n"
    );
    late.send(&head).await;
    late.read_until("100 Continue").await;
    // The deadline counts from the head and must pass here.
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    late.send("{}").await;
    let response = late.read_to_end().await;
    assert!(response.contains("HTTP/1.1 504") && response.contains("\"DEADLINE_EXCEEDED\""), "{response}");
    host.stop().await;
}

#[tokio::test]
async fn write_below_the_free_disk_limit_is_503_with_retry_after() {
    let host = fleet("").head("free-disk-bytes-min = 1125899906842624").start().await;
    let acme = host.client("fleet", "acme").await;
    let response = acme.post("/v1/orders", order()).await;
    check_error(&response, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(response.header("retry-after"), Some("1"));
    host.stop().await;
}
