//! Orders as callers see them: real handlers on the host in memory.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn create(host: &TestHost, body: Value) -> Value {
    let answer = host.call(TestCall::post("/v1/orders").json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn simple() -> Value {
    json!({"pickup": "1 Main St", "dropoff": [1.3521, 103.8198]})
}

fn read(host: &TestHost, id: &str) -> TestAnswer {
    host.call(TestCall::get(&format!("/v1/orders/{id}")))
}

fn ids(answer: &TestAnswer) -> Vec<String> {
    answer.json().as_array().unwrap().iter().map(|order| order["internal_id"].as_str().unwrap().to_owned()).collect()
}

fn refused(host: &TestHost, body: Value, status: u16, sentence: &str) {
    let answer = host.call(TestCall::post("/v1/orders").json(&body));
    assert_eq!((answer.status, answer.refused), (status, true), "{body}: {}", answer.body);
    assert_eq!(answer.json()["error"], sentence, "{body}");
    assert!(host.events().is_empty(), "a refused order emits nothing");
}

#[test]
fn a_created_order_can_be_read() {
    let host = host();
    let order = create(&host, simple());
    assert_eq!(order["status"], "created");
    assert_eq!(order["payload"]["pickup"]["address"], "1 Main St");
    assert_eq!(order["payload"]["dropoff"]["location"], json!({"type": "Point", "coordinates": [103.8198, 1.3521]}));
    assert_eq!(order["created_at"], "2026-05-07T08:30:00.000000Z");
    assert!(order["tracking_number"]["tracking_number"].as_str().unwrap().starts_with("ACM"));
    assert_eq!(read(&host, order["id"].as_str().unwrap()).json(), order);
}

#[test]
fn a_created_order_is_told() {
    let host = host();
    let order =
        create(&host, json!({"pickup": "a", "dropoff": "b", "customer": {"name": "Ada", "email": "Ada@x.org"}}));
    let [event] = host.events().try_into().unwrap();
    assert_eq!((event.event_type.as_str(), event.subject.as_str()), ("order.created", order["id"].as_str().unwrap()));
    assert_eq!(event.payload["order_id"], order["id"]);
    assert_eq!(event.payload["customer_id"], order["customer"]["id"]);
    assert_eq!(event.payload["tracking_number"], order["tracking_number"]["tracking_number"]);
}

#[test]
fn one_email_is_one_customer() {
    let host = host();
    let first = create(&host, json!({"pickup": "a", "dropoff": "b", "customer": {"email": "ada@x.org"}}));
    let second = create(&host, json!({"pickup": "a", "dropoff": "b", "customer": {"email": "ADA@x.org"}}));
    let id = first["customer"]["id"].as_str().unwrap();
    let third = create(&host, json!({"pickup": "a", "dropoff": "b", "customer": id.replace("contact_", "customer_")}));
    assert_eq!((&first["customer"], &first["customer"]), (&second["customer"], &third["customer"]));
}

#[test]
fn places_are_taken_in_every_form() {
    let host = host();
    let point = json!({"type": "Point", "coordinates": [103.5, 1.5]});
    let forms = [
        json!("1.5, 103.5"),
        json!([1.5, 103.5]),
        json!({"latitude": 1.5, "longitude": "103.5"}),
        json!({"lat": 1.5, "lng": 103.5}),
        json!({"x": 103.5, "y": 1.5}),
        point.clone(),
        json!({"type": "Feature", "geometry": point.clone(), "properties": {}}),
        json!({"name": "Depot", "location": point.clone()}),
    ];
    for form in forms {
        let order = create(&host, json!({"pickup": form, "dropoff": "b"}));
        assert_eq!(order["payload"]["pickup"]["location"], point, "{form}");
    }
}

#[test]
fn a_tour_needs_two_waypoints() {
    let host = host();
    let order = create(&host, json!({"payload": {"waypoints": ["a", {"street1": "b", "country": "us"}]}}));
    assert_eq!(order["payload"]["waypoints"][1]["order"], 1);
    refused(
        &self::host(),
        json!({"waypoints": ["a"]}),
        422,
        "An order needs a pickup and a dropoff, or at least two waypoints.",
    );
}

#[test]
fn wrong_bodies_are_refused_with_a_sentence() {
    let table = [
        (json!({}), 422, "An order needs a pickup and a dropoff, or at least two waypoints."),
        (json!({"pickup": "a"}), 422, "The dropoff field is required."),
        (json!({"pickup": 5, "dropoff": "b"}), 422, "The pickup field must be an address, coordinates, or a place."),
        (json!({"pickup": [91, 0], "dropoff": "b"}), 422, "The latitude field must be between -90 and 90."),
        (
            json!({"pickup": "a", "dropoff": "b", "pod_required": true}),
            422,
            "The pod_method field is required when pod_required is set.",
        ),
        (json!({"pickup": "a", "dropoff": "b", "meta": "text"}), 422, "The meta field must be an object."),
        (json!({"pickup": "a", "dropoff": "b", "scheduled_at": "soon"}), 422, "The scheduled_at field must be a date."),
        (
            json!({"pickup": "a", "dropoff": "b", "driver": "driver_0123456789"}),
            422,
            "The driver field is not supported yet.",
        ),
        (json!({"pickup": "place_0123456789", "dropoff": "b"}), 404, "The requested resource was not found"),
        (
            json!({"pickup": "a", "dropoff": "b", "customer": "contact_0123456789"}),
            404,
            "The requested resource was not found",
        ),
        (json!([1]), 422, "The body must be a JSON object."),
    ];
    for (body, status, sentence) in table {
        refused(&host(), body, status, sentence);
    }
}

#[test]
fn what_is_not_json_is_malformed() {
    let nested = ["{\"meta\":", &"[".repeat(100_000)].concat();
    for body in ["{", "nonsense", "", nested.as_str()] {
        let answer = host().call(TestCall::post("/v1/orders").text(body));
        assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!("MALFORMED_REQUEST")));
    }
}

