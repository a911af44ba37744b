//! What is told of whatever happens: the envelope, what becomes of a resource in it, and that nothing else is told.
//!
//! Owns the ear, by which the files on orders, drivers and resources hear each event once and in its order.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stage::Stage;
use crate::support::{RawConnection, ReceiverResponse, Response, StoredEvent, TestReceiver};

/// As the envelope writes the time of a stage.
const MORNING: &str = "2026-05-07T08:30:00.000Z";

/// Hears everything that a stage tells, each event once.
pub struct Ear<'a> {
    stage: &'a Stage,
    heard: usize,
}

impl<'a> Ear<'a> {
    /// What was told before is not heard.
    pub async fn at(stage: &'a Stage) -> Ear<'a> {
        Ear { stage, heard: stage.host.events().await.len() }
    }

    /// What was told since it was asked last, oldest first, each in the envelope of the interface.
    pub async fn hear(&mut self) -> Vec<StoredEvent> {
        let all = self.stage.host.events().await;
        let ids: BTreeSet<&str> = all.iter().map(|event| event.body["id"].as_str().expect("an id")).collect();
        assert_eq!(ids.len(), all.len(), "two events of one id");
        let news = all[self.heard..].to_vec();
        self.heard = all.len();
        news.iter().for_each(check_envelope);
        news
    }

    /// The same without what tracking numbers tell beside: `events_of_tracking` listens to them.
    pub async fn hear_besides_tracking(&mut self) -> Vec<StoredEvent> {
        let mut news = self.hear().await;
        news.retain(|event| !event.event_type.starts_with("tracking_"));
        news
    }

    pub async fn hears_nothing(&mut self) {
        assert_eq!(names(&self.hear().await), [""; 0]);
    }
}

/// Five members, and no other.
#[track_caller]
fn check_envelope(event: &StoredEvent) {
    let body = &event.body;
    let expected = json!({
        "id": body["id"], "api_version": "2024-03-12", "event": event.event_type, "created_at": MORNING,
        "data": body["data"],
    });
    assert_eq!((body, event.tenant.as_str()), (&expected, "acme/test"));
    let suffix = body["id"].as_str().and_then(|id| id.strip_prefix("event_"));
    assert!(suffix.is_some_and(|suffix| suffix.len() == 32), "{body}");
    assert!(body["data"].is_object() && !event.subject.is_empty(), "{body}");
}

pub fn names(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|event| event.event_type.as_str()).collect()
}

/// Type, subject and data: all that an event says.
#[track_caller]
pub fn check_told(event: &StoredEvent, event_type: &str, subject: &Value, data: &Value) {
    assert_eq!((event.event_type.as_str(), &json!(event.subject)), (event_type, subject));
    assert_eq!(&event.body["data"], data, "{event_type}");
}

/// What an event says of a resource that the interface shows so: other resources as their ids, times by the second.
/// What stands in `meta` is the caller's.
pub fn reduced(shown: &Value) -> Value {
    let members = shown.as_object().expect("a resource").iter().map(|(name, value)| {
        let told = match value {
            _ if name == "meta" => None,
            Value::Object(_) => id_of(value),
            Value::Array(items) => {
                items.iter().map(id_of).collect::<Option<Vec<_>>>().filter(|ids| !ids.is_empty()).map(Value::Array)
            }
            Value::String(time) if name.ends_with("_at") => Some(json!(time[..19].replace('T', " "))),
            _ => None,
        };
        (name.clone(), told.unwrap_or_else(|| value.clone()))
    });
    Value::Object(members.collect())
}

fn id_of(value: &Value) -> Option<Value> {
    value.get("id").cloned()
}

/// The same object with these members.
pub fn with(mut object: Value, members: Value) -> Value {
    let members = members.as_object().expect("an object").clone();
    object.as_object_mut().expect("an object").extend(members);
    object
}

/// Methods, paths and bodies that are refused, of an order that nobody has and a driver who is where he is.
fn refused(order: &str, driver: &str) -> Vec<(&'static str, String, Value)> {
    let of_order = |rest: &str| format!("/v1/orders/{order}{rest}");
    let post = |path: &str, body: Value| ("POST", path.to_owned(), body);
    vec![
        post("/v1/orders", json!({"pickup": "a", "dropoff": "b", "meta": 5, "customer": {"name": "Bo"}})),
        post("/v1/orders", json!({"pickup": "a"})),
        post("/v1/orders", json!({"pickup": "a", "dropoff": "b", "dispatch": true})),
        ("PUT", of_order(""), json!({"status": "nonsense", "notes": "new"})),
        ("PUT", of_order(""), json!({"driver": "driver_0000000000"})),
        post(&of_order("/dispatch"), json!({})),
        post(&of_order("/start"), json!({})),
        post(&of_order("/complete"), json!({})),
        post(&of_order("/update-activity"), json!({"activity": {"code": "completed"}})),
        post(&of_order("/update-activity"), json!({"activity": {"code": "failed"}})),
        ("DELETE", "/v1/orders/order_0000000000".to_owned(), Value::Null),
        post("/v1/drivers", json!({"name": "Eve"})),
        post(&format!("/v1/drivers/{driver}/track"), json!({"latitude": 91, "longitude": 0})),
        ("PUT", format!("/v1/drivers/{driver}"), json!({"vehicle": "vehicle_0000000000"})),
        post("/v1/places", json!({"name": "Depot", "latitude": 91, "longitude": 0})),
        post("/v1/contacts", json!({"name": "Bo", "type": "customer", "email": "nobody"})),
        post("/v1/vehicles", json!({"make": "Volvo", "driver": "driver_0000000000"})),
        post("/v1/entities", json!({"name": "Crate", "type": "parcel", "payload": "payload_0000000000"})),
        post("/v1/payloads", json!({"type": "transport"})),
        post("/v1/order-configs", json!({"key": "fast", "name": "Fast"})),
        post("/v1/tracking-numbers", json!({"region": "SG", "owner": "order_0000000000"})),
        post("/v1/tracking-statuses", json!({"order": order})),
        ("DELETE", "/v1/places/place_0000000000".to_owned(), Value::Null),
    ]
}

