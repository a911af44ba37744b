//! What PUT and PATCH change, and what they do not.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::{Fleet, check_refused, here, id_of, simple};

fn put(fleet: &Fleet, id: &str, body: Value) -> TestAnswer {
    fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&body))
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"notes": "ring twice", "meta": {"k": [1]}, "internal_id": "A1"})));
    let id = id_of(&order);
    fleet.host.advance_ms(1_000);
    let before = fleet.event_count();
    let after = fleet.call(TestCall::patch(&format!("/v1/orders/{id}")).json(&json!({"notes": null}))).json();
    let mut expected = order.clone();
    expected["notes"] = Value::Null;
    expected["updated_at"] = json!("2026-05-07T08:30:01.000000Z");
    assert_eq!((&after, &fleet.read(&id)), (&expected, &expected));
    assert_eq!(fleet.events_after(before), ["order.updated"]);
}

#[test]
fn what_is_sent_back_as_it_was_read_is_no_change() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let order = fleet.create(&simple(json!({
        "driver": ada, "dispatch": true, "scheduled_at": "2026-05-09 08:30", "customer": {"name": "Bo", "email": "b@x.org"},
        "adhoc_distance": 500, "notes": "n",
    })));
    let id = id_of(&order);
    fleet.host.advance_ms(1_000);
    let before = fleet.event_count();
    let answer = put(&fleet, &id, order.clone());
    assert_eq!((answer.status, answer.json()), (200, order.clone()), "{}", answer.body);
    assert_eq!(fleet.event_count(), before);
    assert!(!answer.headers.iter().any(|(name, _)| name == "x-unknown-fields"), "{:?}", answer.headers);
}

#[test]
fn a_started_order_is_sent_back_as_it_was_read_and_goes_nowhere_else() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let order = fleet.create(&json!({
        "driver": ada, "pickup": "1 Dock St", "waypoints": ["5 Hill Rd", "7 Hill Rd"], "dropoff": "9 Mill Rd",
        "entities": [{"name": "Box", "meta": {"a b": [1, 2]}, "destination": 1}], "dispatch": true,
    }));
    let id = id_of(&order);
    assert_eq!(fleet.act(&id, "start", json!({}))["started"], true);
    let read = || fleet.call(TestCall::get(&format!("/v1/orders/{id}"))).json();
    let (started, before) = (read(), fleet.event_count());
    let payload = format!("/v1/payloads/{}", started["payload"]["id"].as_str().unwrap());
    assert_eq!(put(&fleet, &id, started.clone()).status, 200);
    assert_eq!(fleet.call(TestCall::put(&payload).json(&started["payload"])).status, 200);
    assert_eq!((read(), fleet.event_count()), (started.clone(), before));
    let mut noted = started.clone();
    noted["notes"] = json!("Ring twice");
    assert_eq!(put(&fleet, &id, noted).json()["notes"], "Ring twice");
    for (pointer, value) in [
        ("/payload/dropoff", json!("11 Mill Rd")),
        ("/payload/waypoints", json!([])),
        ("/payload/entities/0/name", json!("Crate")),
        ("/payload/entities", json!([])),
        ("/payload/meta", json!({"a": 1})),
    ] {
        let mut changed = started.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let refused =
            [put(&fleet, &id, changed.clone()), fleet.call(TestCall::put(&payload).json(&changed["payload"]))];
        for answer in refused {
            check_refused(&answer, 400, "ORDER_ALREADY_STARTED", "Order has already started.");
        }
    }
    assert_eq!(read()["payload"], started["payload"]);
}

