//! The table of the plugin against what it publishes.

mod bounds;
mod documents;
mod hostile;
mod names;
mod openapi;
mod resources;
mod scope;

use std::collections::BTreeSet;

use serde_json::Value;
use tenon_plugin::subscriptions::Attempt;
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::PLUGIN;
use crate::api::drivers::linked;

/// Asked by linked organizations alone.
fn is_inner(operation: &str) -> bool {
    linked::ROUTES.iter().any(|route| route.operation == operation)
}

fn manifest() -> Value {
    serde_json::from_str(&PLUGIN.describe()).unwrap()
}

#[test]
fn the_openapi_document_has_every_route_and_no_other() {
    let manifest = manifest();
    // What is for no consumer is not in it.
    let routes = PLUGIN.route_table().iter().filter(|route| !is_inner(route.operation));
    let routes: BTreeSet<(String, String)> =
        routes.map(|route| (route.path.to_owned(), route.method.to_lowercase())).collect();
    let paths = manifest["openapi"]["paths"].as_object().unwrap();
    let methods = ["get", "post", "put", "patch", "delete"];
    let published: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (path.clone(), method.clone())))
        .filter(|(_, method)| methods.contains(&method.as_str()))
        .collect();
    assert_eq!(routes, published);
}

/// Those of drivers are described with their operations.
#[test]
fn the_openapi_document_has_a_webhook_for_every_event() {
    let manifest = manifest();
    let names = manifest["event-types"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap());
    let told: BTreeSet<&str> = names.filter(|name| !name.starts_with("driver.")).collect();
    let webhooks = manifest["openapi"]["webhooks"].as_object().unwrap().keys().map(String::as_str);
    assert_eq!(webhooks.filter(|name| !name.starts_with("driver.")).collect::<BTreeSet<_>>(), told);
}

#[test]
fn operations_have_one_name_each() {
    let names: BTreeSet<&str> = PLUGIN.route_table().iter().map(|route| route.operation).collect();
    assert_eq!(names.len(), PLUGIN.route_table().len());
}

#[test]
fn failures_carry_the_codes_of_the_interface() {
    let failures = &manifest()["failures"];
    let table = [
        ("unauthenticated", 401, "API_UNAUTHENTICATED", "Invalid or missing API credentials"),
        ("not-found", 404, "RESOURCE_NOT_FOUND", "The requested resource was not found"),
        ("unsupported-version", 400, "API_VERSION_NOT_SUPPORTED", "The requested API version is not supported"),
    ];
    for (failure, status, code, message) in table {
        let wording = &failures[failure];
        assert_eq!((&wording["status"], &wording["body"]["code"]), (&status.into(), &code.into()));
        assert_eq!(wording["body"]["error"], message);
        assert_eq!(wording["body"]["request_id"], "{request-id}");
    }
    assert_eq!(failures.as_object().unwrap().len(), 15);
}

#[test]
fn every_schema_in_the_manifest_is_json() {
    for event_type in manifest()["event-types"].as_array().unwrap() {
        assert_eq!(event_type["schema"]["type"], "object", "{event_type}");
    }
}

/// Runs the request examples of webhook endpoints in the order of a first day, and compares each answer with the example
/// beside it. Those of the other areas stand with their tests.
#[test]
fn the_examples_of_webhook_endpoints_are_true() {
    let document = &manifest()["openapi"];
    let host = TestHost::new(&PLUGIN);
    let day = [
        ("post", "/v1/webhook-endpoints", "201"),
        ("get", "/v1/webhook-endpoints", "200"),
        ("get", "/v1/webhook-endpoints/{id}", "200"),
        ("put", "/v1/webhook-endpoints/{id}", "200"),
        ("patch", "/v1/webhook-endpoints/{id}", "200"),
        ("post", "/v1/webhook-endpoints/{id}/disable", "200"),
        ("post", "/v1/webhook-endpoints/{id}/enable", "200"),
        ("post", "/v1/webhook-endpoints/{id}/rotate", "200"),
        ("post", "/v1/webhook-endpoints/{id}/test", "200"),
        ("get", "/v1/webhook-endpoints/{id}/deliveries", "200"),
        ("get", "/v1/webhook-endpoints/{id}/deliveries/{event}/attempts", "200"),
        ("post", "/v1/webhook-endpoints/{id}/deliveries/{event}/redeliver", "200"),
        ("post", "/v1/webhook-endpoints/{id}/recover", "200"),
        ("delete", "/v1/webhook-endpoints/{id}", "200"),
    ];
    let (mut id, mut event) = (String::new(), String::new());
    for (method, path, status) in day {
        let operation = &document["paths"][path][method];
        let mut call = TestCall::new(&method.to_uppercase(), &path.replace("{id}", &id).replace("{event}", &event));
        if let Some(body) = operation.pointer("/requestBody/content/application~1json/example") {
            call = call.json(body);
        }
        let answer = host.call(call);
        assert_eq!(answer.status.to_string(), status, "{method} {path}");
        // Answers that repeat another one's example have none.
        if let Some(example) = operation["responses"][status]["content"]["application/json"].get("example") {
            assert_eq!(&answer.json(), example, "{method} {path}");
        }
        if status == "201" {
            answer.json()["id"].as_str().unwrap().clone_into(&mut id);
        }
        if path.ends_with("/test") {
            answer.json()["id"].as_str().unwrap().clone_into(&mut event);
            let (outcome, answer) = ("status".to_owned(), "busy".to_owned());
            let attempt = Attempt { number: 0, at: host.now(), duration: 5, outcome, status: Some(503), answer };
            host.record_attempt(&id, &event, attempt, "failed");
        }
    }
}