#[tokio::test]
async fn nothing_is_told_of_what_was_refused() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let order = stage.order(json!({})).await;
    let mut ear = Ear::at(&stage).await;
    for (method, path, body) in refused(&order, &ada.id) {
        let answer = stage.call(&stage.key, method, &path, body.clone()).await;
        assert!((400..500).contains(&answer.status), "{method} {path} {body}: {} {}", answer.status, answer.text());
        ear.hears_nothing().await;
    }
    let strangers: [(&str, u16); 2] = [("", 401), (&ada.token, 404)];
    for (key, status) in strangers {
        stage.call(key, "POST", &format!("/v1/orders/{order}/dispatch"), json!({})).await.check(status);
    }
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn reading_tells_nothing_and_neither_does_a_change_that_changes_nothing() {
    let stage = Stage::open().await;
    let order = stage.order(json!({"notes": "ring"})).await;
    let path = format!("/v1/orders/{order}");
    let mut ear = Ear::at(&stage).await;
    for read in ["", "/next-activity", "/tracker", "/eta", "/distance-and-time", "/comments"] {
        stage.get(&format!("{path}{read}")).await.check(200);
    }
    for unchanged in [json!({}), json!({"notes": "ring"}), json!({"status": "created"})] {
        stage.put(&path, unchanged).await.check(200);
    }
    ear.hears_nothing().await;
    stage.finish().await;
}

#[tokio::test]
async fn what_is_asked_for_twice_with_one_idempotency_key_is_told_once() {
    let stage = Stage::open().await;
    let acme = stage.host.client_of(&stage.key);
    let mut ear = Ear::at(&stage).await;
    let body = json!({"pickup": "a", "dropoff": "b"});
    let first = acme.post_once("/v1/orders", "one", body.clone()).await.expect(201);
    let again = acme.post_once("/v1/orders", "one", body).await.expect(201);
    assert_eq!((first.body, again.header("idempotency-replayed")), (again.body.clone(), Some("true")));
    assert_eq!(names(&ear.hear().await), ["order.created"]);
    stage.finish().await;
}

/// It is of that endpoint: the feed, which others read, does not show it.
#[tokio::test]
async fn an_endpoint_that_is_tried_gets_a_test_event() {
    let stage = Stage::open().await.covers(&["event webhook.test"]);
    let (tried, other) = (
        TestReceiver::start(ReceiverResponse::Status(200)).await,
        TestReceiver::start(ReceiverResponse::Status(200)).await,
    );
    let endpoint = stage.make("/v1/webhook-endpoints", json!({"url": tried.url()})).await;
    stage.make("/v1/webhook-endpoints", json!({"url": other.url()})).await;
    let mut ear = Ear::at(&stage).await;
    let sent = stage.post(&format!("/v1/webhook-endpoints/{endpoint}/test"), json!({})).await.expect(200).json();
    let heard = ear.hear().await;
    assert_eq!(names(&heard), ["webhook.test"]);
    assert_eq!(heard[0].body["data"], json!({"webhook_id": endpoint}));
    let arrived = tried.wait_for(1).await.remove(0);
    assert_eq!((arrived.json(), &sent["id"]), (heard[0].body.clone(), &json!(arrived.id())));
    assert_eq!(stage.shown("/v1/events").await["events"], json!([]));
    let order = stage.order(json!({})).await;
    let first = other.wait_for(1).await.remove(0).json();
    assert_eq!((&first["event"], &first["data"]["order_id"]), (&json!("order.created"), &json!(order)));
    stage.finish().await;
}

/// One order is listened to, while another one goes the same way.
#[tokio::test]
async fn a_stream_tells_what_happens_to_the_order_that_it_names() {
    let stage = Stage::open().await.covers(&["answer of stream-events"]);
    let ada = stage.driver("ada").await;
    let order = stage.order(json!({"driver": ada.id})).await;
    let other = stage.order(json!({"driver": ada.id})).await;
    let mut stream = RawConnection::open(stage.host.base()).await;
    let (path, key) = (format!("/v1/stream?subjects={order}"), &stage.key);
    stream.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n")).await;
    stream.read_until("retry: ").await;
    let head = stream.text();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: text/event-stream"), "{head}");
    let began = Response { status: 200, headers: http::HeaderMap::new(), body: hyper::body::Bytes::new() };
    stage.seen.note_answer("GET", &path, &began);

    let mut ear = Ear::at(&stage).await;
    for id in [&other, &order] {
        stage.post(&format!("/v1/orders/{id}/dispatch"), json!({})).await.check(200);
        stage.post(&format!("/v1/orders/{id}/start"), json!({})).await.check(200);
    }
    stream.read_until("event: order.started").await;
    let heard = ear.hear().await;
    let of_order: Vec<&StoredEvent> = heard.iter().filter(|event| event.subject == order).collect();
    let text = stream.text();
    let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(told, ["order.dispatched", "order.started"]);
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let first: Value = serde_json::from_str(data[0]).expect("a body of JSON");
    assert_eq!((of_order.len(), &first), (2, &of_order[0].body));
    assert!(!text.contains(&other), "{text}");
    drop(stream);
    stage.finish().await;
}
