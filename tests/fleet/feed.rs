//! Events for readers that pull.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{ReceiverResponse, TestClient, TestHost, TestReceiver, eventually};

const WRITERS: usize = 32;
const ORDERS_EACH: usize = 10;

async fn order(client: &TestClient) -> String {
    client.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).text_at("/id")
}

async fn pull(client: &TestClient, query: &str) -> Value {
    client.get(&format!("/v1/events{query}")).await.expect(200).json()
}

fn subjects(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().expect("events").iter();
    events.map(|event| event["data"]["order_id"].as_str().expect("an order").to_owned()).collect()
}

/// Everything, page by page, until so many were seen and nothing is newer.
async fn pull_all(client: TestClient, count: usize) -> Vec<String> {
    let (mut seen, mut query) = (Vec::new(), String::new());
    let read = eventually("all events", async move || {
        let page = pull(&client, &format!("?limit=7{query}")).await;
        seen.extend(subjects(&page));
        if let Some(next) = page["next"].as_str() {
            query = format!("&after={next}");
        }
        (seen.len() >= count && page["more"] == false).then(|| seen.clone())
    });
    read.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_with_a_cursor_misses_nothing_and_sees_nothing_twice_while_others_commit() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let reader = tokio::spawn(pull_all(acme.clone(), WRITERS * ORDERS_EACH));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let acme = acme.clone();
            tokio::spawn(async move {
                let mut made = Vec::new();
                for _ in 0..ORDERS_EACH {
                    made.push(order(&acme).await);
                }
                made
            })
        })
        .collect();
    let mut made = BTreeSet::new();
    for writer in writers {
        made.extend(writer.await.expect("a writer"));
    }
    let seen = reader.await.expect("the reader");
    assert_eq!(seen.len(), made.len());
    assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), made);
    let stored: Vec<String> = host.events().await.into_iter().map(|event| event.subject).collect();
    assert_eq!(seen, stored, "the order of the commits");
    host.stop().await;
}

#[tokio::test]
async fn tenants_pull_their_own_events_and_no_foreign_one_is_a_cursor() {
    let host = TestHost::fleet().await;
    let (acme, rival) = (host.client("fleet", "acme").await, host.client("fleet", "rival").await);
    let (ours, theirs) = (order(&acme).await, order(&rival).await);
    let (acmes, rivals) = (pull(&acme, "").await, pull(&rival, "").await);
    assert_eq!((subjects(&acmes), subjects(&rivals)), (vec![ours], vec![theirs]));
    let cursor = acmes["next"].as_str().expect("a cursor");
    let foreign = rival.get(&format!("/v1/events?after={cursor}")).await.expect(410);
    let unknown = rival.get("/v1/events?after=event_00000000000000000000000000000000").await.expect(410);
    assert_eq!(
        (foreign.text_at("/code"), foreign.text_at("/error")),
        (unknown.text_at("/code"), unknown.text_at("/error"))
    );
    host.stop().await;
}

#[tokio::test]
async fn what_is_pulled_is_what_webhooks_carry_and_test_events_are_none_of_it() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let acme = host.client("fleet", "acme").await;
    let endpoint = acme.post("/v1/webhook-endpoints", json!({"url": receiver.url()})).await.expect(201).text_at("/id");
    order(&acme).await;
    let arrived = receiver.wait_for(1).await.remove(0);
    acme.post(&format!("/v1/webhook-endpoints/{endpoint}/test"), json!({})).await.check(200);
    let page = acme.get("/v1/events").await.expect(200).text();
    let body = String::from_utf8(arrived.body.to_vec()).expect("a text");
    assert_eq!(page, format!("{{\"events\":[{body}],\"next\":\"{}\",\"more\":false}}", arrived.id()));
    host.stop().await;
}

#[tokio::test]
async fn a_reader_goes_on_past_what_it_did_not_ask_for() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let first = order(&acme).await;
    order(&acme).await;
    let moves = pull(&acme, "?events=driver.location_changed").await;
    assert_eq!((&moves["events"], &moves["next"]), (&json!([]), &pull(&acme, "").await["next"]));
    assert_eq!(subjects(&pull(&acme, &format!("?subjects={first}")).await), [first]);
    host.stop().await;
}

#[tokio::test]
async fn an_event_that_is_not_kept_any_more_is_no_cursor() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(1_800_000_000_000)).start().await;
    let key = host.key("fleet", "acme").await;
    order(&host.client_of(&key)).await;
    let cursor = pull(&host.client_of(&key), "").await["next"].as_str().expect("a cursor").to_owned();
    host.clock.advance(31 * 24 * 60 * 60 * 1_000);
    let host = host.restart().await;
    let acme = host.client_of(&key);
    eventually("the event is gone", async || host.events().await.is_empty().then_some(())).await;
    acme.get(&format!("/v1/events?after={cursor}")).await.check(410);
    let newer = order(&acme).await;
    assert_eq!(subjects(&pull(&acme, "").await), [newer]);
    host.stop().await;
}