#[test]
fn a_tour_is_ordered_anew_by_the_ids_of_its_stops() {
    let fleet = Fleet::new();
    let order =
        fleet.create(&json!({"pickup": "1 Dock St", "waypoints": ["5 Hill Rd", "7 Hill Rd"], "dropoff": "9 Mill Rd"}));
    let id = id_of(&order);
    let stop = |at: usize| order["payload"]["waypoints"][at]["waypoint_id"].clone();
    let turned = put(&fleet, &id, json!({"waypoints": [stop(1), stop(0)]})).json();
    let stops: Vec<&Value> = turned["payload"]["waypoints"].as_array().unwrap().iter().collect();
    assert_eq!([&stops[0]["waypoint_id"], &stops[1]["waypoint_id"]], [&stop(1), &stop(0)]);
    for elsewhere in ["waypoint_aaaaaaaaaa", "order_aaaaaaaaaa", "entity_aaaaaaaaaa", "place_aaaaaaaaaa"] {
        let answer = put(&fleet, &id, json!({"dropoff": elsewhere}));
        assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("RESOURCE_NOT_FOUND")), "{elsewhere}");
    }
    let other = put(&fleet, &id, json!({"payload": {"id": "payload_aaaaaaaaaa", "type": "food"}}));
    let sentence = "The payload.id field must be that of the payload that the order has.";
    check_refused(&other, 422, "VALIDATION_FAILED", sentence);
}

#[test]
fn members_of_a_newer_version_survive() {
    let fleet = Fleet { host: TestHost::new(&crate::PLUGIN) };
    let id = fleet.order(json!({}));
    let mut stored = fleet.host.record("orders", &id).unwrap();
    stored["of_tomorrow"] = json!({"a": 1});
    fleet.host.put_record("orders", &id, &stored);
    assert_eq!(put(&fleet, &id, json!({"notes": "n"})).json()["of_tomorrow"], json!({"a": 1}));
}

#[test]
fn where_it_goes_changes_until_it_is_started() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let order = fleet.create(&simple(json!({"driver": ada, "dispatch": true})));
    let id = id_of(&order);
    let nearer = json!({"street1": "3 Mill Rd", "latitude": 1.31, "longitude": 103.80});
    let moved = put(&fleet, &id, json!({"dropoff": nearer})).json();
    assert_eq!(moved["payload"]["dropoff"]["street1"], "3 Mill Rd");
    assert_eq!(moved["payload"]["pickup"], order["payload"]["pickup"]);
    assert!(moved["distance"].as_u64().unwrap() < order["distance"].as_u64().unwrap());
    let wider = put(&fleet, &id, json!({"payload": {"waypoints": ["a", "b"], "type": "food"}})).json();
    assert_eq!(wider["payload"]["waypoints"].as_array().unwrap().len(), 2);
    let first = wider["payload"]["waypoints"][0].clone();
    let again = json!({"waypoints": [first, "c"]});
    let kept = put(&fleet, &id, again).json();
    assert_eq!(kept["payload"]["waypoints"][0]["waypoint_id"], first["waypoint_id"]);
    assert_eq!(kept["payload"]["waypoints"][0]["tracking"], first["tracking"]);
    let narrow = put(&fleet, &id, json!({"waypoints": [], "pickup": null}));
    check_refused(&narrow, 422, "VALIDATION_FAILED", "The pickup field is required.");
    fleet.act(&id, "start", json!({}));
    let bodies = [
        json!({"pickup": "x"}),
        json!({"payload": {"pickup": "x", "dropoff": "y"}}),
        json!({"entities": [{"name": "Box"}]}),
    ];
    for body in bodies {
        check_refused(&put(&fleet, &id, body), 400, "ORDER_ALREADY_STARTED", "Order has already started.");
    }
    let own = json!({"payload": kept["payload"]["id"]});
    assert_eq!(put(&fleet, &id, own).status, 200);
}

#[test]
fn another_payload_takes_the_place_of_the_first() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({})));
    let id = id_of(&order);
    let body = json!({"type": "food", "pickup": here(), "dropoff": "somewhere"});
    let other = id_of(&fleet.call(TestCall::post("/v1/payloads").json(&body)).json());
    let changed = put(&fleet, &id, json!({"payload": other})).json();
    assert_eq!((&changed["payload"]["id"], &changed["payload"]["order"]), (&json!(other), &json!(id)));
    let first = order["payload"]["id"].as_str().unwrap();
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/payloads/{first}"))).status, 404);
    let unknown = put(&fleet, &id, json!({"payload": "payload_0000000000"}));
    check_refused(&unknown, 400, "INVALID_PAYLOAD", "Attempted to attach invalid payload to order.");
}

