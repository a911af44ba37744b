//! Waypoints as callers use them.

mod refused;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::api::orders::tests::{Fleet, by};

/// A tour by itself: no order has it yet.
fn payload(fleet: &Fleet) -> Value {
    let body =
        json!({"type": "food", "pickup": "1 Dock St", "waypoints": ["2 Bay Rd", "3 Quay"], "dropoff": "9 Mill Rd"});
    let answer = fleet.call(TestCall::post("/v1/payloads").json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

fn path(waypoint: &Value) -> String {
    format!("/v1/waypoints/{}", id(waypoint))
}

fn send(fleet: &Fleet, method: &str, path: &str, body: Value) -> TestAnswer {
    fleet.call(TestCall::new(method, path).json(&body))
}

/// At "4 Pier", with these fields besides.
fn add(fleet: &Fleet, payload: &Value, besides: Value) -> TestAnswer {
    let mut body = json!({"payload": payload["id"], "place": "4 Pier"});
    body.as_object_mut().unwrap().extend(besides.as_object().unwrap().clone());
    send(fleet, "POST", "/v1/waypoints", body)
}

fn made(answer: &TestAnswer) -> Value {
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn get(fleet: &Fleet, path: &str) -> Value {
    let answer = fleet.call(TestCall::get(path));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// The streets of a tour, in its order.
fn streets(fleet: &Fleet, payload: &Value) -> Vec<String> {
    let tour = get(fleet, &format!("/v1/payloads/{}", id(payload)))["waypoints"].clone();
    tour.as_array().unwrap().iter().map(|stop| stop["street1"].as_str().unwrap().to_owned()).collect()
}

fn told(host: &TestHost, since: usize) -> Vec<String> {
    host.events().into_iter().skip(since).map(|event| event.event_type).collect()
}

/// An order with a tour: its id and its payload.
fn order(fleet: &Fleet, besides: Value) -> (String, Value) {
    let order = fleet.tour(besides);
    let payload = fleet.read(&order)["payload"].clone();
    (order, payload)
}

#[test]
fn a_new_waypoint_is_the_last_of_its_tour() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let contact = json!({"name": "Ada", "type": "customer"});
    let contact = fleet.call(TestCall::post("/v1/contacts").json(&contact)).json();
    let besides = json!({
        "type": "pickup", "notes": "ring twice", "customer": contact["id"], "pod_required": true, "pod_method": "photo",
        "time_window_start": "2026-05-09T08:00:00Z", "time_window_end": "2026-05-09T10:00:00Z", "service_time": 300,
    });
    let since = fleet.event_count();
    let shown = made(&add(&fleet, &payload, besides));
    assert!(id(&shown).starts_with("waypoint_") && shown["waypoint_id"] == shown["id"], "{shown}");
    let expected = json!({
        "payload": payload["id"], "street1": "4 Pier", "order": 2, "type": "pickup", "notes": "ring twice",
        "pod_required": true, "pod_method": "photo", "service_time": 300, "complete": false, "status_code": "CREATED",
        "time_window_start": "2026-05-09T08:00:00.000000Z", "time_window_end": "2026-05-09T10:00:00.000000Z",
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&shown[field], value, "{field}");
    }
    assert_eq!(shown["customer"]["id"], contact["id"]);
    assert_eq!(get(&fleet, &format!("/v1/places/{}", shown["place"].as_str().unwrap()))["street1"], "4 Pier");
    assert_eq!(get(&fleet, &path(&shown)), shown);
    assert_eq!(streets(&fleet, &payload), ["2 Bay Rd", "3 Quay", "4 Pier"]);
    assert_eq!(told(&fleet.host, since), ["payload.updated"]);
}

#[test]
fn a_waypoint_stands_where_order_says() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let shown = made(&add(&fleet, &payload, json!({"order": 0})));
    assert_eq!((&shown["order"], streets(&fleet, &payload)[0].as_str()), (&json!(0), "4 Pier"));
    let moved = send(&fleet, "PATCH", &path(&shown), json!({"order": 2})).json();
    assert_eq!((&moved["order"], &moved["id"]), (&json!(2), &shown["id"]));
    assert_eq!(streets(&fleet, &payload), ["2 Bay Rd", "3 Quay", "4 Pier"]);
}

#[test]
fn its_place_may_be_written_in_any_form() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let depot = fleet.call(TestCall::post("/v1/places").json(&json!({"name": "Depot", "street1": "7 Hill"}))).json();
    let forms = [
        (json!({"place": depot["id"]}), "7 Hill"),
        (json!({"location": depot["id"]}), "7 Hill"),
        (json!({"location": "7 hill"}), "7 Hill"),
        (json!({"place": {"street1": "8 Hill"}}), "8 Hill"),
        (json!({"street1": "9 Hill", "location": "1.3,103.8", "type": "pickup"}), "9 Hill"),
        (json!({"address": "10 Hill", "latitude": 1.3, "longitude": 103.8}), "10 Hill"),
    ];
    for (mut body, street) in forms {
        body["payload"] = payload["id"].clone();
        let shown = made(&send(&fleet, "POST", "/v1/waypoints", body.clone()));
        assert_eq!((&shown["street1"], shown["place"] == depot["id"]), (&json!(street), street == "7 Hill"), "{body}");
    }
    let body = json!({"payload": payload["id"], "location": {"type": "Point", "coordinates": [103.8, 1.3]}});
    let located = made(&send(&fleet, "POST", "/v1/waypoints", body));
    assert_eq!((&located["location"]["coordinates"], &located["type"]), (&json!([103.8, 1.3]), &json!("dropoff")));
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    for method in ["PUT", "PATCH"] {
        let fleet = Fleet::new();
        let before = made(&add(&fleet, &payload(&fleet), json!({"notes": "ring", "service_time": 60})));
        fleet.host.advance_ms(1_000);
        let since = fleet.event_count();
        let answer = send(&fleet, method, &path(&before), json!({"notes": null, "type": "visit"}));
        let mut expected = before.clone();
        expected["notes"] = Value::Null;
        expected["type"] = json!("visit");
        expected["updated_at"] = json!("2026-05-07T08:30:01.000000Z");
        assert_eq!((answer.status, answer.json()), (200, expected.clone()));
        assert_eq!(get(&fleet, &path(&before)), expected);
        assert_eq!(told(&fleet.host, since), ["payload.updated"]);
    }
}

#[test]
fn what_was_read_can_be_sent_back() {
    let fleet = Fleet::new();
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    for besides in [json!({}), json!({"place": [1.3, 103.8], "customer": customer, "pod_method": "scan"})] {
        let shown = made(&add(&fleet, &payload(&fleet), besides));
        let call = TestCall::put(&path(&shown)).header("prefer", "handling=strict").json(&shown);
        let answer = fleet.call(call);
        assert_eq!((answer.status, answer.json()), (200, shown));
    }
}

#[test]
fn another_address_is_another_place() {
    let fleet = Fleet::new();
    let before = made(&add(&fleet, &payload(&fleet), json!({"place": {"street1": "4 Pier", "city": "Wien"}})));
    let after = send(&fleet, "PATCH", &path(&before), json!({"street1": "5 Pier"})).json();
    assert_eq!((&after["street1"], &after["city"]), (&json!("5 Pier"), &json!("Wien")));
    assert_eq!((&after["id"], &after["tracking"]), (&before["id"], &before["tracking"]));
    assert_ne!(after["place"], before["place"]);
    // Others may go there.
    assert_eq!(get(&fleet, &format!("/v1/places/{}", before["place"].as_str().unwrap()))["street1"], "4 Pier");
    let back = send(&fleet, "PATCH", &path(&before), json!({"place": before["place"]})).json();
    assert_eq!((&back["place"], &back["street1"]), (&before["place"], &json!("4 Pier")));
    let noted = send(&fleet, "PATCH", &path(&before), json!({"meta": {"gate": 2}})).json();
    assert_eq!((&noted["meta"], &noted["street1"]), (&json!({"gate": 2}), &json!("4 Pier")));
}

#[test]
fn waypoints_are_listed_by_payload_and_by_order() {
    let fleet = Fleet::new();
    let (order, of_order) = order(&fleet, json!({}));
    fleet.host.advance_ms(1_000);
    let alone = payload(&fleet);
    fleet.host.advance_ms(1_000);
    let last = made(&add(&fleet, &alone, json!({})));
    let list = |query: &str| get(&fleet, &format!("/v1/waypoints{query}"));
    let ids = |list: Value| {
        let mut ids: Vec<Value> = list.as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
        ids.sort_by_key(Value::to_string);
        ids
    };
    let tour = |payload: &Value| {
        let tour = get(&fleet, &format!("/v1/payloads/{}", id(payload)))["waypoints"].clone();
        let own: Vec<Value> = tour.as_array().unwrap().iter().map(|stop| json!({"id": stop["waypoint_id"]})).collect();
        ids(json!(own))
    };
    assert_eq!(ids(list("")).len(), 5);
    assert_eq!(list("?limit=1"), json!([last]));
    assert_eq!(ids(list(&format!("?payload={}", id(&alone)))), tour(&alone));
    assert_eq!(ids(list(&format!("?payload={},{}", id(&alone), id(&of_order)))).len(), 5);
    assert_eq!(ids(list(&format!("?order={order}"))), tour(&of_order));
    for nothing in ["?order=order_0000000000", "?order=A-1", "?payload=payload_0000000000"] {
        assert_eq!(list(nothing), json!([]), "{nothing}");
    }
    let told = fleet.call(TestCall::get("/v1/waypoints?colour=red"));
    assert!(told.headers.contains(&("x-unknown-parameters".to_owned(), "colour".to_owned())));
    assert_eq!(fleet.call(TestCall::get("/v1/waypoints?colour=red&strict=true")).status, 422);
}

#[test]
fn a_deleted_waypoint_leaves_its_tour() {
    let fleet = Fleet::new();
    let payload = payload(&fleet);
    let shown = made(&add(&fleet, &payload, json!({})));
    let since = fleet.event_count();
    let answer = fleet.call(TestCall::delete(&path(&shown)));
    let expected = json!({
        "id": shown["id"], "object": "waypoint", "time": "2026-05-07T08:30:00.000000Z", "deleted": true,
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
    assert_eq!(told(&fleet.host, since), ["payload.updated"]);
    assert_eq!(streets(&fleet, &payload), ["2 Bay Rd", "3 Quay"]);
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        assert_eq!(send(&fleet, method, &path(&shown), json!({})).status, 404, "{method}");
    }
    let number = format!("/v1/tracking-numbers/{}", shown["tracking"].as_str().unwrap());
    assert_eq!(fleet.call(TestCall::get(&number)).status, 404);
    assert_eq!(get(&fleet, &format!("/v1/places/{}", shown["place"].as_str().unwrap()))["street1"], "4 Pier");
}

#[test]
fn whoever_removes_a_stop_removes_the_waypoint() {
    let fleet = Fleet::new();
    let (order, of_order) = order(&fleet, json!({}));
    let alone = payload(&fleet);
    let all = |payload: &Value| {
        let stops = payload["waypoints"].as_array().unwrap().clone();
        stops.iter().map(|stop| format!("/v1/waypoints/{}", stop["waypoint_id"].as_str().unwrap())).collect::<Vec<_>>()
    };
    let statuses =
        |paths: &[String]| paths.iter().map(|path| fleet.call(TestCall::get(path)).status).collect::<Vec<_>>();
    let (first, second) = (all(&of_order), all(&alone));
    assert_eq!((statuses(&first), statuses(&second)), (vec![200, 200], vec![200, 200]));
    let kept = json!({"waypoints": [{"waypoint_id": of_order["waypoints"][1]["waypoint_id"], "place": "2 Bay Rd"}]});
    fleet.call(TestCall::put(&format!("/v1/orders/{order}")).json(&kept));
    assert_eq!(statuses(&first), [404, 200]);
    fleet.call(TestCall::delete(&format!("/v1/orders/{order}")));
    assert_eq!(statuses(&first), [404, 404]);
    fleet.call(TestCall::delete(&format!("/v1/payloads/{}", id(&alone))));
    assert_eq!((statuses(&second), get(&fleet, "/v1/waypoints")), (vec![404, 404], json!([])));
}

#[test]
fn the_order_of_a_waypoint_is_told_and_measured_anew() {
    let fleet = Fleet::new();
    let (order, payload) = order(&fleet, json!({}));
    let (before, since) = (fleet.read(&order), fleet.event_count());
    let far = made(&add(&fleet, &payload, json!({"place": [1.9, 104.5]})));
    let after = fleet.read(&order);
    assert!(after["distance"].as_f64() > before["distance"].as_f64(), "{after}");
    assert_eq!(after["payload"]["waypoints"][2]["waypoint_id"], far["id"]);
    let mut names = told(&fleet.host, since);
    names.sort();
    assert_eq!(names, ["order.updated", "payload.updated"]);
}

#[test]
fn a_scanned_number_of_a_stop_names_the_waypoint() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let (_, payload) = order(&fleet, json!({"driver": ada}));
    let scan = |code: &Value| TestCall::post("/v1/tracking-numbers/from-qr").json(&json!({"code": code}));
    let stop = &payload["waypoints"][1];
    let shown = get(&fleet, &format!("/v1/waypoints/{}", stop["waypoint_id"].as_str().unwrap()));
    for code in [&stop["tracking"], &stop["waypoint_id"]] {
        let answer = fleet.call(scan(code));
        assert_eq!((answer.status, answer.json()), (200, shown.clone()));
        assert_eq!(fleet.call(by(&ada, scan(code))).json(), shown);
        assert_eq!(fleet.call(by(&bob, scan(code))).status, 404);
    }
    // The pickup of a tour is followed as well.
    let subjects = get(&fleet, "/v1/tracking-numbers");
    let all = subjects.as_array().unwrap().iter();
    let of_stops: Vec<Value> =
        all.filter(|number| number["subject"].as_str().unwrap().starts_with("waypoint_")).cloned().collect();
    assert_eq!(of_stops.len(), 4);
    let ends: Vec<Value> = of_stops
        .iter()
        .map(|number| fleet.call(scan(&number["tracking_number"])).json())
        .filter(|stop| stop["order"].is_null())
        .collect();
    let mut kinds: Vec<&str> = ends.iter().map(|stop| stop["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["dropoff", "pickup"]);
    assert_eq!(fleet.call(TestCall::get(&path(&ends[0]))).status, 404);
    assert_eq!(fleet.call(TestCall::delete(&path(&ends[0]))).status, 404);
}
