//! Questions: asked before deciding, once for each call, with nothing held meanwhile.

use super::*;
use crate::support::RawConnection;
use crate::tasks::runs;

async fn ask(client: &TestClient, id: &str, wanted: Value) -> crate::support::Response {
    client.post(&format!("/v1/questions/{id}"), wanted).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_gets_its_replies_round_by_round_and_each_question_is_asked_once() {
    let (_host, client, bank) = still_host(Reply::Status(200)).await;
    let wanted = json!({"destination": "bank", "path": "/price", "questions": 2, "rounds": 3});
    assert_eq!(ask(&client, "a", wanted).await.expect(200).json(), json!([200, 200, 200, 200, 200, 200]));
    let mut lines: Vec<String> = bank.arrived().into_iter().map(|arrived| arrived.line).collect();
    lines.sort();
    lines.dedup();
    assert_eq!((lines.len(), lines[0].as_str()), (6, "GET /api/price/0/0"));
    assert_eq!(told(&client, "a").await, json!([200, 200, 200, 200, 200, 200]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_without_an_answer_says_why() {
    let host = calling(&nowhere().await, "").start().await;
    let client = host.client("clockwork", "acme").await;
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1});
    assert_eq!(ask(&client, "a", wanted).await.expect(200).json(), json!(["refused"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_takes_too_long_ends_with_its_own_time_and_not_with_the_calls() {
    let (_host, client, _bank) = still_host(Reply::Nothing).await;
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 100});
    assert_eq!(ask(&client, "a", wanted).await.expect(200).json(), json!(["timeout"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_takes_longer_than_the_call_may_take_ends_the_call() {
    let (bank, limits) = (TestReceiver::start(Reply::Nothing).await, "[plugins.clockwork.limits]\ndeadline-ms = 2000");
    let host = calling(bank.base(), limits).start().await;
    let client = host.client("clockwork", "acme").await;
    ask(&client, "a", json!({"destination": "bank", "questions": 1, "rounds": 1})).await.check(504);
    assert_eq!(client.get("/v1/marks/a").await.status, 404, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_sent_a_query_finishes_when_its_caller_hangs_up() {
    let bank = TestReceiver::start(Reply::Nothing).await;
    let host = calling(bank.base(), "").start().await;
    let key = host.key("clockwork", "acme").await;
    let mut caller = RawConnection::open(host.base()).await;
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 1000});
    caller.post_json("/v1/questions/a", &key, &wanted).await;
    bank.wait_for(1).await;
    drop(caller);
    assert_eq!(told(&host.client_of(&key), "a").await, json!(["timeout"]));
    host.stop().await;
}

/// Checks that a call is charged for so many bytes besides its body while it waits, and for no others.
async fn holds_while_it_waits(wanted: Value, question_bytes: usize) {
    let (host, client, bank) = still_host(Reply::Nothing).await;
    let body_bytes = wanted.to_string().len() * 2;
    let used = async |calls: usize, bodies: usize| {
        let expected = [("calls", calls), ("bodies", bodies)]
            .map(|(kind, bytes)| format!("tenon_memory_used_bytes{{kind=\"{kind}\"}} {bytes}\n"));
        eventually("the memory of the call is given back", async || {
            let metrics = host.operator().get("/metrics").await.expect(200).text();
            expected.iter().all(|line| metrics.contains(line)).then_some(())
        })
        .await;
    };
    let call = std::pin::pin!(ask(&client, "a", wanted));
    let given_back = std::pin::pin!(async {
        bank.wait_for(1).await;
        used(0, body_bytes + question_bytes).await;
    });
    match futures_util::future::select(call, given_back).await {
        futures_util::future::Either::Left(_) => panic!("the memory was held until the call ended"),
        futures_util::future::Either::Right(((), call)) => call.await.check(200),
    }
    used(0, 0).await;
}

/// Its body, which it may keep for longer than its connection, is charged instead. Small questions are free.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_holds_no_memory_but_its_body_while_it_waits_for_replies() {
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000});
    holds_while_it_waits(wanted, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_question_is_charged_while_its_call_waits() {
    let text_bytes = 100_000;
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000, "bytes": text_bytes});
    holds_while_it_waits(wanted, "0.0".len() + "/0/0".len() + text_bytes + 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_bounded() {
    let (_host, client, bank) = still_host(Reply::Status(200)).await;
    ask(&client, "a", json!({"destination": "bank", "questions": 1, "rounds": 5})).await.check(500);
    assert_eq!(bank.arrived().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_stay_when_a_call_loses_against_another() {
    let (_host, client, bank) = still_host(Reply::Status(200)).await;
    let wanted = json!({"destination": "bank", "path": "/price", "questions": 1, "rounds": 1});
    let calls = (0..16).map(|_| ask(&client, "same", wanted.clone()));
    for answer in futures_util::future::join_all(calls).await {
        answer.check(200);
    }
    assert_eq!(client.get("/v1/marks/same").await.json()["count"], json!(16), "all of them wrote one record");
    assert_eq!(bank.arrived().len(), 16, "and asked once each, however often they ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_reply_holds_no_seat() {
    let bank = TestReceiver::start(Reply::Nothing).await;
    let host = calling(bank.base(), "[plugins.clockwork.limits]\ncalls = 1\nqueue = 0").start().await;
    let client = host.client("clockwork", "acme").await;
    let wanted = json!({"destination": "bank", "questions": 1, "rounds": 1, "timeout_ms": 3000});
    let waiting = tokio::spawn(client.send(
        "POST",
        "/v1/questions/a",
        &[("content-type", "application/json")],
        wanted.to_string().into_bytes(),
    ));
    bank.wait_for(1).await;
    assert_eq!(client.get("/v1/marks/b").await.status, 404, "the only seat is free");
    assert_eq!(waiting.await.expect("an answer").expect(200).json(), json!(["timeout"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_ask_as_well() {
    let (_host, client, _bank) = still_host(Reply::Status(200)).await;
    client.post("/v1/alarms/a", json!({"then": "ask"})).await.check(204);
    assert_eq!(told(&client, "a").await, json!(200));
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_wait_for_a_reply_keep_no_other_from_running() {
    let bank = TestReceiver::start(Reply::Nothing).await;
    let host = calling(bank.base(), "[plugins.clockwork.limits]\ndeadline-ms = 60000").start().await;
    let client = host.client("clockwork", "acme").await;
    for id in 0..40 {
        client.post(&format!("/v1/alarms/waiting-{id}"), json!({"then": "ask"})).await.check(204);
    }
    bank.wait_for(40).await;
    client.post("/v1/alarms/a", json!({})).await.check(204);
    told(&client, "a").await;
    assert_eq!(runs(&host, "done").await, 1, "all others wait yet");
}
