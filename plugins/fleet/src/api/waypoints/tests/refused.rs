//! What is refused of waypoints, and changes nothing.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::{add, get, id, made, order, path, payload, send};
use crate::api::orders::tests::{Fleet, by};
use crate::rules::order::WAYPOINTS_MAX;

#[track_caller]
fn check(answer: &TestAnswer, status: u16, code: &str, sentence: &str) {
    let body = answer.json();
    let found = (answer.status, body["code"].clone(), body["error"].clone());
    assert_eq!(found, (status, json!(code), json!(sentence)));
}

const INVALID: &str = "VALIDATION_FAILED";

#[test]
fn what_is_wrong_is_told() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let kept = made(&add(&fleet, &payload, json!({})));
    let table = [
        (json!({"order": 4}), "The order field must be between 0 and 3."),
        (json!({"order": 0.5}), "The order field must be between 0 and 3."),
        (json!({"order": -1}), "The order field must be between 0 and 3."),
        (json!({"place": null}), "The place field is required."),
        (json!({"place": 5}), "The place field must be an address, coordinates, or a place."),
        (json!({"service_time": -1}), "The service_time field must be between 0 and 86400."),
        (json!({"service_time": 0.5}), "The service_time field must be a whole number of seconds."),
        (
            json!({"time_window_start": "2026-05-09", "time_window_end": "2026-05-08"}),
            "The time_window_end field must be a date that is not before time_window_start.",
        ),
        (json!({"pod_method": "oath"}), "The pod_method field must be one of: scan, signature, photo."),
        (json!({"notes": 5}), "The notes field must be a text."),
        (json!({"customer": 5}), "The customer field must be an id or an object."),
    ];
    let before = get(&fleet, &format!("/v1/payloads/{}", id(&payload)));
    let events = fleet.event_count();
    for (body, sentence) in table {
        check(&add(&fleet, &payload, body.clone()), 422, INVALID, sentence);
        // One less to stand among.
        let sentence = sentence.replace("between 0 and 3.", "between 0 and 2.");
        check(&send(&fleet, "PATCH", &path(&kept), body), 422, INVALID, &sentence);
    }
    assert_eq!(get(&fleet, &format!("/v1/payloads/{}", id(&payload))), before);
    assert_eq!(fleet.event_count(), events);
}

#[test]
fn a_waypoint_is_somewhere_and_of_some_payload() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let answer = send(&fleet, "POST", "/v1/waypoints", json!({"type": "visit"}));
    let both = json!(["The payload field is required.", "The place field is required."]);
    assert_eq!((answer.status, answer.json()["errors"].clone()), (422, both));
    let nowhere = send(&fleet, "POST", "/v1/waypoints", json!({"payload": payload["id"], "type": "visit"}));
    check(&nowhere, 422, INVALID, "The place field is required.");
    let unknown = [
        json!({"payload": "payload_0000000000"}),
        json!({"place": "place_0000000000"}),
        json!({"customer": "contact_0000000000"}),
    ];
    for body in unknown {
        assert_eq!(add(&fleet, &payload, body.clone()).status, 404, "{body}");
    }
    let colour = add(&fleet, &payload, json!({"colour": "red"}));
    assert!(colour.headers.contains(&("x-unknown-fields".to_owned(), "colour".to_owned())));
}

#[test]
fn a_waypoint_stays_in_its_payload() {
    let fleet = Fleet::new();
    let (first, second) = (payload(&fleet), payload(&fleet));
    let shown = made(&add(&fleet, &first, json!({})));
    let own = send(&fleet, "PUT", &path(&shown), json!({"payload": first["id"]}));
    assert_eq!(own.status, 200);
    for other in [second["id"].clone(), Value::Null] {
        let answer = send(&fleet, "PUT", &path(&shown), json!({"payload": other}));
        check(&answer, 422, INVALID, "The payload field cannot be changed here.");
    }
}

#[test]
fn nobody_changes_the_tour_of_an_order_that_was_started() {
    let fleet = Fleet::new();
    let driver = fleet.driver("Ada");
    let (order, payload) = order(&fleet, json!({"driver": driver}));
    let shown = made(&add(&fleet, &payload, json!({})));
    fleet.act(&order, "start", json!({"skip_dispatch": true}));
    let (before, events) = (fleet.read(&order), fleet.event_count());
    let late = [
        add(&fleet, &payload, json!({})),
        send(&fleet, "PUT", &path(&shown), json!({"notes": "x"})),
        send(&fleet, "PATCH", &path(&shown), json!({"street1": "5 Pier"})),
        fleet.call(TestCall::delete(&path(&shown))),
    ];
    for answer in late {
        check(&answer, 400, "ORDER_ALREADY_STARTED", "Order has already started.");
    }
    assert_eq!((fleet.read(&order), fleet.event_count()), (before, events));
    assert_eq!(get(&fleet, &path(&shown))["id"], shown["id"]);
}

