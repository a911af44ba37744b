//! The stream of events, as a browser reads it.

use serde_json::json;

use crate::support::{RawConnection, TestClient, TestHost};

async fn order(client: &TestClient) -> String {
    client.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).text_at("/id")
}

/// A stream that has begun.
async fn open(host: &TestHost, key: &str, query: &str, more: &str) -> RawConnection {
    let mut stream = RawConnection::open(host.base()).await;
    let head =
        format!("GET /v1/stream{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{more}\r\n");
    stream.send(&head).await;
    stream.read_until("retry: ").await;
    assert!(stream.text().contains("content-type: text/event-stream"), "{}", stream.text());
    stream
}

/// The ids of the events that came, in their order.
fn ids(stream: &RawConnection) -> Vec<String> {
    stream.text().lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

async fn key_of(host: &TestHost, tenant: &str) -> (String, TestClient) {
    let made = host.create_key(json!({"plugin": "fleet", "tenant": tenant, "environment": "test"})).await;
    let key = made["key"].as_str().expect("a key").to_owned();
    (key.clone(), host.client_of(&key))
}

#[tokio::test]
async fn what_happens_is_streamed_to_its_organization_alone() {
    let host = TestHost::fleet().await;
    let ((acme_key, acme), (other_key, other)) = (key_of(&host, "acme").await, key_of(&host, "other").await);
    let mut stream = open(&host, &acme_key, "", "").await;
    let mut others = open(&host, &other_key, "", "").await;
    let theirs = order(&other).await;
    let ours = order(&acme).await;
    stream.read_until(&ours).await;
    others.read_until(&theirs).await;
    assert!(stream.text().contains("event: order.created\n"), "{}", stream.text());
    assert!(!stream.text().contains(&theirs) && !others.text().contains(&ours));
    drop((stream, others));
    host.stop().await;
}

#[tokio::test]
async fn a_reader_that_comes_back_sees_every_event_once() {
    let host = TestHost::fleet().await;
    let (key, client) = key_of(&host, "acme").await;
    let mut stream = open(&host, &key, "", "").await;
    let first = order(&client).await;
    stream.read_until(&first).await;
    let last = ids(&stream).pop().expect("an id");
    drop(stream);
    let missed = [order(&client).await, order(&client).await];
    let mut stream = open(&host, &key, "", &format!("last-event-id: {last}\r\n")).await;
    let live = order(&client).await;
    stream.read_until(&live).await;
    assert_eq!(ids(&stream).len(), 3, "{}", stream.text());
    assert!(missed.iter().all(|id| stream.text().contains(id)) && !stream.text().contains(&first));
    drop(stream);
    host.stop().await;
}

#[tokio::test]
async fn an_event_that_is_not_known_is_told_and_the_stream_begins_now() {
    let host = TestHost::fleet().await;
    let (key, client) = key_of(&host, "acme").await;
    let before = order(&client).await;
    let mut stream = open(&host, &key, "", "last-event-id: event_of_somebody_else\r\n").await;
    stream.read_until("event: tenon.reset").await;
    let after = order(&client).await;
    stream.read_until(&after).await;
    assert!(!stream.text().contains(&before));
    drop(stream);
    host.stop().await;
}

#[tokio::test]
async fn a_stream_shows_only_what_it_names() {
    let host = TestHost::fleet().await;
    let (key, client) = key_of(&host, "acme").await;
    let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
    let driver = client.post("/v1/drivers", driver).await.expect(201).text_at("/id");
    let mut moves = open(&host, &key, "?events=driver.location_changed", "").await;
    let mut one = open(&host, &key, &format!("?subjects={driver}"), "").await;
    let made = order(&client).await;
    client.post(&format!("/v1/drivers/{driver}/track"), json!({"latitude": 1.5, "longitude": 103.5})).await.check(200);
    moves.read_until(&driver).await;
    one.read_until(&driver).await;
    assert!(!moves.text().contains(&made) && !one.text().contains(&made));
    drop((moves, one));
    host.stop().await;
}

#[tokio::test]
async fn streams_do_not_keep_a_host_from_stopping() {
    let host = TestHost::fleet().await;
    let (key, _client) = key_of(&host, "acme").await;
    let stream = open(&host, &key, "", "").await;
    let (ended, ()) = tokio::join!(stream.read_to_end(), host.stop());
    assert!(ended.ends_with("0\r\n\r\n"), "the stream is ended in order: {ended}");
}
