//! Queries (the contract's questions). A call sends each query once, before it decides, and waits without a permit.

use super::*;
use crate::support::RawConnection;
use crate::tasks::runs;

async fn query(client: &TestClient, id: &str, body: Value) -> crate::support::Response {
    client.post(&format!("/v1/questions/{id}"), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn call_gets_its_replies_in_rounds_and_each_query_is_sent_once() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    let body = json!({"destination": "bank", "path": "/price", "questions": 2, "rounds": 3});
    assert_eq!(query(&client, "a", body).await.expect(200).json(), json!([200, 200, 200, 200, 200, 200]));
    let mut lines: Vec<String> = bank.received().into_iter().map(|received| received.line).collect();
    lines.sort();
    lines.dedup();
    assert_eq!((lines.len(), lines[0].as_str()), (6, "GET /api/price/0/0"));
    assert_eq!(outcome(&client, "a").await, json!([200, 200, 200, 200, 200, 200]));
}

#[tokio::test(flavor = "multi_thread")]
async fn query_without_a_response_returns_the_reason() {
    let host = host_with_bank(&unreachable_address().await, "").start().await;
    let client = host.client("clockwork", "acme").await;
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1});
    assert_eq!(query(&client, "a", body).await.expect(200).json(), json!(["refused"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_query_times_out_without_ending_its_call() {
    let (_host, client, _bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 100});
    assert_eq!(query(&client, "a", body).await.expect(200).json(), json!(["timeout"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn query_that_exceeds_the_deadline_of_its_call_ends_the_call() {
    let (bank, limits) =
        (TestReceiver::start(ReceiverResponse::Never).await, "[plugins.clockwork.limits]\ndeadline-ms = 2000");
    let host = host_with_bank(bank.base(), limits).start().await;
    let client = host.client("clockwork", "acme").await;
    query(&client, "a", json!({"destination": "bank", "questions": 1, "rounds": 1})).await.check(504);
    assert_eq!(client.get("/v1/marks/a").await.status, 404, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_sent_a_query_finishes_after_its_client_disconnected() {
    let bank = TestReceiver::start(ReceiverResponse::Never).await;
    let host = host_with_bank(bank.base(), "").start().await;
    let key = host.key("clockwork", "acme").await;
    let mut caller = RawConnection::open(host.base()).await;
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 1000});
    caller.post_json("/v1/questions/a", &key, &body).await;
    bank.wait_for(1).await;
    drop(caller);
    assert_eq!(outcome(&host.client_of(&key), "a").await, json!(["timeout"]));
    host.stop().await;
}

/// Checks that a waiting call is charged for its body and for `query_bytes`, and for nothing else.
async fn check_charged_while_waiting(body: Value, query_bytes: usize) {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    let body_bytes = body.to_string().len() * 2;
    let used = async |calls: usize, bodies: usize| {
        let expected = [("calls", calls), ("bodies", bodies)]
            .map(|(kind, bytes)| format!("tenon_memory_used_bytes{{kind=\"{kind}\"}} {bytes}\n"));
        eventually("the memory of the call is released", async || {
            let metrics = host.operator().get("/metrics").await.expect(200).text();
            expected.iter().all(|line| metrics.contains(line)).then_some(())
        })
        .await;
    };
    let call = std::pin::pin!(query(&client, "a", body));
    let released = std::pin::pin!(async {
        bank.wait_for(1).await;
        used(0, body_bytes + query_bytes).await;
    });
    match futures_util::future::select(call, released).await {
        futures_util::future::Either::Left(_) => panic!("the memory was held until the call ended"),
        futures_util::future::Either::Right(((), call)) => call.await.check(200),
    }
    used(0, 0).await;
}

/// A waiting call may keep its body for longer than its connection, so the body is charged. Small queries are not.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_call_is_charged_only_for_its_body() {
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000});
    check_charged_while_waiting(body, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_query_is_charged_while_its_call_waits() {
    let text_bytes = 100_000;
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000, "bytes": text_bytes});
    check_charged_while_waiting(body, "0.0".len() + "/0/0".len() + text_bytes + 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_fails_in_the_fifth_round_of_queries() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    query(&client, "a", json!({"destination": "bank", "questions": 1, "rounds": 5})).await.check(500);
    assert_eq!(bank.received().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_are_reused_when_a_call_is_retried_after_a_conflict() {
    let (_host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    let body = json!({"destination": "bank", "path": "/price", "questions": 1, "rounds": 1});
    let calls = (0..16).map(|_| query(&client, "same", body.clone()));
    for response in futures_util::future::join_all(calls).await {
        response.check(200);
    }
    assert_eq!(client.get("/v1/marks/same").await.json()["count"], json!(16), "all of them wrote one record");
    assert_eq!(bank.received().len(), 16, "each sent its query once, however often it was retried");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_waits_for_a_reply_holds_no_permit() {
    let bank = TestReceiver::start(ReceiverResponse::Never).await;
    let host = host_with_bank(bank.base(), "[plugins.clockwork.limits]\ncalls = 1\nqueue = 0").start().await;
    let client = host.client("clockwork", "acme").await;
    let body = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000});
    let waiting = tokio::spawn(client.send(
        "POST",
        "/v1/questions/a",
        &[("content-type", "application/json")],
        body.to_string().into_bytes(),
    ));
    bank.wait_for(1).await;
    assert_eq!(client.get("/v1/marks/b").await.status, 404, "the only permit is free");
    assert_eq!(waiting.await.expect("a response").expect(200).json(), json!(["timeout"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn task_may_send_queries() {
    let (_host, client, _bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    client.post("/v1/alarms/a", json!({"then": "ask"})).await.check(204);
    assert_eq!(outcome(&client, "a").await, json!(200));
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_wait_for_a_reply_do_not_block_other_tasks() {
    let bank = TestReceiver::start(ReceiverResponse::Never).await;
    let host = host_with_bank(bank.base(), "[plugins.clockwork.limits]\ndeadline-ms = 60000").start().await;
    let client = host.client("clockwork", "acme").await;
    for id in 0..40 {
        client.post(&format!("/v1/alarms/waiting-{id}"), json!({"then": "ask"})).await.check(204);
    }
    bank.wait_for(40).await;
    client.post("/v1/alarms/a", json!({})).await.check(204);
    outcome(&client, "a").await;
    assert_eq!(runs(&host, "done").await, 1, "all others still wait");
}
