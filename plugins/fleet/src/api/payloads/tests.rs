//! Payloads as callers use them.

mod carrying;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::PLUGIN;

fn create(host: &TestHost, body: &Value) -> Value {
    let answer = host.call(TestCall::post("/v1/payloads").json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn path(payload: &Value) -> String {
    format!("/v1/payloads/{}", payload["id"].as_str().unwrap())
}

fn food() -> Value {
    json!({"type": "food", "pickup": "1 Dock St", "dropoff": "2 Mill Rd", "meta": {"k": 1}})
}

fn told(host: &TestHost) -> Vec<String> {
    let names = host.events().into_iter().map(|event| event.event_type);
    names.filter(|name| name.starts_with("payload.") || name.starts_with("order.")).collect()
}

#[test]
fn a_created_payload_can_be_read_and_is_told() {
    let host = TestHost::new(&PLUGIN);
    let payload = create(&host, &food());
    assert_eq!((&payload["type"], &payload["pickup"]["street1"]), (&json!("food"), &json!("1 Dock St")));
    assert_eq!((&payload["order"], &payload["meta"]), (&Value::Null, &json!({"k": 1})));
    assert!(payload.get("ends").is_none() && payload.get("current_stop").is_none());
    assert_eq!(host.call(TestCall::get(&path(&payload))).json(), payload);
    let event = host.events().into_iter().find(|event| event.event_type == "payload.created").unwrap();
    assert_eq!((&event.payload["id"], &event.payload["pickup"]), (&payload["id"], &payload["pickup"]["id"]));
}

#[test]
fn payloads_are_listed_and_filtered() {
    let host = TestHost::new(&PLUGIN);
    let first = create(&host, &food());
    host.advance_ms(1_000);
    let second = create(&host, &json!({"type": "parcel", "waypoints": ["a", "b"]}));
    let list = |query: &str| host.call(TestCall::get(&format!("/v1/payloads{query}"))).json();
    assert_eq!(list(""), json!([second, first]));
    assert_eq!(list("?type=food"), json!([first]));
    let pickup = first["pickup"]["id"].as_str().unwrap();
    assert_eq!(list(&format!("?pickup={pickup}")), json!([first]));
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let host = TestHost::new(&PLUGIN);
    let payload = create(&host, &food());
    host.advance_ms(1_000);
    let body =
        json!({"dropoff": "3 Mill Rd", "cod_amount": "5", "cod_currency": "SGD", "entities": [{"name": "Soup"}]});
    let after = host.call(TestCall::patch(&path(&payload)).json(&body)).json();
    assert_eq!((&after["dropoff"]["street1"], &after["cod_amount"]), (&json!("3 Mill Rd"), &json!("5")));
    assert_eq!((&after["pickup"], &after["meta"]), (&payload["pickup"], &payload["meta"]));
    assert_eq!(
        (&after["entities"][0]["name"], &after["updated_at"]),
        (&json!("Soup"), &json!("2026-05-07T08:30:01.000000Z"))
    );
    assert_eq!(host.call(TestCall::get(&path(&payload))).json(), after);
    assert_eq!(told(&host), ["payload.created", "payload.updated"]);
}

#[test]
fn what_is_wrong_is_told_and_changes_nothing() {
    let host = TestHost::new(&PLUGIN);
    let payload = create(&host, &food());
    let table = [
        (json!({"type": null}), "The type field is required."),
        (json!({"pickup": null}), "The pickup field is required."),
        (json!({"cod_amount": "5"}), "The cod_currency field is required when cod_amount is set."),
        (
            json!({"cod_amount": "five", "cod_currency": "SGD"}),
            "The cod_amount field must be an amount that is not negative.",
        ),
        (json!({"entities": 5}), "The entities field must be a list of entities."),
        (
            json!({"waypoints": [{"street1": "a", "service_time": -1}]}),
            "The waypoints.0.service_time field must be between 0 and 86400.",
        ),
    ];
    for (body, sentence) in table {
        let answer = host.call(TestCall::put(&path(&payload)).json(&body));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{body}");
    }
    assert_eq!(host.call(TestCall::get(&path(&payload))).json(), payload);
    let nameless = host.call(TestCall::post("/v1/payloads").json(&json!({"pickup": "a", "dropoff": "b"})));
    assert_eq!((nameless.status, nameless.json()["error"].clone()), (422, json!("The type field is required.")));
}

#[test]
fn a_deleted_payload_is_gone_with_what_it_carries() {
    let host = TestHost::new(&PLUGIN);
    let payload = create(&host, &json!({"type": "food", "waypoints": ["a", "b"], "entities": [{"name": "Soup"}]}));
    let entity = payload["entities"][0]["id"].as_str().unwrap();
    let answer = host.call(TestCall::delete(&path(&payload)));
    assert_eq!((answer.status, &answer.json()["object"]), (200, &json!("payload")));
    assert_eq!(host.call(TestCall::get(&path(&payload))).status, 404);
    assert_eq!(host.call(TestCall::get(&format!("/v1/entities/{entity}"))).status, 404);
    assert_eq!(host.call(TestCall::delete(&path(&payload))).status, 404);
    assert_eq!(told(&host), ["payload.created", "payload.deleted"]);
}

#[test]
fn the_payload_of_an_order_goes_its_way() {
    let host = TestHost::new(&PLUGIN);
    let body = json!({"name": "Ada", "email": "ada@example.com", "phone": "+6591234567"});
    let driver = host.call(TestCall::post("/v1/drivers").json(&body)).json()["id"].clone();
    let body = json!({"pickup": "a", "dropoff": "b", "driver": driver, "dispatch": true});
    let order = host.call(TestCall::post("/v1/orders").json(&body)).json();
    let own = path(&order["payload"]);
    let changed = host.call(TestCall::put(&own).json(&json!({"dropoff": "c"})));
    assert_eq!((changed.status, &changed.json()["dropoff"]["street1"]), (200, &json!("c")));
    assert_eq!(told(&host).iter().filter(|name| name.ends_with("updated")).count(), 2);
    let sentence = json!("Attempted to attach invalid payload to order.");
    let deleted = host.call(TestCall::delete(&own));
    assert_eq!((deleted.status, deleted.json()["error"].clone()), (400, sentence));
    let start = format!("/v1/orders/{}/start", order["id"].as_str().unwrap());
    assert_eq!(host.call(TestCall::post(&start)).status, 200);
    let late = host.call(TestCall::put(&own).json(&json!({"dropoff": "d"})));
    assert_eq!((late.status, late.json()["error"].clone()), (400, json!("Order has already started.")));
}

#[test]
fn a_place_that_cannot_be_read_is_no_place_from_nowhere() {
    let host = TestHost::new(&PLUGIN);
    let place = host.call(TestCall::post("/v1/places").json(&json!({"street1": "1 Dock St"}))).json()["id"].clone();
    let id = place.as_str().unwrap();
    let mut stored = host.record("places", id).unwrap();
    stored["city"] = json!(5);
    host.put_record("places", id, &stored);
    let fault =
        host.try_call(TestCall::post("/v1/payloads").json(&json!({"type": "food", "waypoints": [place, "2 Mill Rd"]})));
    assert_eq!(fault.map(|answer| answer.body).unwrap_err(), "a place with a field that is no text");
}
