//! WASI is closed: a guest has no environment, files or network, and two calls share no state.

use serde_json::json;

use super::misbehaving_guests::misbehave;

const SECTION: &str = r#"grants = ["records", "events", "ids", "log"]
limits = { compute-ms = 500, deadline-ms = 500 }"#;

#[tokio::test]
async fn guest_has_no_environment_files_or_network() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    let found = async |what: &str| client.post(&format!("/v1/{what}"), json!({})).await.expect(200).json();
    assert_eq!(found("environment").await, json!({"count": 0}));
    assert_eq!(found("files").await, json!({"read": false, "written": false}));
    assert_eq!(found("network").await, json!({"connected": false}));
    assert!(!std::path::Path::new("/tmp/misbehave").exists());
    host.stop().await;
}

#[tokio::test]
async fn guest_clock_is_fixed_at_the_time_of_the_call() {
    let host = misbehave(SECTION).await;
    let seen = host.client("misbehave", "acme").await.post("/v1/clock", json!({})).await.expect(200).json();
    assert!(seen["call"].as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(seen["wasi"], seen["call"]);
    host.stop().await;
}

#[tokio::test]
async fn two_calls_share_neither_randomness_nor_memory() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    let first = client.post("/v1/random", json!({})).await.expect(200).json();
    assert_ne!(client.post("/v1/random", json!({})).await.expect(200).json(), first);
    for _ in 0..3 {
        assert_eq!(client.post("/v1/remember", json!({})).await.expect(200).json(), json!({"calls": 1}));
    }
    host.stop().await;
}

#[tokio::test]
async fn sleeping_guest_is_ended_by_its_deadline() {
    let host = misbehave(SECTION).await;
    let client = host.client("misbehave", "acme").await;
    let response = client.post("/v1/sleep", json!({})).await.expect(504);
    assert_eq!(response.text_at("/code"), "deadline-exceeded");
    client.post("/v1/ok", json!({})).await.check(200);
    host.stop().await;
}
