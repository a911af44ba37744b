//! Events of an order, a stop and a driver, as a receiver gets them that knows nothing of the host but its secret.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Endpoint,
    delivery::{accepts, hex_hmac},
};
use crate::support::{ReceivedRequest, ReceiverResponse, TestClient, TestHost, TestReceiver};

const EVENTS: [&str; 3] = ["order.dispatched", "waypoint.completed", "driver.location_changed"];
/// Beside those that the real product has: `Signature` and `X-Fleetbase-Signature`.
const STANDARD: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// A tour whose first stop is done and whose driver has said where he is. Gives the ids of both, and of that stop.
async fn drive(acme: &TestClient) -> (String, String, String) {
    let ada = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 91234567"});
    let driver = acme.post("/v1/drivers", ada).await.expect(201).text_at("/id");
    let tour = json!({"waypoints": ["1 Dock St", "2 Mill Rd", "3 Quay"], "driver": driver});
    let made = acme.post("/v1/orders", tour).await.expect(201);
    let order = made.text_at("/id");
    for (rest, body) in [
        ("dispatch", json!({})),
        ("start", json!({})),
        ("update-activity", json!({"activity": {"code": "enroute"}})),
        ("update-activity", json!({"activity": {"code": "completed"}})),
    ] {
        acme.post(&format!("/v1/orders/{order}/{rest}"), body).await.check(200);
    }
    let fix = json!({"latitude": 1.5, "longitude": 103.5, "heading": 90, "speed": 8.5});
    acme.post(&format!("/v1/drivers/{driver}/track"), fix).await.check(200);
    (order, driver, made.text_at("/payload/waypoints/0/waypoint_id"))
}

/// Every signature is of these bytes and no others.
#[track_caller]
fn check_signed(endpoint: &Endpoint, arrived: &ReceivedRequest) {
    assert!(accepts(&endpoint.secret, arrived), "{arrived:?}");
    let hmac = hex_hmac(&endpoint.secret, &arrived.body);
    assert_eq!(arrived.header("signature"), hmac);
    assert_eq!(arrived.header("x-fleetbase-signature"), format!("sha256={hmac}"));
    let mut changed = arrived.clone();
    changed.body = [&arrived.body[..], b" "].concat().into();
    assert!(!accepts(&endpoint.secret, &changed), "a byte more");
    for name in STANDARD {
        let mut without = arrived.clone();
        without.headers.remove(name);
        assert!(!accepts(&endpoint.secret, &without), "without {name}");
    }
}

#[tokio::test]
async fn orders_stops_and_drivers_are_told_with_signatures_over_the_very_bytes() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(204)).await);
    let acme = host.client("fleet", "acme").await;
    let endpoint = Endpoint::new(&acme, receiver.url(), &EVENTS).await;
    let (order, driver, stop) = drive(&acme).await;
    let arrived = receiver.wait_for(3).await;
    let told: BTreeMap<String, (&ReceivedRequest, Value)> = arrived
        .iter()
        .map(|arrived| (arrived.json()["event"].as_str().expect("a type").to_owned(), (arrived, arrived.json())))
        .collect();
    assert_eq!((arrived.len(), told.len()), (3, 3), "{:?}", told.keys());
    for name in EVENTS {
        let (arrived, body) = &told[name];
        check_signed(&endpoint, arrived);
        assert_eq!((arrived.line.as_str(), arrived.header("content-type")), ("POST /hook", "application/json"));
        assert_eq!((&body["id"], &body["api_version"]), (&json!(arrived.id()), &json!("2024-03-12")));
        let feed = acme.get(&format!("/v1/events?events={name}")).await.expect(200);
        let bytes = String::from_utf8(arrived.body.to_vec()).expect("a text");
        assert!(feed.text().starts_with(&format!("{{\"events\":[{bytes}],")), "{name}: what is pulled is the same");
    }
    let data = |name: &str| &told[name].1["data"];
    let dispatched = data("order.dispatched");
    assert_eq!((&dispatched["order_id"], &dispatched["driver_assigned"]), (&json!(order), &json!(driver)));
    assert_eq!((&dispatched["status"], &dispatched["customer_id"]), (&json!("dispatched"), &Value::Null));
    let completed = data("waypoint.completed");
    assert_eq!((&completed["id"], &completed["order_id"]), (&json!(stop), &json!(order)));
    assert_eq!((&completed["activity"], &completed["complete"]), (&json!("completed"), &json!(true)));
    let moved = data("driver.location_changed");
    assert_eq!((&moved["driver_id"], &moved["heading"], &moved["speed"]), (&json!(driver), &json!(90), &json!(8.5)));
    assert_eq!((&moved["latitude"], &moved["longitude"]), (&json!(1.5), &json!(103.5)));
    host.stop().await;
}
