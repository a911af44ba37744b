//! What an organization does with its endpoints, and what it sees of others': nothing.

use serde_json::json;

use super::{Endpoint, PATH, impatient_host, order};
use crate::support::{ReceiverResponse, TestHost, TestReceiver, eventually};

#[tokio::test]
async fn a_disabled_endpoint_keeps_its_events_until_it_is_enabled() {
    let host = TestHost::fleet().await;
    let (off, on) = (
        TestReceiver::start(ReceiverResponse::Status(200)).await,
        TestReceiver::start(ReceiverResponse::Status(200)).await,
    );
    let acme = host.client("fleet", "acme").await;
    let (endpoint, _) = (Endpoint::at(&acme, &off).await, Endpoint::at(&acme, &on).await);
    assert_eq!(endpoint.act(&acme, "disable").await["status"], "disabled");
    let orders = [order(&acme).await, order(&acme).await];
    on.wait_for(2).await;
    assert_eq!(off.received().len(), 0);
    assert_eq!(endpoint.act(&acme, "enable").await["status"], "enabled");
    let mut arrived: Vec<String> =
        off.wait_for(2).await.iter().map(|arrived| arrived.json()["data"]["order_id"].to_string()).collect();
    let mut expected: Vec<String> = orders.iter().map(|id| json!(id).to_string()).collect();
    arrived.sort();
    expected.sort();
    assert_eq!(arrived, expected);
    host.stop().await;
}

#[tokio::test]
async fn what_was_given_up_is_recovered_and_sent_once_more_on_demand() {
    let (host, receiver) = (impatient_host().await, TestReceiver::start(ReceiverResponse::Status(500)).await);
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::at(&acme, &receiver).await;
    order(&acme).await;
    let failed = endpoint.delivery_in(&acme, "failed").await;
    receiver.respond_with(ReceiverResponse::Status(200));
    let recover = format!("{}/recover", endpoint.path);
    acme.post(&recover, json!({"since": "2020-01-01"})).await.check(200);
    let delivered = endpoint.delivery_in(&acme, "delivered").await;
    assert_eq!((&delivered["id"], &delivered["attempts"]), (&failed["id"], &json!(2)));
    let event = failed["id"].as_str().expect("an id");
    endpoint.act(&acme, &format!("deliveries/{event}/redeliver")).await;
    let ids: Vec<String> = receiver.wait_for(3).await.iter().map(|arrived| arrived.id()).collect();
    assert_eq!(ids, [event, event, event]);
    host.stop().await;
}

#[tokio::test]
async fn a_test_event_arrives_at_its_endpoint_alone() {
    let host = TestHost::fleet().await;
    let (tried, other) = (
        TestReceiver::start(ReceiverResponse::Status(200)).await,
        TestReceiver::start(ReceiverResponse::Status(200)).await,
    );
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::new(&acme, tried.url(), &["order.created"]).await;
    Endpoint::at(&acme, &other).await;
    let sent = endpoint.act(&acme, "test").await;
    let arrived = tried.wait_for(1).await.remove(0);
    assert_eq!((json!(arrived.id()), &arrived.json()["event"]), (sent["id"].clone(), &json!("webhook.test")));
    assert_eq!(
        json!(endpoint.path),
        json!(format!("{PATH}/{}", arrived.json()["data"]["webhook_id"].as_str().expect("an id")))
    );
    order(&acme).await;
    assert_eq!(other.wait_for(1).await[0].json()["event"], "order.created");
    host.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_says_it_is_gone_is_disabled_with_the_reason() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(410)).await);
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::at(&acme, &receiver).await;
    order(&acme).await;
    let disabled = eventually("a disabled endpoint", async || {
        let seen = acme.get(&endpoint.path).await.expect(200).json();
        (seen["status"] == "disabled").then_some(seen)
    });
    let reason = disabled.await["disabled_reason"].to_string();
    assert!(reason.contains("410"), "{reason}");
    receiver.respond_with(ReceiverResponse::Status(200));
    let enabled = endpoint.act(&acme, "enable").await;
    assert_eq!((&enabled["status"], &enabled["disabled_reason"]), (&json!("enabled"), &json!(null)));
    order(&acme).await;
    receiver.wait_for(2).await;
    host.stop().await;
}

#[tokio::test]
async fn an_address_inside_of_a_network_is_refused_with_the_field() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let urls =
        ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[fd00::1]/", "http://0x0a000001/", "ftp://a.b/"];
    for url in urls {
        let answer = acme.post(PATH, json!({"url": url})).await.expect(422);
        assert_eq!(answer.text_at("/code"), "VALIDATION_FAILED", "{url}");
        assert!(answer.text_at("/error").starts_with("The url field is not accepted: "), "{}", answer.text());
    }
    let live = json!({"plugin": "fleet", "tenant": "acme", "environment": "live"});
    let live = host.client_of(host.create_key(live).await["key"].as_str().expect("a key"));
    let answer = live.post(PATH, json!({"url": "http://hooks.example.com/"})).await.expect(422);
    assert_eq!(answer.text_at("/error"), "The url field must be an address with https://.");
    live.post(PATH, json!({"url": "https://127.0.0.1/"})).await.check(422);
    assert_eq!(acme.get(PATH).await.expect(200).json(), json!([]));
    host.stop().await;
}

#[tokio::test]
async fn events_of_another_organization_are_neither_sent_nor_found() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let (acme, rival) = (host.client("fleet", "acme").await, host.client("fleet", "rival").await);
    let (own, foreign) = (Endpoint::at(&acme, &receiver).await, Endpoint::at(&rival, &receiver).await);
    order(&acme).await;
    let event = own.delivery_in(&acme, "delivered").await["id"].as_str().expect("an id").to_owned();
    assert_eq!(rival.get(&format!("{}/deliveries", foreign.path)).await.expect(200).json(), json!([]));
    for event in [event.as_str(), "event_00000000000000000000000000000000"] {
        let path = format!("{}/deliveries/{event}", foreign.path);
        let words = "The requested resource was not found";
        let attempts = rival.get(&format!("{path}/attempts")).await.expect(404);
        let redelivery = rival.post(&format!("{path}/redeliver"), json!({})).await.expect(404);
        assert_eq!((attempts.text_at("/error").as_str(), redelivery.text_at("/error").as_str()), (words, words));
    }
    assert_eq!(receiver.received().len(), 1);
    host.stop().await;
}
