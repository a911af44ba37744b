//! Tasks that run after a request ended in a fault or missed its deadline.

use super::*;
use crate::support::RawConnection;

#[tokio::test(flavor = "multi_thread")]
async fn task_after_a_fault_receives_the_request() {
    let (_host, client) = host_with_manual_clock("").await;
    client.post("/v1/broken/a?how=fault", json!({"for": "good"})).await.check(500);
    let payload = wait_for_mark(&client, "a").await["what"].clone();
    assert_eq!((&payload["failure"], &payload["operation"]), (&json!("plugin-failed"), &json!("break")));
    assert_eq!((&payload["method"], &payload["path"]), (&json!("POST"), &json!("/v1/broken/a")));
    assert_eq!((&payload["query"], &payload["body"]), (&json!([["how", "fault"]]), &json!(r#"{"for":"good"}"#)));
    assert!(payload["subject"].as_str().is_some_and(|subject| subject.starts_with("key_")), "{payload}");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_misses_its_deadline_is_followed_by_a_task() {
    let (_host, client) = host_with_manual_clock("[plugins.clockwork.limits]\ncompute-ms = 5000").await;
    client.post("/v1/broken/a?how=loop", json!({})).await.check(504);
    assert_eq!(wait_for_mark(&client, "a").await["what"]["failure"], json!("deadline-exceeded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn request_whose_client_disconnects_is_followed_by_a_task() {
    let (host, client) = host_with_manual_clock("[plugins.clockwork.limits]\ncompute-ms = 5000").await;
    let key = host.key("clockwork", "acme").await;
    let mut caller = RawConnection::open(host.base()).await;
    caller.post_json("/v1/broken/a?how=loop", &key, &json!({})).await;
    eventually("the call runs", async || {
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        metrics.lines().any(|line| line.starts_with("tenon_calls_in_flight") && line.ends_with(" 1")).then_some(())
    })
    .await;
    drop(caller);
    assert_eq!(wait_for_mark(&client, "a").await["what"]["failure"], json!("deadline-exceeded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_is_not_followed_by_a_task() {
    let (host, client) = host_with_manual_clock("").await;
    client.post("/v1/broken/a?how=refuse", json!({})).await.check(409);
    client.post("/v1/broken/b?how=fault", json!({})).await.check(500);
    wait_for_mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
    assert_eq!(runs(&host, "done").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_is_too_long_for_a_payload_is_omitted() {
    let (_host, client) = host_with_manual_clock("").await;
    client.post("/v1/broken/a", json!({"long": "x".repeat(70_000)})).await.check(500);
    let payload = wait_for_mark(&client, "a").await["what"].clone();
    assert_eq!((payload.get("body"), &payload["failure"]), (None, &json!("plugin-failed")));
}
