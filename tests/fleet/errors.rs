//! The codes that need a host of a certain kind: rate limits, keys of another plugin, faults, a full disk.

use serde_json::{Value, json};

use crate::support::{Response, TestHost, component};

fn order() -> Value {
    json!({"pickup": "a", "dropoff": "b"})
}

#[track_caller]
fn check(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.text_at("/code").as_str()), (status, code), "{}", answer.text());
    assert_eq!(answer.header("x-request-id"), Some(answer.text_at("/request_id").as_str()));
}

#[tokio::test]
async fn more_than_the_rate_is_a_429_that_says_when_to_come_back() {
    let host = TestHost::builder().fleet("rate-per-second = 1\nrate-burst = 3").start().await;
    let (acme, rival) = (host.client("fleet", "acme").await, host.client("fleet", "rival").await);
    let answers = futures_util::future::join_all((0..20).map(|_| acme.get("/v1/orders"))).await;
    let limited: Vec<&Response> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(!limited.is_empty());
    for answer in limited {
        check(answer, 429, "RATE_LIMITED");
        assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    }
    let _ = rival.get("/v1/orders").await.expect(200);
    host.stop().await;
}

/// For this interface it is no key: it does not tell that it opens something else.
#[tokio::test]
async fn a_key_of_another_plugin_is_a_401() {
    let hello = r#"grants = ["records"]"#;
    let host = TestHost::builder().fleet("").plugin("hello", component("hello-plugin"), hello).start().await;
    let other = host.client("hello", "acme").await;
    check(&other.get("/v1/orders").await, 401, "API_UNAUTHENTICATED");
    check(&other.get("/v1/orders/order_0000000000").await, 401, "API_UNAUTHENTICATED");
    host.stop().await;
}

/// A limit of the operator that a call runs into is a fault: nothing of its cause is told.
#[tokio::test]
async fn a_fault_is_a_500_without_internals() {
    let host = TestHost::builder().fleet("host-calls = 1").start().await;
    let acme = host.client("fleet", "acme").await;
    let answer = acme.post("/v1/orders", order()).await;
    check(&answer, 500, "SERVER_ERROR");
    let expected = json!({"error": "Server Error", "errors": ["Server Error"], "code": "SERVER_ERROR",
        "request_id": answer.header("x-request-id")});
    assert_eq!((answer.json(), host.events().await.len()), (expected, 0));
    host.stop().await;
}

#[tokio::test]
async fn without_room_on_the_disk_writing_is_a_503_and_reading_goes_on() {
    let full = "free-disk-bytes-min = 1_125_899_906_842_624";
    let host = TestHost::builder().head(full).fleet("").start().await;
    let acme = host.client("fleet", "acme").await;
    check(&acme.post("/v1/orders", order()).await, 503, "SERVICE_UNAVAILABLE");
    let _ = acme.get("/v1/orders").await.expect(200);
    host.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_that_is_not_one_is_a_400() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let long = "x".repeat(256);
    for key in ["", "two words", &long] {
        check(&acme.post_once("/v1/orders", key, order()).await, 400, "MALFORMED_REQUEST");
    }
    let _ = acme.post_once("/v1/orders", &"x".repeat(255), order()).await.expect(201);
    host.stop().await;
}

#[tokio::test]
async fn what_is_no_path_at_all_is_a_404() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for path in ["/v1/nothing", "/v1/orders/a/b", "/v1/drivers/a/b", "/v1", "/v1/orders/"] {
        let answer = acme.get(path).await;
        assert_eq!((answer.status, answer.text_at("/code").as_str()), (404, "RESOURCE_NOT_FOUND"), "{path}");
    }
    host.stop().await;
}
