//! What arrives, when, and how it is signed.

use hmac::{Hmac, Mac};
use serde_json::json;
use sha2::Sha256;
use standardwebhooks::Webhook;
use tenon::clock::Clock;

use super::{Endpoint, order};
use crate::support::{ReceivedRequest, ReceiverResponse, TestHost, TestReceiver};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
const MORNING_MS: u64 = 1_778_142_600_000;

pub(super) fn accepts(secret: &str, arrived: &ReceivedRequest) -> bool {
    Webhook::new(secret).expect("a secret").verify(&arrived.body, &arrived.headers).is_ok()
}

pub(super) fn hex_hmac(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[tokio::test]
async fn an_order_is_told_with_a_signature_that_others_accept() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(204)).await);
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::at(&acme, &receiver).await;
    let order = acme.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).json();
    let arrived = receiver.wait_for(1).await.remove(0);
    assert!(accepts(&endpoint.secret, &arrived));
    let mut changed = arrived.clone();
    changed.body = String::from_utf8_lossy(&arrived.body).replace("created", "creates").into_bytes().into();
    assert!(!accepts(&endpoint.secret, &changed), "a changed byte");
    let hmac = hex_hmac(&endpoint.secret, &arrived.body);
    assert_eq!(arrived.header("signature"), hmac);
    assert_eq!(arrived.header("x-fleetbase-signature"), format!("sha256={hmac}"));
    let told = arrived.json();
    assert_eq!(
        (&told["id"], &told["event"], &told["api_version"]),
        (&json!(arrived.id()), &json!("order.created"), &json!("2024-03-12"))
    );
    assert!(told["created_at"].is_string());
    assert_eq!((&told["data"]["order_id"], &told["data"]["customer_id"]), (&order["id"], &json!(null)));
    assert_eq!(told["data"]["tracking_number"], order["tracking_number"]["tracking_number"]);
    host.stop().await;
}

#[tokio::test]
async fn locations_of_a_driver_arrive_in_order_where_they_are_wanted() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let acme = host.client("fleet", "acme").await;
    Endpoint::new(&acme, receiver.url(), &["driver.location_changed"]).await;
    let ada = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
    let driver = acme.post("/v1/drivers", ada).await.expect(201).text_at("/id");
    order(&acme).await;
    for latitude in 0..20 {
        let fix = json!({"latitude": latitude, "longitude": 8.5, "heading": 90, "speed": 12});
        acme.post(&format!("/v1/drivers/{driver}/track"), fix).await.check(200);
    }
    let told: Vec<serde_json::Value> =
        receiver.wait_for(20).await.iter().map(|arrived| arrived.json()["data"].clone()).collect();
    for (latitude, data) in told.iter().enumerate() {
        assert_eq!((&data["driver_id"], &data["latitude"]), (&json!(driver), &json!(latitude)));
        assert_eq!((&data["longitude"], &data["heading"], &data["speed"]), (&json!(8.5), &json!(90), &json!(12)));
    }
    assert_eq!(told.len(), 20);
    host.stop().await;
}

#[tokio::test]
async fn a_refused_delivery_is_tried_again_when_its_time_has_come() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let receiver = TestReceiver::start(ReceiverResponse::Status(503)).await;
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::at(&acme, &receiver).await;
    order(&acme).await;
    let delivery = endpoint.delivery_in(&acme, "retrying").await;
    // Five minutes, and a tenth of that at most.
    let next = delivery["next_attempt_at"].as_str().expect("a time");
    assert!(("2026-05-07T08:35:00"..="2026-05-07T08:35:30.000000Z").contains(&next), "{next}");
    let refused = endpoint.attempts(&acme, &delivery["id"]).await;
    assert_eq!(
        (refused.len(), &refused[0]["outcome"], &refused[0]["response_status"]),
        (1, &json!("status"), &json!(503))
    );

    receiver.respond_with(ReceiverResponse::Status(200));
    host.clock.advance(5 * MINUTE_MS - 1);
    // What is new is not held back by what waits, and shows that what waits was not due.
    order(&acme).await;
    assert_ne!(receiver.wait_for(2).await[1].id(), receiver.received()[0].id());
    host.clock.advance(MINUTE_MS);
    let arrived = receiver.wait_for(3).await;
    assert_eq!((arrived[2].id(), &arrived[2].body), (arrived[0].id(), &arrived[0].body));
    assert_ne!(arrived[2].header("webhook-timestamp"), arrived[0].header("webhook-timestamp"));
    let event = json!(arrived[0].id());
    let attempts = crate::support::eventually("two attempts", async || {
        Some(endpoint.attempts(&acme, &event).await).filter(|attempts| attempts.len() == 2)
    });
    assert_eq!(attempts.await[1]["outcome"], "delivered");
    host.stop().await;
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(Clock::system().now())).start().await;
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::at(&acme, &receiver).await;
    let new = endpoint.act(&acme, "rotate").await["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(new, endpoint.secret);
    order(&acme).await;
    let arrived = receiver.wait_for(1).await.remove(0);
    assert!(accepts(&new, &arrived) && accepts(&endpoint.secret, &arrived));
    assert_eq!(arrived.header("signature"), hex_hmac(&new, &arrived.body));
    host.clock.advance(DAY_MS);
    order(&acme).await;
    let later = receiver.wait_for(2).await.remove(1);
    assert_eq!(later.header("webhook-signature").split(' ').count(), 1);
    host.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_hangs_does_not_delay_another() {
    let host = TestHost::fleet().await;
    let (dead, alive) =
        (TestReceiver::start(ReceiverResponse::Never).await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let acme = host.client("fleet", "acme").await;
    let stuck = Endpoint::at(&acme, &dead).await;
    Endpoint::at(&acme, &alive).await;
    for _ in 0..50 {
        order(&acme).await;
    }
    assert_eq!(alive.wait_for(50).await.len(), 50);
    let waiting = acme.get(&format!("{}/deliveries?status=delivered", stuck.path)).await.expect(200);
    assert_eq!(waiting.json(), json!([]));
    host.stop().await;
}

#[tokio::test]
async fn what_was_on_its_way_arrives_after_a_restart() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Never).await);
    let key = host.key("fleet", "acme").await;
    let acme = host.client_of(&key);
    let endpoint = Endpoint::at(&acme, &receiver).await;
    order(&acme).await;
    let first = receiver.wait_for(1).await.remove(0);
    receiver.respond_with(ReceiverResponse::Status(200));
    let host = host.restart().await;
    let again = receiver.wait_for(2).await.remove(1);
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    endpoint.delivery_in(&host.client_of(&key), "delivered").await;
    host.stop().await;
}
