//! What a caller of this interface hears when the connection to the database dies in the middle of a commit.

#![allow(clippy::disallowed_methods, reason = "a request that runs beside the test")]

use serde_json::{Value, json};
use tenon::db::apply::Failpoint;

use crate::support::{Response, TestHost, eventually};

fn order() -> Value {
    json!({"pickup": "a", "dropoff": "b"})
}

#[track_caller]
fn check(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.text_at("/code").as_str()), (status, code), "{}", answer.text());
}

#[tokio::test]
async fn a_commit_that_took_place_though_the_connection_died_is_answered_as_if_nothing_had_been() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    host.fail_next_batch(Failpoint::DuringCommitKept);
    let made = acme.post("/v1/orders", order()).await.expect(201).text_at("/id");
    let _ = acme.get(&format!("/v1/orders/{made}")).await.expect(200);
    host.stop().await;
}

#[tokio::test]
async fn a_commit_that_did_not_take_place_is_a_503_and_can_be_repeated() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    host.fail_next_batch(Failpoint::DuringCommitLost);
    check(&acme.post_once("/v1/orders", "key", order()).await, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(host.events().await, []);
    let again = acme.post_once("/v1/orders", "key", order()).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), None);
    host.stop().await;
}

/// The database cannot be asked either. The caller is told so, and the same key tells later what happened. Gives that answer.
async fn repeated_after_an_unknown_outcome(failpoint: Failpoint) -> Response {
    let host = TestHost::builder().fleet("deadline-ms = 1000").start().await;
    let acme = host.client("fleet", "acme").await;
    let _ = acme.get("/v1/orders").await.expect(200);
    host.fail_next_batch(failpoint);
    host.rename_database("tenon.db", "away.db");
    let client = acme.clone();
    let first = tokio::spawn(async move { client.post_once("/v1/orders", "key", order()).await });
    eventually("the first is on its way", async || {
        let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
        (plugins[0]["serving"]["in_flight"] == 1).then_some(())
    })
    .await;
    check(&acme.post_once("/v1/orders", "key", order()).await, 409, "IDEMPOTENCY_IN_PROGRESS");
    check(&first.await.unwrap(), 500, "OUTCOME_UNKNOWN");
    host.operator().get("/readyz").await.check(503);

    host.rename_database("away.db", "tenon.db");
    eventually("it is ready", async || (host.operator().get("/readyz").await.status == 200).then_some(())).await;
    let again = acme.post_once("/v1/orders", "key", order()).await.expect(201);
    assert_eq!(host.events().await.len(), 1, "one order, whatever became of the first try");
    host.stop().await;
    again
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_a_500_and_what_happened_is_not_done_twice() {
    let again = repeated_after_an_unknown_outcome(Failpoint::DuringCommitKept).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_a_500_and_what_did_not_happen_is_done_then() {
    let again = repeated_after_an_unknown_outcome(Failpoint::DuringCommitLost).await;
    assert_eq!(again.header("idempotency-replayed"), None);
}
