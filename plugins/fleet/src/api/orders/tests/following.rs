//! Tracker, eta, distance and time.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, id_of, simple};

fn get(fleet: &Fleet, id: &str, what: &str) -> Value {
    let answer = fleet.call(TestCall::get(&format!("/v1/orders/{id}/{what}")));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn move_to(fleet: &Fleet, driver: &str, latitude: f64) {
    let fix = json!({"latitude": latitude, "longitude": 103.80});
    assert_eq!(fleet.call(TestCall::post(&format!("/v1/drivers/{driver}/track")).json(&fix)).status, 200);
}

#[test]
fn an_order_that_waits_says_so() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    let tracker = get(&fleet, &id, "tracker");
    assert_eq!((&tracker["lifecycle"]["mode"], &tracker["driver"]), (&json!("unassigned"), &Value::Null));
    assert_eq!(tracker["lifecycle"]["message"], "The order waits for a driver.");
    assert_eq!((&tracker["progress"]["total_stops"], &tracker["progress"]["percentage"]), (&json!(2), &json!(0)));
    assert_eq!((&tracker["stops"][0]["type"], &tracker["stops"][1]["type"]), (&json!("pickup"), &json!("dropoff")));
    assert_eq!(tracker["eta"]["completion_at"], Value::Null);
    assert_eq!(tracker["generated_at"], "2026-05-07T08:30:00.000000Z");
}

#[test]
fn an_order_under_way_says_where_and_when() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.tour(json!({"driver": ada, "dispatch": true}));
    move_to(&fleet, &ada, 1.29);
    let before = get(&fleet, &id, "eta");
    assert_eq!(before["lifecycle"]["mode"], "dispatched");
    assert!(before["start_seconds"].as_u64().unwrap() > 60 && before["active_stop_seconds"].is_null());
    fleet.act(&id, "start", json!({}));
    for code in ["enroute", "completed"] {
        fleet.act(&id, "update-activity", json!({"activity": code}));
    }
    move_to(&fleet, &ada, 1.30);
    let tracker = get(&fleet, &id, "tracker");
    assert_eq!(tracker["lifecycle"]["mode"], "active");
    assert_eq!(
        (&tracker["progress"]["completed_stops"], &tracker["progress"]["remaining_stops"]),
        (&json!(1), &json!(3))
    );
    assert_eq!((&tracker["stops"][0]["complete"], &tracker["active_stop"]["order"]), (&json!(true), &json!(1)));
    assert_eq!((&tracker["next_stop"]["order"], &tracker["confidence"]), (&json!(2), &json!(0.6)));
    assert_eq!(tracker["driver"]["location"]["coordinates"], json!([103.8, 1.3]));
    assert_eq!(tracker["route"]["legs"].as_array().unwrap().len(), 3);
    assert_eq!(tracker["warnings"], json!([]));
    let eta = &tracker["eta"];
    assert!(eta["active_stop_seconds"].as_u64() < eta["completion_seconds"].as_u64());
    assert!(eta["active_stop_at"].as_str().unwrap() < eta["completion_at"].as_str().unwrap());
    assert_eq!(&get(&fleet, &id, "eta"), eta);
}

#[test]
fn an_old_position_is_warned_of() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({"driver": ada, "dispatch": true}));
    move_to(&fleet, &ada, 1.29);
    fleet.act(&id, "start", json!({}));
    fleet.host.advance_ms(301_000);
    let tracker = get(&fleet, &id, "tracker");
    assert_eq!(tracker["warnings"], json!(["stale_driver_location", "low_confidence_eta"]));
    assert_eq!((&tracker["insights"]["is_location_stale"], &tracker["confidence"]), (&json!(true), &json!(0.3)));
    assert_eq!(tracker["driver"]["location_age_seconds"], 301);
}

#[test]
fn an_end_is_an_end() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({"scheduled_at": "2026-05-07T08:00:00Z"}));
    let waiting = get(&fleet, &id, "tracker");
    assert_eq!(
        (&waiting["insights"]["is_delayed"], &waiting["insights"]["delay_seconds"]),
        (&json!(true), &json!(1800))
    );
    fleet.act(&id, "cancel", json!({}));
    let tracker = get(&fleet, &id, "tracker");
    assert_eq!(
        (&tracker["lifecycle"]["mode"], &tracker["lifecycle"]["is_terminal"]),
        (&json!("canceled"), &json!(true))
    );
    assert_eq!((&tracker["active_stop"], &tracker["insights"]["is_delayed"]), (&Value::Null, &json!(false)));
}

#[test]
fn distance_and_time_follow_the_places_and_are_kept() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({})));
    let id = id_of(&order);
    let figures = get(&fleet, &id, "distance-and-time");
    assert_eq!(figures, json!({"distance": order["distance"], "time": order["time"]}));
    let pickup = order["payload"]["pickup"]["id"].as_str().unwrap();
    let body = json!({"latitude": 1.33, "longitude": 103.82});
    assert_eq!(fleet.call(TestCall::put(&format!("/v1/places/{pickup}")).json(&body)).status, 200);
    fleet.host.advance_ms(1_000);
    let nearer = get(&fleet, &id, "distance-and-time");
    assert!(nearer["distance"].as_u64().unwrap() < figures["distance"].as_u64().unwrap());
    let read = fleet.read(&id);
    assert_eq!((&read["distance"], &read["time"]), (&nearer["distance"], &nearer["time"]));
    assert_ne!(read["updated_at"], order["updated_at"]);
    let nowhere = id_of(&fleet.create(&json!({"pickup": "a", "dropoff": "b"})));
    assert_eq!(get(&fleet, &nowhere, "distance-and-time"), json!({"distance": null, "time": null}));
}
