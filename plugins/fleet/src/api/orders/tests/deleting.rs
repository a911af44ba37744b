//! An order goes with all that is its own.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::Fleet;

#[test]
fn a_deleted_order_takes_its_payload_and_its_numbers_with_it() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.tour(json!({"driver": ada, "dispatch": true, "entities": [{"name": "Piano"}]}));
    fleet.act(&id, "start", json!({}));
    fleet.call(TestCall::post(&format!("/v1/orders/{id}/comments")).json(&json!({"content": "hello"})));
    let order = fleet.read(&id);
    let gone = [
        ("payloads", order["payload"]["id"].clone()),
        ("tracking-numbers", order["tracking_number"]["id"].clone()),
        ("tracking-statuses", order["tracking_statuses"][0]["id"].clone()),
        ("entities", order["payload"]["entities"][0]["id"].clone()),
    ];
    for (collection, record) in &gone {
        assert!(fleet.host.record(collection, record.as_str().unwrap()).is_some(), "{collection}");
    }
    let path = format!("/v1/orders/{id}");
    let answer = fleet.call(TestCall::delete(&path));
    let expected = json!({"id": id, "object": "order", "time": "2026-05-07T08:30:00.000000Z", "deleted": true});
    assert_eq!((answer.status, answer.json()), (200, expected));
    for (collection, record) in &gone {
        assert!(fleet.host.record(collection, record.as_str().unwrap()).is_none(), "{collection}");
    }
    assert_eq!(fleet.host.record("drivers", &ada).unwrap()["current_job"], Value::Null);
    let told = fleet.host.events().pop().unwrap();
    assert_eq!((told.event_type.as_str(), &told.payload["order_id"]), ("order.deleted", &json!(id)));
    assert_eq!((fleet.call(TestCall::get(&path)).status, fleet.call(TestCall::delete(&path)).status), (404, 404));
    let place = order["payload"]["pickup"]["id"].as_str().unwrap();
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/places/{place}"))).status, 200);
}
