//! An order goes with all that is its own; a driver goes without his orders.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::{Fleet, by, check_refused, id_of};

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

#[test]
fn a_repeated_deletion_deletes_no_other_order_that_is_called_so() {
    let fleet = Fleet::new();
    let first = fleet.order(json!({}));
    let second = fleet.order(json!({"internal_id": first}));
    let delete = || fleet.call(TestCall::delete(&format!("/v1/orders/{first}"))).status;
    assert_eq!((delete(), delete()), (200, 404));
    assert_eq!(fleet.read(&second)["internal_id"], first);
}

fn delete_driver(fleet: &Fleet, driver: &str) -> TestAnswer {
    fleet.call(TestCall::delete(&format!("/v1/drivers/{driver}")))
}

#[test]
fn a_deleted_driver_leaves_his_orders_to_others() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let plain = fleet.order(json!({"driver": ada}));
    let offered = fleet.order(json!({"driver": ada, "adhoc": true, "dispatch": true}));
    let before = fleet.event_count();
    assert_eq!(delete_driver(&fleet, &ada).status, 200);
    assert_eq!(fleet.events_after(before), ["order.updated", "order.updated"]);
    let ids = |call: TestCall| -> BTreeSet<String> {
        fleet.call(call).json().as_array().unwrap().iter().map(id_of).collect()
    };
    let unassigned = ids(TestCall::get("/v1/orders?unassigned=true"));
    assert_eq!(unassigned, BTreeSet::from([plain, offered.clone()]));
    assert_eq!(ids(by(&bob, TestCall::get("/v1/orders"))), BTreeSet::from([offered]));
}

#[test]
fn a_driver_who_is_on_the_way_is_not_deleted() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    fleet.order(json!({"driver": ada}));
    let id = fleet.order(json!({"driver": ada, "dispatch": true}));
    fleet.act(&id, "start", json!({}));
    let sentence = "The driver has an order to carry out. Give it to another driver, or cancel it.";
    check_refused(&delete_driver(&fleet, &ada), 400, "DRIVER_HAS_ORDERS", sentence);
    fleet.act(&id, "cancel", json!({}));
    assert_eq!(delete_driver(&fleet, &ada).status, 200);
}

#[test]
fn a_driver_with_more_orders_than_are_taken_from_him_is_not_deleted() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let orders: Vec<String> = (0..101).map(|_| fleet.order(json!({"driver": ada}))).collect();
    let sentence = "The driver has more than 100 open orders. Give them to others first.";
    check_refused(&delete_driver(&fleet, &ada), 400, "DRIVER_HAS_ORDERS", sentence);
    fleet.call(TestCall::delete(&format!("/v1/orders/{}", orders[0])));
    assert_eq!(delete_driver(&fleet, &ada).status, 200);
}
