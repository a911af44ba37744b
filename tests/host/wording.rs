//! Failures that only the host sees, in the words of the interface: status, code, and the id of the request.

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
fn says(answer: &Response, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let body = answer.json();
    assert_eq!((body["code"].as_str(), answer.header("content-type")), (Some(code), Some("application/json")));
    assert_eq!(body["request_id"].as_str(), answer.header("x-request-id"));
    assert_eq!(body["errors"][0], body["error"]);
}

#[tokio::test]
async fn callers_without_a_key_and_paths_that_lead_nowhere() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let anonymous = host.anonymous().get("/v1/orders").await;
    says(&anonymous, 401, "API_UNAUTHENTICATED");
    assert_eq!(anonymous.header("www-authenticate"), Some("Bearer"));
    says(&acme.get("/v1/nothing").await, 404, "RESOURCE_NOT_FOUND");
    says(&acme.get("/v2/orders").await, 400, "API_VERSION_NOT_SUPPORTED");
    let wrong = acme.send("POST", "/v1/orders/order_1", &[], Vec::new()).await;
    says(&wrong, 405, "METHOD_NOT_ALLOWED");
    assert_eq!(wrong.header("allow"), Some("GET, HEAD, PUT, PATCH, DELETE, OPTIONS"));
    host.stop().await;
}

#[tokio::test]
async fn bodies_that_cannot_be_taken() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let send = async |media_type: &str, body: Vec<u8>| {
        acme.send("POST", "/v1/orders", &[("content-type", media_type)], body).await
    };
    says(&send("text/plain", b"order".to_vec()).await, 415, "UNSUPPORTED_MEDIA_TYPE");
    says(&send("application/json", vec![b' '; 2 << 20]).await, 413, "PAYLOAD_TOO_LARGE");
    says(&send("application/json", b"\"\xff\"".to_vec()).await, 400, "MALFORMED_REQUEST");
    for text in ["{", "{\"pickup\":}", "{} {}", "{'pickup':1}", "nonsense", "{\"a\":01}"] {
        says(&send("application/json", text.into()).await, 400, "MALFORMED_REQUEST");
    }
    host.stop().await;
}

#[tokio::test]
async fn idempotency_keys_that_are_none_or_were_used_for_something_else() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for key in ["", "two words", &"k".repeat(256)] {
        says(&acme.post_once("/v1/orders", key, order()).await, 400, "MALFORMED_REQUEST");
    }
    acme.post_once("/v1/orders", "once", order()).await.check(201);
    let other = json!({"pickup": "elsewhere", "dropoff": "2 Mill Rd"});
    says(&acme.post_once("/v1/orders", "once", other).await, 422, "IDEMPOTENCY_MISMATCH");
    host.stop().await;
}

#[tokio::test]
async fn more_requests_than_a_key_may_send() {
    let host = fleet("limits = { rate-per-second = 1, rate-burst = 2 }").start().await;
    let acme = host.client("fleet", "acme").await;
    let first = acme.get("/v1/orders").await.expect(200);
    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), (Some("2"), Some("1")));
    let mut answer = acme.get("/v1/orders").await;
    while answer.status == 200 {
        answer = acme.get("/v1/orders").await;
    }
    says(&answer, 429, "RATE_LIMITED");
    assert_eq!((answer.header("retry-after"), answer.header("x-ratelimit-remaining")), (Some("1"), Some("0")));
    host.client("fleet", "rival").await.get("/v1/orders").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn a_plugin_that_breaks_a_limit() {
    let host = fleet("limits = { host-calls = 1 }").start().await;
    let acme = host.client("fleet", "acme").await;
    says(&acme.post("/v1/orders", order()).await, 500, "SERVER_ERROR");
    host.stop().await;
}

#[tokio::test]
async fn a_call_past_its_deadline() {
    let host = fleet("limits = { compute-ms = 50, deadline-ms = 50 }").start().await;
    let key = host.key("fleet", "acme").await;
    let mut late = RawConnection::open(host.base()).await;
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nexpect: 100-continue\r\n\
         connection: close\r\ncontent-length: 2\r\n\r\n"
    );
    late.send(&head).await;
    late.read_until("100 Continue").await;
    // The deadline itself is what has to pass here; it began with the head.
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    late.send("{}").await;
    let answer = late.read_to_end().await;
    assert!(answer.contains("HTTP/1.1 504") && answer.contains("\"DEADLINE_EXCEEDED\""), "{answer}");
    host.stop().await;
}

#[tokio::test]
async fn a_host_that_cannot_write_now() {
    let host = fleet("").head("free-disk-bytes-min = 1125899906842624").start().await;
    let acme = host.client("fleet", "acme").await;
    let answer = acme.post("/v1/orders", order()).await;
    says(&answer, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("1"));
    host.stop().await;
}