#[test]
fn an_unknown_a_malformed_and_a_foreign_id_look_the_same() {
    let host = host();
    let order = create(&host, simple());
    let foreign = TestCall::get(&format!("/v1/orders/{}", order["id"].as_str().unwrap())).tenant("umbra/test");
    let answers = [
        host.call(foreign),
        read(&host, "order_0123456789"),
        read(&host, "%00\u{1F600}"),
        read(&host, &"x".repeat(5000)),
    ];
    for answer in &answers {
        let anonymous = answer.body.replace(answer.json()["request_id"].as_str().unwrap(), "");
        let expected = r#"{"error":"The requested resource was not found","errors":["The requested resource was not found"],"code":"RESOURCE_NOT_FOUND","request_id":""}"#;
        assert_eq!((answer.status, anonymous.as_str()), (404, expected));
    }
}

#[test]
fn test_and_live_never_meet() {
    let host = host();
    create(&host, simple());
    assert_eq!(host.call(TestCall::get("/v1/orders").tenant("acme/live")).body, "[]");
}

#[test]
fn an_order_is_found_by_the_callers_own_id() {
    let host = host();
    let order = create(&host, json!({"internal_id": "A-1", "pickup": "a", "dropoff": "b"}));
    assert_eq!(read(&host, "A-1").json(), order);
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let host = host();
    let order = create(&host, json!({"pickup": "a", "dropoff": "b", "notes": "ring twice", "meta": {"k": [1]}}));
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    host.advance_ms(1000);
    let after =
        host.call(TestCall::put(&path).json(&json!({"notes": null, "dropoff": "c", "status": "created"}))).json();
    assert_eq!((&after["notes"], &after["payload"]["dropoff"]["street1"]), (&Value::Null, &json!("c")));
    assert_eq!((&after["meta"], &after["payload"]["pickup"]), (&order["meta"], &order["payload"]["pickup"]));
    assert_eq!(after["updated_at"], "2026-05-07T08:30:01.000000Z");
    assert_eq!(read(&host, order["id"].as_str().unwrap()).json(), after);
}

