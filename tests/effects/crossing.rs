//! Effects and a host that goes away in the middle.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_under_way_when_the_host_stopped_is_made_again_with_the_same_key() {
    let (host, client, bank) = still_host(Reply::Nothing).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [1000]})).await;
    bank.wait_for(1).await;
    bank.reply(Reply::Status(200));
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(told(&client, "a").await, json!({"answered": 200}));
    assert_eq!(keys(&bank.arrived()), ["called:a"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_have_arrived_before_the_host_stopped_is_never_said_to_be_unsent() {
    let (host, client, bank) = still_host(Reply::Nothing).await;
    start_call(&client, "a", json!({"destination": "bank", "delays": [0]})).await;
    bank.wait_for(1).await;
    let host = host.restart_after(|| drop(bank)).await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(told(&client, "a").await, json!({"unknown": "refused"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_one_attempt_that_the_host_did_not_see_the_end_of_is_unknown_and_not_repeated() {
    let (host, client, bank) = still_host(Reply::Nothing).await;
    start_call(&client, "a", json!({"destination": "bank"})).await;
    bank.wait_for(1).await;
    bank.reply(Reply::Status(200));
    let host = host.restart().await;
    let client = host.client("clockwork", "acme").await;
    assert_eq!(told(&client, "a").await, json!({"unknown": "the host ended while it was under way"}));
    assert_eq!(bank.arrived().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_could_not_be_told_is_told_again_and_the_call_is_not_made_again() {
    let bank = TestReceiver::start(Reply::Status(200)).await;
    let lines = "[plugins.clockwork.tasks]\ndelays-ms = [1000]";
    let host = calling(bank.base(), lines).clock(Clock::manual(START_MS)).start().await;
    let client = host.client("clockwork", "acme").await;
    start_call(&client, "stubborn", json!({"destination": "bank"})).await;
    let left = async || {
        let page = host.operator().get("/v1/tasks?kind=effect").await.expect(200).json();
        page["entries"][0].clone()
    };
    let waiting = eventually("the first fault", async || Some(left().await).filter(|left| left["faults"] == json!(1)));
    let waiting = waiting.await;
    assert_eq!((&waiting["state"], &waiting["call"]["outcome"]), (&json!("settled"), &json!("answered 200")));
    host.clock.advance(1_000);
    assert_eq!(told(&client, "stubborn").await, json!({"answered": 200}));
    eventually("that nothing is left", async || left().await.is_null().then_some(())).await;
    assert_eq!(bank.arrived().len(), 1);
}
