//! Effects across a restart of the host.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn call_in_flight_at_a_stop_is_repeated_with_the_same_idempotency_key() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await;
    bank.wait_for(1).await;
    bank.respond_with(ReceiverResponse::Status(200));
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(outcome(&client, "a").await, json!({"answered": 200}));
    assert_eq!(keys(&bank.received()), ["called:a"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_may_have_been_received_is_never_reported_as_not_sent() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [0]})).await;
    bank.wait_for(1).await;
    let host = host.restart_after(|| drop(bank)).await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(outcome(&client, "a").await, json!({"unknown": "refused"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn single_attempt_interrupted_by_a_restart_is_unknown_and_not_repeated() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Never).await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    bank.wait_for(1).await;
    bank.respond_with(ReceiverResponse::Status(200));
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(outcome(&client, "a").await, json!({"unknown": "the host ended while it was under way"}));
    assert_eq!(bank.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcome_whose_task_failed_is_delivered_again_without_repeating_the_call() {
    let bank = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let lines = "[plugins.clockwork.tasks]\ndelays-ms = [1000]";
    let host = host_with_bank(bank.base(), lines).clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    start_call(&client, "stubborn", json!({"destination": "bank"})).await;
    let pending = async || {
        let page = host.operator().get("/v1/tasks?kind=effect").await.expect(200).json();
        page["entries"][0].clone()
    };
    let failed =
        eventually("the first fault", async || Some(pending().await).filter(|task| task["faults"] == json!(1)));
    let failed = failed.await;
    assert_eq!((&failed["state"], &failed["call"]["outcome"]), (&json!("settled"), &json!("answered 200")));
    host.clock.advance(1_000);
    assert_eq!(outcome(&client, "stubborn").await, json!({"answered": 200}));
    eventually("no pending task", async || pending().await.is_null().then_some(())).await;
    assert_eq!(bank.received().len(), 1);
}
