//! Orders from creation to deletion: shapes, events, and what a change may touch.

use serde_json::{Value, json};
use tenon::clock::Clock;

use crate::support::{StoredEvent, TestHost};

/// 2026-05-07T08:30:00Z
pub const MORNING_MS: u64 = 1_778_142_600_000;

/// Members of an order, in research/fleet 1.1.2, that this version carries.
const MEMBERS: &str = "id internal_id order_config customer payload facilitator driver_assigned vehicle_assigned \
    tracking_number tracking_statuses files purchase_rate notes type status failure pod_method pod_required dispatched \
    started adhoc adhoc_distance time_window_start time_window_end required_skills orchestrator_priority distance time \
    transaction_amount currency meta dispatched_at started_at scheduled_at updated_at created_at";

#[tokio::test]
async fn a_created_order_has_the_shape_that_its_clients_know() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let acme = host.client("fleet", "acme").await;
    let body = json!({"internal_id": "A-1", "pickup": "1 Dock St", "dropoff": [1.5, 103.5], "notes": "ring",
        "scheduled_at": "2026-05-08", "pod_required": true, "pod_method": "photo", "meta": {"k": [1]}});
    let order = acme.post("/v1/orders", body).await.expect(201).json();
    let members: Vec<&str> = order.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = MEMBERS.split_whitespace().collect();
    expected.sort_unstable();
    assert_eq!(members, expected);
    check_id(&order["id"], "order");
    check_id(&order["payload"]["id"], "payload");
    check_id(&order["payload"]["pickup"]["id"], "place");
    check_id(&order["tracking_number"]["id"], "track");
    let number = order["tracking_number"]["tracking_number"].as_str().expect("a text");
    assert!(number.starts_with("ACM") && number.ends_with("SG") && number.len() == 15, "{number}");
    assert_eq!(order["payload"]["dropoff"]["location"], json!({"type": "Point", "coordinates": [103.5, 1.5]}));
    assert_eq!((&order["status"], &order["type"]), (&json!("created"), &json!("transport")));
    assert_eq!((&order["notes"], &order["meta"]), (&json!("ring"), &json!({"k": [1]})));
    assert_eq!(order["created_at"], "2026-05-07T08:30:00.000000Z");
    assert_eq!(order["scheduled_at"], "2026-05-08T00:00:00.000000Z");
    host.stop().await;
}

#[tokio::test]
async fn a_created_order_is_told_once_with_the_keys_of_the_specification() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let body = json!({"pickup": "a", "dropoff": "b", "customer": {"name": "Ada", "email": "ada@example.com"}});
    let order = acme.post("/v1/orders", body).await.expect(201).json();
    let [event]: [StoredEvent; 1] = host.events().await.try_into().expect("one event");
    assert_eq!((event.event_type.as_str(), event.tenant.as_str()), ("order.created", "acme/test"));
    assert_eq!(event.subject, order["id"]);
    assert_eq!(event.body["data"]["order_id"], order["id"]);
    assert_eq!(event.body["data"]["tracking_number"], order["tracking_number"]["tracking_number"]);
    assert_eq!(event.body["data"]["customer_id"], order["customer"]["id"]);
    host.stop().await;
}

#[tokio::test]
async fn an_order_without_a_customer_says_so_in_its_event() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let _ = acme.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201);
    assert_eq!(host.events().await[0].body["data"].get("customer_id"), Some(&Value::Null));
    host.stop().await;
}

#[tokio::test]
async fn a_refused_order_leaves_neither_order_nor_customer_nor_event() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let body = json!({"pickup": "a", "dropoff": "b", "meta": 5, "customer": {"email": "ada@example.com"}});
    let answer = acme.post("/v1/orders", body).await.expect(422);
    assert_eq!(answer.text_at("/error"), "The meta field must be an object.");
    assert_eq!((acme.get("/v1/orders").await.text().as_str(), host.events().await.len()), ("[]", 0));
    host.stop().await;
}

#[tokio::test]
async fn an_order_is_read_by_its_id_and_by_the_callers_own() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let order = acme.post("/v1/orders", json!({"internal_id": "A-1", "pickup": "a", "dropoff": "b"})).await.expect(201);
    for id in [order.text_at("/id").as_str(), "A-1"] {
        assert_eq!(acme.get(&format!("/v1/orders/{id}")).await.expect(200).body, order.body);
    }
    host.stop().await;
}

