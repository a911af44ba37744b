//! Requests that ended badly, and the tasks that follow them.

use super::*;
use crate::support::RawConnection;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_faults_is_followed_by_a_task_that_knows_what_was_asked() {
    let (_host, client) = still_host("").await;
    client.post("/v1/broken/a?how=fault", json!({"for": "good"})).await.check(500);
    let told = mark(&client, "a").await["what"].clone();
    assert_eq!((&told["failure"], &told["operation"]), (&json!("plugin-failed"), &json!("break")));
    assert_eq!((&told["method"], &told["path"]), (&json!("POST"), &json!("/v1/broken/a")));
    assert_eq!((&told["query"], &told["body"]), (&json!([["how", "fault"]]), &json!(r#"{"for":"good"}"#)));
    assert!(told["subject"].as_str().is_some_and(|subject| subject.starts_with("key_")), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_misses_its_deadline_is_followed_as_well() {
    let (_host, client) = still_host("[plugins.clockwork.limits]\ncompute-ms = 5000").await;
    client.post("/v1/broken/a?how=loop", json!({})).await.check(504);
    assert_eq!(mark(&client, "a").await["what"]["failure"], json!("deadline-exceeded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_caller_hangs_up_is_followed_as_well() {
    let (host, client) = still_host("[plugins.clockwork.limits]\ncompute-ms = 5000").await;
    let key = host.key("clockwork", "acme").await;
    let mut caller = RawConnection::open(host.base()).await;
    caller.post_json("/v1/broken/a?how=loop", &key, &json!({})).await;
    eventually("the call runs", async || {
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        metrics.lines().any(|line| line.starts_with("tenon_calls_in_flight") && line.ends_with(" 1")).then_some(())
    })
    .await;
    drop(caller);
    assert_eq!(mark(&client, "a").await["what"]["failure"], json!("deadline-exceeded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_no_fault() {
    let (host, client) = still_host("").await;
    client.post("/v1/broken/a?how=refuse", json!({})).await.check(409);
    client.post("/v1/broken/b?how=fault", json!({})).await.check(500);
    mark(&client, "b").await;
    assert_eq!(find_mark(&client, "a").await, None);
    assert_eq!(runs(&host, "done").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_for_a_payload_is_left_out() {
    let (_host, client) = still_host("").await;
    client.post("/v1/broken/a", json!({"long": "x".repeat(70_000)})).await.check(500);
    let told = mark(&client, "a").await["what"].clone();
    assert_eq!((told.get("body"), &told["failure"]), (None, &json!("plugin-failed")));
}
