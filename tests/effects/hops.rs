//! The count of hops goes from a request through its tasks and calls to other servers.

use super::*;

const HOPS: &str = "tenon-hops";

async fn post(client: &TestClient, path: &str, hops: &str, body: Value) -> u16 {
    let headers = [("content-type", "application/json"), (HOPS, hops)];
    client.send("POST", path, &headers, body.to_string().into_bytes()).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_request_and_of_its_tasks_count_on_from_it() {
    let (host, client, bank) = still_host(Reply::Status(200)).await;
    // A call, and another one by the task that receives its outcome.
    assert_eq!(post(&client, "/v1/calls/again", "3", json!({"destination": "bank"})).await, 200);
    bank.wait_for(2).await;
    // A question of a timer.
    assert_eq!(post(&client, "/v1/alarms/asks", "3", json!({"then": "ask"})).await, 204);
    bank.wait_for(3).await;
    let counts: Vec<String> = bank.arrived().iter().map(|arrived| arrived.header(HOPS).to_owned()).collect();
    assert_eq!(counts, ["4"; 3]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_of_a_task_count_on_from_the_request_that_scheduled_it() {
    let (host, client, bank) = still_host(Reply::Status(200)).await;
    let hook = json!({"url": bank.url(), "signatures": []});
    client.post("/v1/hooks/hook", hook).await.check(200);
    assert_eq!(post(&client, "/v1/alarms/rings", "5", json!({"then": "mark"})).await, 204);
    bank.wait_for(1).await;
    assert_eq!(bank.arrived()[0].header(HOPS), "6");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_above_the_limit_is_refused_and_changes_nothing() {
    let (host, client, bank) = still_host(Reply::Status(200)).await;
    for many in ["9", "255", "100000"] {
        assert_eq!(post(&client, "/v1/calls/a", many, json!({"destination": "bank"})).await, 508, "{many}");
    }
    assert_eq!(post(&client, "/v1/calls/a", "many", json!({"destination": "bank"})).await, 400);
    assert_eq!(post(&client, "/v1/calls/a", "8", json!({"destination": "bank"})).await, 200);
    bank.wait_for(1).await;
    assert_eq!((bank.arrived().len(), bank.arrived()[0].header(HOPS)), (1, "9"));
    // A forged count is the forger's alone.
    assert!(start_call(&client, "b", json!({"destination": "bank"})).await);
    bank.wait_for(2).await;
    assert_eq!(bank.arrived()[1].header(HOPS), "1");
    host.stop().await;
}

/// A receiver that reacts to each webhook with a request that causes the next, and passes the count on.
#[tokio::test(flavor = "multi_thread")]
async fn loop_of_webhooks_and_requests_ends_at_the_limit() {
    let (host, client, bank) = still_host(Reply::Status(200)).await;
    client.post("/v1/hooks/hook", json!({"url": bank.url(), "signatures": []})).await.check(200);
    let mut hops = "0".to_owned();
    for round in 0..20 {
        let status = post(&client, &format!("/v1/alarms/rings{round}"), &hops, json!({"then": "mark"})).await;
        if status == 508 {
            break;
        }
        assert_eq!(status, 204, "after {hops} hops");
        let arrived = bank.wait_for(round + 1).await;
        hops = arrived[round].header(HOPS).to_owned();
    }
    let counts: Vec<String> = bank.arrived().iter().map(|arrived| arrived.header(HOPS).to_owned()).collect();
    assert_eq!(counts, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    host.stop().await;
}
