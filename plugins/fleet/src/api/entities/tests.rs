//! Entities, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/entities").json(body))
}

#[test]
fn amounts_are_kept_as_they_were_written() {
    let host = TestHost::new(&PLUGIN);
    let piano =
        json!({"name": "Piano", "type": "parcel", "price": "4999.90", "declared_value": 5000, "currency": "sgd"});
    let piano = create(&host, &piano).json();
    let found = (&piano["price"], &piano["declared_value"], &piano["currency"]);
    assert_eq!(found, (&json!("4999.90"), &json!("5000"), &json!("SGD")));
}

#[test]
fn sizes_have_units() {
    let host = TestHost::new(&PLUGIN);
    let piano = create(&host, &json!({"name": "Piano", "type": "parcel", "weight": 300, "height": "1.1"})).json();
    let found = (&piano["weight_unit"], &piano["dimensions_unit"], &piano["height"]);
    assert_eq!(found, (&json!("kg"), &json!("cm"), &json!(1.1)));
    let wrong = create(&host, &json!({"name": "Piano", "type": "parcel", "weight": -1, "weight_unit": "stone"}));
    assert_eq!((wrong.status, wrong.json()["errors"].as_array().unwrap().len()), (422, 2));
}

#[test]
fn what_an_entity_refers_to_exists() {
    let host = TestHost::new(&PLUGIN);
    for reference in [json!({"payload": "payload_0000000000"}), json!({"customer": "contact_0000000000"})] {
        let mut body = json!({"name": "Piano", "type": "parcel"});
        body.as_object_mut().unwrap().extend(reference.as_object().unwrap().clone());
        assert_eq!(create(&host, &body).status, 404, "{body}");
    }
    let nowhere = create(&host, &json!({"name": "Piano", "type": "parcel", "destination": 0}));
    let sentence = json!("The destination field must be a stop of the order.");
    assert_eq!((nowhere.status, nowhere.json()["error"].clone()), (422, sentence));
}

fn payload(host: &TestHost) -> Value {
    let body = json!({"type": "transport", "pickup": "a", "waypoints": ["b", "c"]});
    let answer = host.call(TestCall::post("/v1/payloads").json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn listed(host: &TestHost, payload: &Value) -> Vec<Value> {
    let path = format!("/v1/payloads/{}", payload["id"].as_str().unwrap());
    let entities = host.call(TestCall::get(&path)).json()["entities"].clone();
    entities.as_array().unwrap().iter().map(|entity| entity["id"].clone()).collect()
}

fn path_of(entity: &Value) -> String {
    format!("/v1/entities/{}", entity["id"].as_str().unwrap())
}

#[test]
fn an_entity_has_a_tracking_number_of_its_own() {
    let host = TestHost::new(&PLUGIN);
    let piano = create(&host, &json!({"name": "Piano", "type": "parcel"})).json();
    let number = piano["tracking_number"].clone();
    assert_eq!((&number["subject"], &number["status_code"]), (&piano["id"], &json!("CREATED")));
    let path = format!("/v1/tracking-numbers/{}", number["id"].as_str().unwrap());
    assert_eq!(host.call(TestCall::get(&path)).status, 200);
    host.call(TestCall::delete(&path_of(&piano)));
    assert_eq!(host.call(TestCall::get(&path)).status, 404);
}

#[test]
fn an_entity_moves_between_payloads() {
    let host = TestHost::new(&PLUGIN);
    let (first, second) = (payload(&host), payload(&host));
    let body = json!({"name": "Piano", "type": "parcel", "payload": first["id"], "destination": 1});
    let piano = create(&host, &body).json();
    assert_eq!((&piano["payload"], &piano["destination"]), (&first["id"], &first["waypoints"][1]["waypoint_id"]));
    assert_eq!(listed(&host, &first), [piano["id"].clone()]);
    let moved = host.call(TestCall::put(&path_of(&piano)).json(&json!({"payload": second["id"]}))).json();
    assert_eq!((&moved["payload"], &moved["destination"]), (&second["id"], &Value::Null));
    assert_eq!((listed(&host, &first), listed(&host, &second)), (vec![], vec![piano["id"].clone()]));
    host.call(TestCall::put(&path_of(&piano)).json(&json!({"payload": null})));
    assert_eq!(listed(&host, &second), Vec::<Value>::new());
}

#[test]
fn a_deleted_entity_is_in_no_payload() {
    let host = TestHost::new(&PLUGIN);
    let payload = payload(&host);
    let piano = create(&host, &json!({"name": "Piano", "type": "parcel", "payload": payload["id"]})).json();
    assert_eq!(host.call(TestCall::delete(&path_of(&piano))).status, 200);
    assert_eq!(listed(&host, &payload), Vec::<Value>::new());
}

#[test]
fn what_an_order_carries_is_settled_when_it_starts() {
    let host = TestHost::new(&PLUGIN);
    let ada = json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591234567"});
    let ada = host.call(TestCall::post("/v1/drivers").json(&ada)).json();
    let order = json!({"pickup": "a", "dropoff": "b", "driver": ada["id"], "entities": [{"name": "Stool"}]});
    let order = host.call(TestCall::post("/v1/orders").json(&order)).json();
    let add = json!({"name": "Piano", "type": "parcel", "payload": order["payload"]["id"]});
    assert_eq!(create(&host, &add).status, 201);
    let start = format!("/v1/orders/{}/start", order["id"].as_str().unwrap());
    assert_eq!(host.call(TestCall::post(&start).json(&json!({"skip_dispatch": true}))).status, 200);
    let late = create(&host, &add);
    assert_eq!((late.status, late.json()["code"].clone()), (400, json!("ORDER_ALREADY_STARTED")));
    let stool = &order["payload"]["entities"][0];
    assert_eq!(host.call(TestCall::delete(&path_of(stool))).json()["code"], "ORDER_ALREADY_STARTED");
    let away = host.call(TestCall::put(&path_of(stool)).json(&json!({"payload": null})));
    assert_eq!(away.json()["code"], "ORDER_ALREADY_STARTED");
    let renamed = host.call(TestCall::put(&path_of(stool)).json(&json!({"name": "Chair"}))).json();
    assert_eq!((&renamed["name"], &renamed["payload"]), (&json!("Chair"), &order["payload"]["id"]));
}