#[test]
fn a_change_keeps_members_of_a_newer_version() {
    let host = host();
    host.put_record(
        "orders",
        "order_0123456789",
        &json!({"id": "order_0123456789", "type": "transport", "status": "created", "of_tomorrow": {"a": 1}}),
    );
    let after = host.call(TestCall::patch("/v1/orders/order_0123456789").json(&json!({"notes": "n"}))).json();
    assert_eq!(after["of_tomorrow"], json!({"a": 1}));
}

#[test]
fn a_change_that_breaks_a_rule_changes_nothing() {
    let host = host();
    let order = create(&host, simple());
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    let bodies =
        [json!({"status": "completed"}), json!({"pickup": null}), json!({"pod_required": true}), json!({"type": null})];
    for body in bodies {
        let answer = host.call(TestCall::put(&path).json(&body));
        assert_eq!((answer.status, answer.refused), (422, true), "{body}");
    }
    assert_eq!(read(&host, order["id"].as_str().unwrap()).json(), order);
}

#[test]
fn a_deleted_order_is_gone() {
    let host = host();
    let order = create(&host, simple());
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    let deleted = host.call(TestCall::delete(&path));
    let expected =
        json!({"id": order["id"], "object": "order", "time": "2026-05-07T08:30:00.000000Z", "deleted": true});
    assert_eq!((deleted.status, deleted.json()), (200, expected));
    assert_eq!(host.call(TestCall::delete(&path)).status, 404);
    assert_eq!(host.call(TestCall::get(&path)).status, 404);
}

fn three_orders() -> TestHost {
    let host = host();
    for (internal_id, order_type) in [("first", "transport"), ("second", "parcel"), ("third", "transport")] {
        create(&host, json!({"internal_id": internal_id, "type": order_type, "pickup": "a", "dropoff": "b"}));
        host.advance_ms(3_600_000 * 12);
    }
    host
}

#[test]
fn a_list_is_paged_sorted_and_filtered() {
    let host = three_orders();
    let table: [(&str, &[&str]); 10] = [
        ("", &["third", "second", "first"]),
        ("?sort=created_at", &["first", "second", "third"]),
        ("?limit=1&page=2", &["second"]),
        ("?limit=2&offset=1", &["second", "first"]),
        ("?type=transport", &["third", "first"]),
        ("?internal_id=second&status=created", &["second"]),
        ("?status=completed", &[]),
        ("?created_at=2026-05-08", &["third"]),
        ("?created_at=2026-05-07T10:00:00Z,2026-05-09", &["third", "second"]),
        ("?single=true", &["third", "second", "first"]),
    ];
    for (query, expected) in table {
        let answer = host.call(TestCall::get(&format!("/v1/orders{query}")));
        assert_eq!(
            (answer.status, ids(&answer)),
            (200, expected.iter().map(|id| (*id).to_owned()).collect()),
            "{query}"
        );
    }
}

#[test]
fn a_list_that_nobody_could_mean_is_refused() {
    let long = format!("?status={}", "x".repeat(129));
    for query in
        ["?limit=0", "?limit=101", "?limit=-1", "?limit=ten", "?page=0", "?sort=color", "?created_at=may", &long]
    {
        let answer = host().call(TestCall::get(&format!("/v1/orders{query}")));
        assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")), "{query}");
    }
}

/// What is not a text for people is not sent back to them.
#[test]
fn control_characters_in_a_filter_are_refused_by_name() {
    for parameter in ["status", "internal_id", "customer", "type"] {
        for value in ["\0", "a\u{1b}[2J", "\n", "\u{85}"] {
            let answer = host().call(TestCall::get(&format!("/v1/orders?{parameter}={value}")));
            let sentence = format!("The {parameter} field must be a text without control characters.");
            assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{value:?}");
        }
    }
}