#[test]
fn what_an_order_carries_is_replaced_as_a_list() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({"entities": [{"name": "Piano"}, {"name": "Stool"}]})));
    let id = id_of(&order);
    let stool = order["payload"]["entities"][1].clone();
    let piano = order["payload"]["entities"][0]["id"].as_str().unwrap().to_owned();
    let changed = put(&fleet, &id, json!({"entities": [stool["id"], {"name": "Lamp"}]})).json();
    let names: Vec<&Value> =
        changed["payload"]["entities"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [&json!("Stool"), &json!("Lamp")]);
    assert_eq!(fleet.call(TestCall::get(&format!("/v1/entities/{piano}"))).status, 404);
}

#[test]
fn another_driver_is_told_and_takes_over_what_is_under_way() {
    let fleet = Fleet::new();
    let (ada, bob) = (fleet.driver("Ada"), fleet.driver("Bob"));
    let id = fleet.order(json!({"driver": ada, "dispatch": true}));
    fleet.act(&id, "start", json!({}));
    let before = fleet.event_count();
    let after = put(&fleet, &id, json!({"driver": bob})).json();
    assert_eq!(after["driver_assigned"]["id"], json!(bob));
    assert_eq!(fleet.events_after(before), ["order.driver_assigned", "order.updated"]);
    let job = |driver: &str| fleet.host.record("drivers", driver).unwrap()["current_job"].clone();
    assert_eq!((job(&ada), job(&bob)), (Value::Null, json!(id)));
    check_refused(&put(&fleet, &id, json!({"driver": null})), 400, "DRIVER_REQUIRED", "No driver assigned to order.");
    let unknown = put(&fleet, &id, json!({"driver": "driver_0000000000"}));
    assert_eq!(unknown.status, 404);
    let open = fleet.order(json!({"driver": ada}));
    assert_eq!(put(&fleet, &open, json!({"driver": null})).json()["driver_assigned"], Value::Null);
}

#[test]
fn a_change_may_dispatch_schedule_and_unschedule() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({}));
    let after = put(&fleet, &id, json!({"driver": ada, "dispatch": true, "scheduled_at": "2026-06-01"})).json();
    assert_eq!(
        (&after["status"], &after["scheduled_at"]),
        (&json!("dispatched"), &json!("2026-06-01T00:00:00.000000Z"))
    );
    assert_eq!(put(&fleet, &id, json!({"dispatch": true})).status, 200);
    assert_eq!(put(&fleet, &id, json!({"scheduled_at": null})).json()["scheduled_at"], Value::Null);
    let alone = fleet.order(json!({}));
    check_refused(
        &put(&fleet, &alone, json!({"dispatch": true})),
        400,
        "DRIVER_REQUIRED",
        "No driver assigned to dispatch!",
    );
}

#[test]
fn an_order_that_has_ended_keeps_all_but_notes() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({"driver": ada}));
    fleet.act(&id, "cancel", json!({}));
    let noted = put(&fleet, &id, json!({"notes": "why", "meta": {"k": 1}, "internal_id": "A1"})).json();
    assert_eq!((&noted["notes"], &noted["meta"]), (&json!("why"), &json!({"k": 1})));
    let bodies = [
        json!({"adhoc": true}),
        json!({"pod_required": true, "pod_method": "scan"}),
        json!({"customer": {"name": "Bo"}}),
        json!({"driver": null}),
        json!({"scheduled_at": "2026-06-01"}),
        json!({"dropoff": "x"}),
        json!({"status": "created"}),
        json!({"dispatch": true}),
    ];
    for body in bodies {
        check_refused(&put(&fleet, &id, body), 400, "ORDER_ALREADY_CANCELED", "Order is already canceled.");
    }
}

