//! Drivers as callers see them: real handlers on the host in memory.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn ada() -> Value {
    json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591"})
}

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/drivers").json(body))
}

fn track_path(driver: &Value) -> String {
    format!("/v1/drivers/{}/track", driver["id"].as_str().unwrap())
}

#[test]
fn a_created_driver_can_be_read() {
    let host = host();
    let answer = create(&host, &ada());
    let driver = answer.json();
    assert_eq!((answer.status, &driver["status"], &driver["company_name"]), (201, &json!("available"), &json!("acme")));
    let read = host.call(TestCall::get(&format!("/v1/drivers/{}", driver["id"].as_str().unwrap())));
    assert_eq!(read.json(), driver);
}

#[test]
fn email_and_phone_belong_to_one_driver_of_an_organization() {
    let host = host();
    create(&host, &ada());
    let same_email = create(&host, &json!({"name": "Eve", "email": "ADA@x.org", "phone": "2"}));
    assert_eq!(
        (same_email.status, same_email.json()["error"].clone()),
        (422, json!("The email has already been taken."))
    );
    let same_phone = create(&host, &json!({"name": "Eve", "email": "eve@x.org", "phone": "+6591"}));
    assert_eq!(same_phone.json()["error"], "The phone has already been taken.");
    assert_eq!(host.call(TestCall::post("/v1/drivers").json(&ada()).tenant("umbra/test")).status, 201);
}

#[test]
fn every_fault_of_a_driver_is_told_at_once() {
    let answer = create(&host(), &json!({"email": "nowhere", "phone": 7, "country": "Singapore", "password": "x"}));
    let errors = answer.json()["errors"].as_array().unwrap().len();
    assert_eq!(
        (answer.status, answer.json()["code"].clone(), errors),
        (422, json!("VALIDATION_FAILED"), 6),
        "{}",
        answer.body
    );
}

#[test]
fn a_track_moves_the_driver_and_tells_it() {
    let host = host();
    let driver = create(&host, &ada()).json();
    host.advance_ms(5000);
    let fix = json!({"latitude": 1.3521, "longitude": 103.8198, "heading": 90, "speed": 8.5, "altitude": 15});
    let answer = host.call(TestCall::post(&track_path(&driver)).json(&fix));
    let moved = answer.json();
    assert_eq!((answer.status, &moved["location"]["coordinates"]), (200, &json!([103.8198, 1.3521])));
    assert_eq!((&moved["heading"], &moved["speed"], &moved["name"]), (&json!(90), &json!(8.5), &json!("Ada")));
    assert_eq!(moved["updated_at"], "2026-05-07T08:30:05.000000Z");
    assert_eq!(host.record("drivers", driver["id"].as_str().unwrap()), Some(moved));
    let [event] = host.events().try_into().unwrap();
    assert_eq!((event.event_type.as_str(), &json!(event.subject)), ("driver.location_changed", &driver["id"]));
    let expected = json!({"driver_id": driver["id"], "latitude": 1.3521, "longitude": 103.8198, "heading": 90, "speed": 8.5, "altitude": 15});
    assert_eq!(event.payload, expected);
}

#[test]
fn all_three_methods_track() {
    let host = host();
    let path = track_path(&create(&host, &ada()).json());
    for method in ["POST", "PUT", "PATCH"] {
        assert_eq!(host.call(TestCall::new(method, &path).json(&json!({"latitude": 0, "longitude": "0"}))).status, 200);
    }
    assert_eq!(host.events().len(), 3);
}

#[test]
fn a_fix_that_is_not_on_the_earth_changes_nothing() {
    let host = host();
    let driver = create(&host, &ada()).json();
    for body in [
        json!({}),
        json!({"latitude": 1}),
        json!({"latitude": 91, "longitude": 0}),
        json!({"latitude": "north", "longitude": 0}),
    ] {
        assert_eq!(host.call(TestCall::post(&track_path(&driver)).json(&body)).status, 422, "{body}");
    }
    assert_eq!(host.record("drivers", driver["id"].as_str().unwrap()), Some(driver));
    assert!(host.events().is_empty());
}

#[test]
fn nobody_tracks_a_driver_of_another_organization() {
    let host = host();
    let path = track_path(&create(&host, &ada()).json());
    let fix = json!({"latitude": 1, "longitude": 1});
    let foreign = host.call(TestCall::post(&path).json(&fix).tenant("umbra/test"));
    let unknown = host.call(TestCall::post("/v1/drivers/driver_0000000000/track").json(&fix).tenant("umbra/test"));
    assert_eq!((foreign.status, unknown.status), (404, 404));
    assert_eq!(foreign.body.replace("req_0000000002", "req_0000000003"), unknown.body);
}