#[test]
fn an_order_that_has_ended_keeps_its_tour() {
    let fleet = Fleet::new();
    let (order, payload) = order(&fleet, json!({}));
    fleet.call(TestCall::delete(&format!("/v1/orders/{order}/cancel")));
    let late = add(&fleet, &payload, json!({}));
    assert_eq!((late.status, late.json()["code"].clone()), (400, json!("ORDER_ALREADY_CANCELED")));
}

#[test]
fn a_tour_has_at_most_a_hundred_waypoints() {
    let fleet = Fleet::new();
    let body = json!({"type": "food", "waypoints": vec!["2 Bay Rd"; WAYPOINTS_MAX]});
    let full = fleet.call(TestCall::post("/v1/payloads").json(&body)).json();
    let one_more = add(&fleet, &full, json!({}));
    check(&one_more, 422, INVALID, "The waypoints field must be a list of at most 100 places.");
    let last = json!({"id": full["waypoints"][99]["waypoint_id"]});
    assert_eq!(fleet.call(TestCall::delete(&path(&last))).status, 200);
    assert_eq!(add(&fleet, &full, json!({})).status, 201);
}

#[test]
fn an_order_keeps_the_stops_that_it_needs() {
    let fleet = Fleet::new();
    let order = fleet.create(&json!({"waypoints": ["a", "b"]}));
    let first = json!({"id": order["payload"]["waypoints"][0]["waypoint_id"]});
    let answer = fleet.call(TestCall::delete(&path(&first)));
    check(&answer, 422, INVALID, "An order needs a pickup and a dropoff, or at least two waypoints.");
    assert_eq!(get(&fleet, &path(&first))["order"], 0);
    let between = fleet.create(&json!({"pickup": "a", "waypoints": ["b"], "dropoff": "c"}));
    let only = json!({"id": between["payload"]["waypoints"][0]["waypoint_id"]});
    assert_eq!(fleet.call(TestCall::delete(&path(&only))).status, 200);
}

#[test]
fn a_driver_may_not_touch_a_tour() {
    let fleet = Fleet::new();
    let driver = fleet.driver("Ada");
    let (_, payload) = order(&fleet, json!({"driver": driver}));
    let own = format!("/v1/waypoints/{}", payload["waypoints"][0]["waypoint_id"].as_str().unwrap());
    let body = json!({"payload": payload["id"], "place": "4 Pier"});
    let nowhere = "/v1/waypoints/waypoint_0000000000";
    let all = "/v1/waypoints";
    let calls = ["GET", "PUT", "PATCH", "DELETE"].map(|method| (method, own.as_str()));
    for (method, path) in calls.into_iter().chain([("GET", nowhere), ("POST", all), ("GET", all)]) {
        let answer = fleet.call(by(&driver, TestCall::new(method, path).json(&body)));
        assert_eq!((answer.status, answer.json()["code"].clone()), (403, json!("API_FORBIDDEN")), "{method} {path}");
    }
}

#[test]
fn another_organization_sees_nothing_of_it() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let shown = made(&add(&fleet, &payload, json!({})));
    let nowhere = "/v1/waypoints/waypoint_0000000000".to_owned();
    let answer = |method: &str, path: &str| {
        let mut body = fleet.call(TestCall::new(method, path).tenant("umbra/test").json(&json!({}))).json();
        body["request_id"] = Value::Null;
        body
    };
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        assert_eq!(answer(method, &path(&shown)), answer(method, &nowhere), "{method}");
        assert_eq!(answer(method, &nowhere)["code"], "RESOURCE_NOT_FOUND");
    }
    assert_eq!(fleet.call(TestCall::get("/v1/waypoints").tenant("umbra/test")).json(), json!([]));
    let foreign = TestCall::post("/v1/waypoints").tenant("umbra/test");
    let foreign = fleet.call(foreign.json(&json!({"payload": payload["id"], "place": "4 Pier"})));
    assert_eq!(foreign.status, 404);
}