#[test]
fn the_configuration_changes_only_before_anything_has_happened() {
    let fleet = Fleet::new();
    let flow = fleet.call(TestCall::get("/v1/order-configs/transport")).json()["flow"].clone();
    let body = json!({"name": "Haulage", "key": "haulage", "namespace": "acme:order-config:haulage", "flow": flow});
    let answer = fleet.call(TestCall::post("/v1/order-configs").json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    let ada = fleet.driver("Ada");
    let id = fleet.order(json!({"driver": ada}));
    let changed = put(&fleet, &id, json!({"type": "haulage"})).json();
    assert_eq!((&changed["type"], &changed["order_config"]), (&json!("haulage"), &answer.json()["id"]));
    fleet.act(&id, "dispatch", json!({}));
    let sentence = "The type field cannot be changed here.";
    check_refused(&put(&fleet, &id, json!({"type": "transport"})), 422, "VALIDATION_FAILED", sentence);
    assert_eq!(put(&fleet, &id, json!({"type": "haulage"})).status, 200);
    let unknown = put(&fleet, &id, json!({"type": "teleport"}));
    check_refused(&unknown, 400, "INVALID_ORDER_CONFIG", "Invalid order `type` or `order_config` provided.");
}

#[test]
fn what_stands_beside_a_payload_is_told_as_not_read() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    let body = json!({"payload": {"pickup": "3 C St"}, "pickup": "4 D St", "entities": [{"name": "Q"}]});
    let answer = put(&fleet, &id, body.clone());
    assert_eq!(answer.status, 200);
    let unknown = answer.headers.iter().find(|(name, _)| name == "x-unknown-fields").map(|(_, value)| value.as_str());
    assert!(unknown.is_some_and(|names| names.contains("pickup") && names.contains("entities")), "{unknown:?}");
    let strict = fleet.call(TestCall::put(&format!("/v1/orders/{id}?strict=true")).json(&body));
    assert_eq!(strict.status, 422);
}

#[test]
fn an_order_that_has_grown_is_only_held_against_its_bound_where_its_payload_changes() {
    let fleet = Fleet::new();
    let things: Vec<Value> = (0..10).map(|nth| json!({"name": format!("Box {nth}")})).collect();
    let order = fleet.create(&simple(json!({ "entities": things })));
    for entity in order["payload"]["entities"].as_array().unwrap() {
        let large = json!({"meta": {"k": "x".repeat(60_000)}});
        let path = format!("/v1/entities/{}", id_of(entity));
        assert_eq!(fleet.call(TestCall::put(&path).json(&large)).status, 200);
    }
    let id = id_of(&order);
    for (body, status) in [
        (json!({"notes": "ring twice"}), 200),
        (json!({"notes": "ring twice", "payload": null}), 200),
        (json!({"payload": {"payment_method": "cash"}}), 422),
        (json!({"payment_method": "cash"}), 422),
        (json!({"payload": null, "payment_method": "cash"}), 422),
    ] {
        assert_eq!(put(&fleet, &id, body.clone()).status, status, "{body}");
    }
}

#[test]
fn a_change_that_breaks_a_rule_changes_nothing() {
    let fleet = Fleet::new();
    let order = fleet.create(&simple(json!({})));
    let id = id_of(&order);
    let before = fleet.event_count();
    let table = [
        (json!({"pickup": null}), "The pickup field is required."),
        (json!({"pod_required": true}), "The pod_method field is required when pod_required is set."),
        (json!({"type": null}), "The type field is required."),
        (json!({"notes": 5, "dropoff": "elsewhere"}), "The notes field must be a text."),
        (json!({"status": "flown"}), "The status field must be one of the order configuration."),
    ];
    for (body, sentence) in table {
        check_refused(&put(&fleet, &id, body), 422, "VALIDATION_FAILED", sentence);
    }
    assert_eq!((fleet.read(&id), fleet.event_count()), (order, before));
}
