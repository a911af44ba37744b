//! What all plain resources have in common: created, listed, read, changed, deleted, told of; seen by their organization
//! alone; not a driver's to touch.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{EmittedEvent, TestAnswer, TestCall, TestHost, schema};

use crate::PLUGIN;
use crate::api::actor;

struct Resource {
    path: &'static str,
    /// As events and deletions call it.
    object: &'static str,
    event: &'static str,
    body: Value,
    /// A field, and another value of it.
    change: (&'static str, Value),
}

fn flow() -> Value {
    json!([
        {"code": "created", "activities": ["dispatched"]},
        {"code": "dispatched", "activities": ["started"]},
        {"code": "started", "activities": ["completed"]},
        {"code": "completed", "complete": true},
    ])
}

fn resources() -> Vec<Resource> {
    let resource = |path, object, event, body, change| Resource { path, object, event, body, change };
    vec![
        resource("places", "place", "place", json!({"name": "Depot", "street1": "2 Bay Rd"}), ("city", json!("Wien"))),
        resource("contacts", "contact", "contact", json!({"name": "Ada", "type": "agent"}), ("title", json!("Dr"))),
        resource("customers", "customer", "contact", json!({"name": "Ada"}), ("phone", json!("+6591234567"))),
        resource("vehicles", "vehicle", "vehicle", json!({"plate_number": "SGX 1"}), ("odometer", json!(12.5))),
        resource("entities", "entity", "entity", json!({"name": "Piano", "type": "parcel"}), ("weight", json!(300))),
        resource(
            "order-configs",
            "order_config",
            "order_config",
            json!({"name": "Food", "key": "food", "flow": flow()}),
            ("version", json!("0.0.2")),
        ),
    ]
}

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn create(host: &TestHost, resource: &Resource) -> Value {
    let answer = host.call(TestCall::post(&format!("/v1/{}", resource.path)).json(&resource.body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn path_of(resource: &Resource, shown: &Value) -> String {
    format!("/v1/{}/{}", resource.path, shown["id"].as_str().unwrap())
}

fn header<'a>(answer: &'a TestAnswer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn told(event: &EmittedEvent) -> (&str, &Value) {
    (&event.event_type, &event.payload)
}

#[test]
fn what_was_created_can_be_read_and_listed() {
    for resource in resources() {
        let host = host();
        let shown = create(&host, &resource);
        let prefix = format!("{}_", resource.object);
        assert!(shown["id"].as_str().unwrap().starts_with(&prefix), "{shown}");
        assert_eq!(host.call(TestCall::get(&path_of(&resource, &shown))).json(), shown);
        let list = host.call(TestCall::get(&format!("/v1/{}", resource.path)));
        let found = list.json().as_array().unwrap().contains(&shown);
        assert!(list.status == 200 && found, "{}: {}", resource.path, list.body);
        let expected = if resource.path == "order-configs" { "2" } else { "1" };
        assert_eq!(header(&list, "x-total-count"), Some(expected), "{}", resource.path);
    }
}

#[test]
fn what_is_changed_keeps_the_rest() {
    for resource in resources() {
        for method in ["PUT", "PATCH"] {
            let host = host();
            let before = create(&host, &resource);
            let path = path_of(&resource, &before);
            host.advance_ms(1_000);
            let (field, value) = &resource.change;
            let answer = host.call(TestCall::new(method, &path).json(&json!({*field: value})));
            let mut expected = before.clone();
            expected[*field] = value.clone();
            expected["updated_at"] = json!("2026-05-07T08:30:01.000000Z");
            if resource.path == "places" {
                expected["address"] = json!("2 Bay Rd, Wien");
            }
            if *field == "weight" {
                expected["weight_unit"] = json!("kg");
            }
            assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{}", resource.path);
            assert_eq!(host.call(TestCall::get(&path)).json(), expected);
        }
    }
}

#[test]
fn what_was_read_can_be_sent_back() {
    for resource in resources() {
        let host = host();
        let shown = create(&host, &resource);
        let call = TestCall::put(&path_of(&resource, &shown)).header("prefer", "handling=strict").json(&shown);
        let answer = host.call(call);
        assert_eq!((answer.status, answer.json()), (200, shown), "{}", resource.path);
        assert_eq!(header(&answer, "x-unknown-fields"), None, "{}", resource.path);
    }
}

#[test]
fn what_was_deleted_is_not_found() {
    for resource in resources() {
        let host = host();
        let shown = create(&host, &resource);
        let path = path_of(&resource, &shown);
        let answer = host.call(TestCall::delete(&path));
        let expected = json!({
            "id": shown["id"], "object": resource.object, "time": "2026-05-07T08:30:00.000000Z", "deleted": true,
        });
        assert_eq!((answer.status, answer.json()), (200, expected));
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let answer = host.call(TestCall::new(method, &path).json(&json!({})));
            let code = json!("RESOURCE_NOT_FOUND");
            assert_eq!((answer.status, answer.json()["code"].clone()), (404, code), "{method} {path}");
        }
    }
}

#[test]
fn each_change_is_told() {
    for resource in resources() {
        let host = host();
        let shown = create(&host, &resource);
        let path = path_of(&resource, &shown);
        let (field, value) = &resource.change;
        host.call(TestCall::put(&path).json(&json!({*field: value})));
        host.call(TestCall::delete(&path));
        let events = host.events();
        let names: Vec<&str> = events.iter().map(|event| told(event).0).collect();
        let expected = ["created", "updated", "deleted"].map(|what| format!("{}.{what}", resource.event));
        assert_eq!(names, expected);
        let subject = events[0].payload["id"].clone();
        for event in &events {
            assert_eq!(event.payload["id"], subject);
            assert_eq!(event.payload["created_at"], "2026-05-07 08:30:00");
            assert_eq!(json!(event.subject), subject);
        }
        assert_eq!((&events[1].payload[*field], &events[2].payload[*field]), (value, value));
    }
}

#[test]
fn another_organization_sees_nothing_of_it() {
    for resource in resources() {
        let host = host();
        let path = path_of(&resource, &create(&host, &resource));
        let nowhere = format!("/v1/{}/{}_0000000000", resource.path, resource.object);
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let answer = |path: &str| {
                let call = TestCall::new(method, path).tenant("umbra/test").json(&json!({}));
                let mut body = host.call(call).json();
                body["request_id"] = Value::Null;
                body
            };
            assert_eq!(answer(&path), answer(&nowhere), "{method} {path}");
            assert_eq!(answer(&path)["code"], "RESOURCE_NOT_FOUND");
        }
        let list = host.call(TestCall::get(&format!("/v1/{}", resource.path)).tenant("umbra/test")).json();
        assert!(list.as_array().unwrap().iter().all(|one| one["id"] == "order_config_transport0"), "{list}");
    }
}

#[test]
fn a_driver_may_not_touch_what_his_organization_manages() {
    for resource in resources() {
        let host = host();
        let path = path_of(&resource, &create(&host, &resource));
        let nowhere = format!("/v1/{}/{}_0000000000", resource.path, resource.object);
        let all = format!("/v1/{}", resource.path);
        let calls = ["GET", "PUT", "PATCH", "DELETE"].map(|method| (method, path.as_str()));
        let more = [("GET", nowhere.as_str()), ("POST", &all), ("GET", &all)];
        for (method, path) in calls.into_iter().chain(more) {
            let driver = TestCall::new(method, path).attribute(actor::ATTRIBUTE, "driver_0000000000").token();
            let answer = host.call(driver.json(&resource.body));
            let expected = (403, json!("API_FORBIDDEN"));
            assert_eq!((answer.status, answer.json()["code"].clone()), expected, "{method} {path}");
        }
    }
}

#[test]
fn a_field_that_nobody_reads_is_told_or_refused() {
    for resource in resources() {
        let host = host();
        let mut body = resource.body.clone();
        body["colour"] = json!("red");
        let path = format!("/v1/{}", resource.path);
        for strict in [format!("{path}?strict=true"), path.clone()] {
            let call = TestCall::post(&strict).json(&body);
            let call = if strict == path { call.header("prefer", "respond-async, handling=strict") } else { call };
            let answer = host.call(call);
            assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")));
            assert_eq!(answer.json()["error"], "These fields are not known: colour.");
        }
        let answer = host.call(TestCall::post(&path).json(&body));
        assert_eq!((answer.status, header(&answer, "x-unknown-fields")), (201, Some("colour")), "{path}");
    }
}

#[test]
fn what_is_wrong_with_a_body_is_told_at_once() {
    let table = [
        ("places", json!({}), vec!["The address field is required."]),
        ("contacts", json!({}), vec!["The name field is required.", "The type field is required."]),
        ("customers", json!({"email": 5}), vec!["The email field must be a text.", "The name field is required."]),
        (
            "vehicles",
            json!({"status": "asleep", "year": "old"}),
            vec![
                "The year field must be a number.",
                "The status field must be one of: available, active, inactive, maintenance.",
            ],
        ),
        ("entities", json!({}), vec!["The name field is required.", "The type field is required."]),
        (
            "order-configs",
            json!({}),
            vec!["The flow field is required.", "The key field is required.", "The name field is required."],
        ),
    ];
    for (path, body, expected) in table {
        let answer = host().call(TestCall::post(&format!("/v1/{path}")).json(&body));
        assert_eq!((answer.status, &answer.json()["errors"]), (422, &json!(expected)), "{path}");
    }
}

/// The document of these resources: what a test sees is what it promises.
#[test]
fn answers_are_as_their_document_says() {
    let document: Value = serde_json::from_str(include_str!("../openapi/resources.json")).unwrap();
    let host = host();
    for resource in resources() {
        let all = format!("/v1/{}", resource.path);
        let one = format!("{all}/{{id}}");
        let mut id = String::new();
        let operations =
            [("post", &all), ("get", &all), ("get", &one), ("put", &one), ("patch", &one), ("delete", &one)];
        for (method, path) in operations {
            let operation = &document["paths"][path][method];
            let example = operation.pointer("/requestBody/content/application~1json/example").unwrap_or(&Value::Null);
            let call = TestCall::new(&method.to_uppercase(), &path.replace("{id}", &id));
            let answer = host.call(if example.is_null() { call } else { call.json(example) });
            let declared = &operation["responses"][answer.status.to_string()]["content"]["application/json"]["schema"];
            assert!(declared.is_object(), "{method} {path}: {} {}", answer.status, answer.body);
            schema::check(&document, declared, &answer.json(), path);
            if method == "post" {
                answer.json()["id"].as_str().unwrap().clone_into(&mut id);
            }
        }
    }
}

#[test]
fn the_document_has_every_one_of_these_routes() {
    let document: Value = serde_json::from_str(include_str!("../openapi/resources.json")).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let families = ["places", "contacts", "customers", "vehicles", "entities", "order-configs", "organizations"];
    let is_ours = |path: &str| path.split('/').nth(2).is_some_and(|family| families.contains(&family));
    let routes: BTreeSet<(String, String)> = PLUGIN
        .route_table()
        .iter()
        .filter(|route| is_ours(route.path))
        .map(|route| (route.path.to_owned(), format!("{} {}", route.method.to_lowercase(), route.operation)))
        .collect();
    let published: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter();
            operations
                .map(move |(method, it)| (path.clone(), format!("{method} {}", it["operationId"].as_str().unwrap())))
        })
        .collect();
    assert_eq!(routes, published);
}
