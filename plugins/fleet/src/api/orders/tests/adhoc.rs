//! Orders that are offered to whoever is near: one driver gets each.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, by, check_refused, here};

fn start(id: &str) -> TestCall {
    TestCall::post(&format!("/v1/orders/{id}/start"))
}

/// Online at this latitude.
fn online_at(fleet: &Fleet, name: &str, latitude: f64) -> String {
    let driver = fleet.driver(name);
    let fix = json!({"latitude": latitude, "longitude": 103.80});
    assert_eq!(fleet.call(TestCall::post(&format!("/v1/drivers/{driver}/track")).json(&fix)).status, 200);
    let path = format!("/v1/drivers/{driver}/toggle-online");
    assert_eq!(fleet.call(TestCall::post(&path).json(&json!({"online": true}))).status, 200);
    driver
}

#[test]
fn an_offered_order_is_told_to_every_driver_nearby() {
    let fleet = Fleet::new();
    let near = online_at(&fleet, "Near", 1.301);
    let nearer = online_at(&fleet, "Nearer", 1.3001);
    online_at(&fleet, "Far", 1.5);
    let offline = fleet.driver("Off");
    let id = fleet.order(json!({"adhoc": true, "dispatch": true}));
    let pings: Vec<_> = fleet.host.events().into_iter().filter(|event| event.event_type == "order.ping").collect();
    let told: Vec<&str> = pings.iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(told, [nearer.as_str(), near.as_str()]);
    assert!(!told.contains(&offline.as_str()));
    assert_eq!((&pings[0].payload["order_id"], &pings[0].payload["driver_id"]), (&json!(id), &json!(nearer)));
    assert!(pings[1].payload["distance_m"].as_u64().unwrap() > 100, "whole metres");
}

#[test]
fn the_reach_of_an_offer_can_be_set() {
    let fleet = Fleet::new();
    online_at(&fleet, "Near", 1.31);
    let pings = || fleet.host.events().iter().filter(|event| event.event_type == "order.ping").count();
    fleet.order(json!({"adhoc": true, "adhoc_distance": 500, "dispatch": true}));
    assert_eq!(pings(), 0);
    fleet.order(json!({"adhoc": true, "adhoc_distance": 2_000, "dispatch": true}));
    assert_eq!(pings(), 1);
    let nowhere = json!({"pickup": "somewhere", "dropoff": here(), "adhoc": true, "dispatch": true});
    fleet.create(&nowhere);
    assert_eq!(pings(), 1);
}

#[test]
fn the_first_driver_who_accepts_has_it_and_the_second_learns_so() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let id = fleet.order(json!({"adhoc": true, "dispatch": true}));
    let before = fleet.event_count();
    let answer = fleet.call(by(&ada, start(&id)));
    assert_eq!((answer.status, &answer.json()["driver_assigned"]["id"]), (200, &json!(ada)));
    assert_eq!(fleet.events_after(before), ["order.driver_assigned", "order.started"]);
    let sentence = "Order has already been accepted by another driver.";
    check_refused(&fleet.call(by(&bob, start(&id))), 409, "ORDER_TAKEN", sentence);
    let activity = TestCall::post(&format!("/v1/orders/{id}/update-activity")).json(&json!({"activity": "started"}));
    check_refused(&fleet.call(by(&bob, activity)), 409, "ORDER_TAKEN", sentence);
    let assigned = fleet.call(start(&id).json(&json!({"assign": bob})));
    check_refused(&assigned, 409, "ORDER_TAKEN", sentence);
    assert_eq!(fleet.host.record("drivers", &bob).unwrap()["current_job"], Value::Null);
    assert_eq!(fleet.host.record("drivers", &ada).unwrap()["current_job"], json!(id));
}

#[test]
fn an_organization_names_who_accepts() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({"adhoc": true, "dispatch": true}));
    let sentence = "You must send driver to accept adhoc order.";
    check_refused(&fleet.call(start(&id)), 400, "DRIVER_REQUIRED", sentence);
    let unknown = fleet.call(start(&id).json(&json!({"assign": "driver_0000000000"})));
    check_refused(&unknown, 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    let started = fleet.act(&id, "start", json!({"assign": ada}));
    assert_eq!(started["driver_assigned"]["id"], json!(ada));
    let plain = fleet.order(json!({}));
    let answer = fleet.call(start(&plain).json(&json!({"assign": ada, "skip_dispatch": true})));
    check_refused(&answer, 400, "DRIVER_REQUIRED", "No driver assigned to order.");
    let bob = fleet.driver("Bob");
    let of_ada = fleet.order(json!({"driver": ada}));
    let answer = fleet.call(start(&of_ada).json(&json!({"assign": bob})));
    let sentence = "Only an adhoc order can be accepted by a driver it is not assigned to.";
    check_refused(&answer, 400, "ORDER_NOT_ADHOC", sentence);
}

#[test]
fn a_driver_accepts_for_himself_alone() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let id = fleet.order(json!({"adhoc": true, "dispatch": true}));
    assert_eq!(fleet.call(by(&ada, start(&id).json(&json!({"assign": bob})))).status, 403);
    assert_eq!(fleet.call(by(&ada, start(&id).json(&json!({"assign": ada})))).status, 200);
}