#[tokio::test]
async fn put_and_patch_change_what_they_name_and_nothing_else() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let acme = host.client("fleet", "acme").await;
    let before = acme.post("/v1/orders", json!({"pickup": "a", "dropoff": "b", "notes": "n"})).await.expect(201).json();
    let path = format!("/v1/orders/{}", before["id"].as_str().expect("an id"));
    for (method, body) in [("PUT", json!({"notes": null})), ("PATCH", json!({"notes": "later"}))] {
        host.clock.advance(1_000);
        let json = [("content-type", "application/json")];
        let after = acme.send(method, &path, &json, body.to_string().into_bytes()).await.expect(200).json();
        let mut expected = before.clone();
        expected["notes"] = body["notes"].clone();
        expected["updated_at"] = after["updated_at"].clone();
        assert_eq!((&after, after["updated_at"] == before["updated_at"]), (&expected, false), "{method}");
        assert_eq!(acme.get(&path).await.expect(200).json(), after);
    }
    let told: Vec<String> = host.events().await.into_iter().map(|event| event.event_type).collect();
    assert_eq!(told, ["order.created", "order.updated", "order.updated"]);
    host.stop().await;
}

#[tokio::test]
async fn a_deleted_order_says_when_and_is_gone() {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let acme = host.client("fleet", "acme").await;
    let id = acme.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).text_at("/id");
    let path = format!("/v1/orders/{id}");
    let deleted = json!({"id": id, "object": "order", "time": "2026-05-07T08:30:00.000000Z", "deleted": true});
    assert_eq!(acme.delete(&path).await.expect(200).json(), deleted);
    let _ = acme.delete(&path).await.expect(404);
    let _ = acme.get(&path).await.expect(404);
    assert_eq!(acme.get("/v1/orders").await.text(), "[]");
    host.stop().await;
}

/// "order_" and ten letters or digits.
#[track_caller]
pub fn check_id(id: &Value, prefix: &str) {
    let suffix = id.as_str().and_then(|id| id.strip_prefix(prefix)?.strip_prefix('_'));
    let sound = suffix.is_some_and(|suffix| suffix.len() == 10 && suffix.bytes().all(|b| b.is_ascii_alphanumeric()));
    assert!(sound, "{id} is no id of a {prefix}");
}

/// Half a surrogate pair, or a number beyond all floats: JSON by its grammar, and nothing that others could read.
#[tokio::test]
async fn what_no_client_could_read_is_refused_by_name() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let fields = [
        ("pickup", r#""\ud800""#),
        ("waypoints.1", r#"["a","\ud800"]"#),
        ("customer", r#""\ud800""#),
        ("notes", r#""\ud800""#),
        ("meta", r#"{"k":"\ud800"}"#),
        ("meta", r#"{"k":1e999}"#),
    ];
    for (field, value) in fields {
        let name = field.trim_end_matches(".1");
        let body = format!(r#"{{"pickup":"a","dropoff":"b","{name}":{value}}}"#).into_bytes();
        let answer = acme.send("POST", "/v1/orders", &[("content-type", "application/json")], body).await.expect(422);
        assert!(answer.text_at("/error").starts_with(&format!("The {field} field must be ")), "{}", answer.text());
    }
    host.stop().await;
}

#[tokio::test]
async fn an_order_has_a_bound_below_that_of_a_body() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let long = "\u{1F600}".repeat(500);
    let stop = json!({"name": long, "street1": long, "street2": long, "city": long});
    for (body, sentence) in [
        (json!({"meta": {"k": "x".repeat(1_000_000)}}), "The meta field may not have more than 65536 bytes of JSON."),
        (json!({"waypoints": vec![&stop; 100]}), "The order may not have more than 524288 bytes of JSON."),
    ] {
        let mut whole = json!({"pickup": "a", "dropoff": "b"});
        whole.as_object_mut().expect("an object").extend(body.as_object().expect("an object").clone());
        assert_eq!(acme.post("/v1/orders", whole).await.expect(422).text_at("/error"), sentence);
    }
    host.stop().await;
}

/// Both see it free; the second of the two commits meets the first one's, and its call is run again.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_drivers_who_accept_one_order_at_once_one_has_it() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let mut drivers = Vec::new();
    for nth in 0..2 {
        let body = json!({"name": "Ada", "email": format!("{nth}@example.com"), "phone": format!("+65 {nth}")});
        drivers.push(acme.post("/v1/drivers", body).await.expect(201).text_at("/id"));
    }
    for _ in 0..20 {
        let order = json!({"pickup": "a", "dropoff": "b", "adhoc": true, "dispatch": true});
        let path = format!("/v1/orders/{}/start", acme.post("/v1/orders", order).await.expect(201).text_at("/id"));
        let first = acme.post(&path, json!({"assign": drivers[0]}));
        let second = acme.post(&path, json!({"assign": drivers[1]}));
        let (first, second) = tokio::join!(first, second);
        let mut answers = [first.status, second.status];
        answers.sort_unstable();
        assert_eq!(answers, [200, 409], "{} {}", first.text(), second.text());
    }
    host.stop().await;
}
