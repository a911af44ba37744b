//! The hop count propagates from a request through its tasks to calls of other servers.

use super::*;

const HOPS: &str = "tenon-hops";

async fn post(client: &TestClient, path: &str, hops: &str, body: Value) -> u16 {
    let headers = [("content-type", "application/json"), (HOPS, hops)];
    client.send("POST", path, &headers, body.to_string().into_bytes()).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_request_and_of_its_tasks_increment_its_hop_count() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    // The request makes a call, and the task that receives its outcome makes another.
    assert_eq!(post(&client, "/v1/calls/again", "3", json!({"destination": "bank"})).await, 200);
    bank.wait_for(2).await;
    // A timer makes a query.
    assert_eq!(post(&client, "/v1/alarms/asks", "3", json!({"then": "ask"})).await, 204);
    bank.wait_for(3).await;
    let counts: Vec<String> = bank.received().iter().map(|received| received.header(HOPS).to_owned()).collect();
    assert_eq!(counts, ["4"; 3]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_of_a_task_increment_the_hop_count_of_the_scheduling_request() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    let hook = json!({"url": bank.url(), "signatures": []});
    client.post("/v1/hooks/hook", hook).await.check(200);
    assert_eq!(post(&client, "/v1/alarms/rings", "5", json!({"then": "mark"})).await, 204);
    bank.wait_for(1).await;
    assert_eq!(bank.received()[0].header(HOPS), "6");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_above_the_hop_limit_is_rejected_and_changes_nothing() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    for hops in ["9", "255", "100000"] {
        assert_eq!(post(&client, "/v1/calls/a", hops, json!({"destination": "bank"})).await, 508, "{hops}");
    }
    assert_eq!(post(&client, "/v1/calls/a", "many", json!({"destination": "bank"})).await, 400);
    assert_eq!(post(&client, "/v1/calls/a", "8", json!({"destination": "bank"})).await, 200);
    bank.wait_for(1).await;
    assert_eq!((bank.received().len(), bank.received()[0].header(HOPS)), (1, "9"));
    // A forged count affects only the request that carries it.
    assert!(start_call(&client, "b", json!({"destination": "bank"})).await);
    bank.wait_for(2).await;
    assert_eq!(bank.received()[1].header(HOPS), "1");
    host.stop().await;
}

/// The receiver reacts to each webhook with a request that causes the next one, and forwards the hop count.
#[tokio::test(flavor = "multi_thread")]
async fn loop_of_webhooks_and_requests_ends_at_the_limit() {
    let (host, client, bank) = host_with_manual_clock(ReceiverResponse::Status(200)).await;
    client.post("/v1/hooks/hook", json!({"url": bank.url(), "signatures": []})).await.check(200);
    let mut hops = "0".to_owned();
    for round in 0..20 {
        let status = post(&client, &format!("/v1/alarms/rings{round}"), &hops, json!({"then": "mark"})).await;
        if status == 508 {
            break;
        }
        assert_eq!(status, 204, "after {hops} hops");
        let received = bank.wait_for(round + 1).await;
        hops = received[round].header(HOPS).to_owned();
    }
    let counts: Vec<String> = bank.received().iter().map(|received| received.header(HOPS).to_owned()).collect();
    assert_eq!(counts, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    host.stop().await;
}
