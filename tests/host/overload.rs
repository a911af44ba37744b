//! Overload: one plugin does not delay others, queues are bounded, and no call waits past its deadline.

use std::{path::Path, time::Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tenon_bench::program::{PluginSection, Program, ProgramPlan, sibling_binary};

use super::misbehaving_guests::{misbehave, status};
use crate::support::{RawConnection, TestHost, component, eventually};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;

async fn wait_for_in_flight(host: &TestHost, calls: u64) {
    eventually("calls in flight", async || {
        (status(host, "misbehave").await["serving"]["in_flight"] == calls).then_some(())
    })
    .await;
}

/// The test runs the real program, because it checks how plugins share the thread pool of one process.
#[tokio::test]
async fn other_plugins_are_served_while_one_uses_all_its_permits() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(plan(folder.path())).await.unwrap();
    let loops = (0..4).map(|_| {
        let mut client = program.client(&program.create_key("misbehave", "acme").unwrap());
        tokio::spawn(async move { client.send("POST", "/loops/v1/loop", &[], b"{}").await.unwrap().status })
    });
    let loops = tokio::spawn(join_all(loops.collect::<Vec<_>>()));
    let mut acme = program.client(&program.create_key("fleet", "acme").unwrap());
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    let started = Instant::now();
    for _ in 0..10 {
        acme.call("POST", "/v1/orders", &order).await.unwrap();
    }
    let elapsed = started.elapsed();
    assert!(!loops.is_finished(), "ten orders took longer than the limit of a loop: {elapsed:?}");
    assert!(loops.await.unwrap().into_iter().all(|status| [500, 504].contains(&status.unwrap())));
    program.stop().await.unwrap();
}

fn plan(folder: &Path) -> ProgramPlan {
    let mut looping = PluginSection::new("misbehave", &component("misbehave"), &["records", "events", "ids", "log"]);
    // Without a mount of its own, its route /v1/files would conflict with a route of fleet.
    looping.mount = "/loops".to_owned();
    looping.extra_toml = "limits = { compute-ms = 5000, deadline-ms = 5000 }".to_owned();
    let fleet = PluginSection::new(
        "fleet",
        &component("fleet"),
        &["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"],
    );
    let binary = sibling_binary("tenon").expect("build tenon first: cargo build -p tenon");
    ProgramPlan { binary, folder: folder.to_path_buf(), plugins: vec![looping, fleet] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_queue_is_503_with_retry_after_and_queued_requests_are_served() {
    let limits = format!("{GRANTS}\nlimits = {{ compute-ms = 1500, calls = 1, queue = 1 }}");
    let host = misbehave(&limits).await;
    let client = host.client("misbehave", "acme").await;
    let looping = tokio::spawn(client.post_empty("/v1/loop"));
    wait_for_in_flight(&host, 1).await;
    let waiting = tokio::spawn(client.post_empty("/v1/ok"));
    wait_for_in_flight(&host, 2).await;
    let refused = client.post("/v1/ok", json!({})).await.expect(503);
    assert_eq!((refused.text_at("/code").as_str(), refused.header("retry-after")), ("unavailable", Some("1")));
    assert_eq!(waiting.await.unwrap().expect(200).json(), json!({"ok": true}));
    assert_eq!(looping.await.unwrap().expect(500).text_at("/code"), "plugin-failed");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_disconnects_leaves_the_queue() {
    let limits = format!("{GRANTS}\nlimits = {{ compute-ms = 3000, calls = 1, queue = 1 }}");
    let host = misbehave(&limits).await;
    let key = host.key("misbehave", "acme").await;
    let client = host.client_of(&key);
    let looping = tokio::spawn(client.post_empty("/v1/loop"));
    wait_for_in_flight(&host, 1).await;
    let mut waiting = RawConnection::open(host.base()).await;
    waiting.post_json("/v1/ok", &key, &json!({})).await;
    wait_for_in_flight(&host, 2).await;
    drop(waiting);
    wait_for_in_flight(&host, 1).await;
    let served = client.post("/v1/ok", json!({})).await.expect(200);
    assert_eq!(served.json(), json!({"ok": true}));
    looping.await.unwrap().check(500);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_queued_past_its_deadline_gets_deadline_exceeded() {
    let limits = format!("{GRANTS}\nlimits = {{ compute-ms = 400, deadline-ms = 400, calls = 1 }}");
    let host = misbehave(&limits).await;
    let client = host.client("misbehave", "acme").await;
    let answers = join_all((0..4).map(|_| client.post("/v1/loop", json!({})))).await;
    let codes: Vec<Value> = answers.iter().map(|answer| answer.json()["code"].clone()).collect();
    assert!(codes.iter().filter(|code| **code == "deadline-exceeded").count() >= 2, "{codes:?}");
    client.post("/v1/ok", json!({})).await.check(200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_that_cannot_finish_in_time_is_rejected_before_its_deadline() {
    let limits = format!("{GRANTS}\nlimits = {{ compute-ms = 4000, deadline-ms = 4000, calls = 1 }}");
    let host = misbehave(&limits).await;
    let client = host.client("misbehave", "acme").await;
    let looping = tokio::spawn(client.post_empty("/v1/loop"));
    wait_for_in_flight(&host, 1).await;
    let refused = client.post("/v1/ok", json!({})).await.expect(504);
    assert_eq!(refused.text_at("/code"), "deadline-exceeded");
    assert!(!looping.is_finished(), "the earlier call still runs");
    assert!([500, 504].contains(&looping.await.unwrap().status));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_key_in_progress_is_409_at_the_deadline() {
    let limits = format!("{GRANTS}\nlimits = {{ compute-ms = 1000, deadline-ms = 4000 }}");
    let host = misbehave(&limits).await;
    // On a busy machine the deadline of the whole request may expire first, so there are three attempts.
    let mut responses = Vec::new();
    for key in ["once", "twice", "thrice"] {
        let response = send_during_the_first_request(&host, key).await;
        if response.contains("HTTP/1.1 409") && response.contains("idempotency-in-progress") {
            return host.stop().await;
        }
        assert!(response.contains("deadline-exceeded"), "{response}");
        responses.push(response);
    }
    panic!("{responses:?}");
}

/// Sends two requests with one idempotency key and returns the response of the second.
///
/// The client sends the head of the second request first, so that request has the earlier deadline. Its body follows
/// after the first request holds the key.
async fn send_during_the_first_request(host: &TestHost, idempotency_key: &'static str) -> String {
    let key = host.key("misbehave", "acme").await;
    let mut second = RawConnection::open(host.base()).await;
    let head = format!(
        "POST /v1/sleep HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nidempotency-key: {idempotency_key}\r\n\
         expect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n"
    );
    second.send(&head).await;
    second.read_until("100 Continue").await;
    let client = host.client_of(&key);
    let first = tokio::spawn(async move { client.post_once("/v1/sleep", idempotency_key, json!({})).await });
    wait_for_in_flight(host, 1).await;
    second.send("{}").await;
    let response = second.read_to_end().await;
    assert_eq!(first.await.unwrap().expect(504).text_at("/code"), "deadline-exceeded");
    response
}
