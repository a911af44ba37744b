//! Every route, every field, every hostile value: refused in the interface's words or taken, never broken.

mod drivers;
mod orders;
mod resources;
mod tables;
mod tracking;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;
use tables::{DRIVER_BODIES, ORDER_BODIES, PARAMETERS, TRACK_BODIES, WEBHOOK_BODIES, texts, values};

/// A driver and an order, whatever is done to it.
fn stocked() -> (TestHost, String, String) {
    let host = TestHost::new(&PLUGIN);
    let id = |answer: TestAnswer| answer.json()["id"].as_str().unwrap().to_owned();
    let driver = json!({"name": "Ada", "email": "ada@x.org", "phone": "7"});
    let driver = id(host.call(TestCall::post("/v1/drivers").json(&driver)));
    let order = id(host.call(TestCall::post("/v1/orders").json(&json!({"pickup": "a", "dropoff": "b"}))));
    (host, driver, order)
}

/// Neither broken nor told back, and what was taken can be read by everybody.
#[track_caller]
fn check(host: &TestHost, call: TestCall) {
    let shown = format!("{call:?}").chars().take(600).collect::<String>();
    let answer = host.try_call(call).unwrap_or_else(|fault| panic!("{fault}: {shown}"));
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert!([200, 201, 400, 404, 422].contains(&answer.status), "{}: {shown}", answer.status);
    assert_eq!(answer.refused, answer.status >= 400, "{shown}");
    if answer.refused {
        let sentences = body["errors"].as_array().unwrap();
        let sound = |sentence: &Value| sentence.as_str().is_some_and(|s| s.is_ascii() && !s.contains(char::is_control));
        assert!(!sentences.is_empty() && sentences.iter().all(sound), "{body}: {shown}");
    }
}

fn check_bodies(method: &str, path: &str, templates: &[&str]) {
    let values = values();
    for template in templates {
        let (host, driver, order) = stocked();
        let webhook = host.call(TestCall::post("/v1/webhook-endpoints").json(&json!({"url": "https://a.example.com"})));
        let webhook = webhook.json()["id"].as_str().unwrap().to_owned();
        let path = path.replace("{driver}", &driver).replace("{order}", &order).replace("{webhook}", &webhook);
        for value in &values {
            check(&host, TestCall::new(method, &path).text(&template.replace('%', value)));
        }
    }
}

#[test]
fn no_value_in_a_new_order_breaks_it() {
    check_bodies("POST", "/v1/orders", &ORDER_BODIES);
}

#[test]
fn no_value_in_a_changed_order_breaks_it() {
    check_bodies("PUT", "/v1/orders/{order}", &ORDER_BODIES);
    check_bodies("PATCH", "/v1/orders/{order}", &ORDER_BODIES[..1]);
}

#[test]
fn no_value_in_a_new_driver_breaks_it() {
    check_bodies("POST", "/v1/drivers", &DRIVER_BODIES);
}

#[test]
fn no_value_in_a_fix_breaks_it() {
    check_bodies("POST", "/v1/drivers/{driver}/track", &TRACK_BODIES);
    check_bodies("PUT", "/v1/drivers/{driver}/track", &TRACK_BODIES[..1]);
    check_bodies("PATCH", "/v1/drivers/{driver}/track", &TRACK_BODIES[..1]);
}

#[test]
fn no_value_in_a_webhook_endpoint_breaks_it() {
    check_bodies("POST", "/v1/webhook-endpoints", &WEBHOOK_BODIES);
    check_bodies("PUT", "/v1/webhook-endpoints/{webhook}", &WEBHOOK_BODIES);
    check_bodies("PATCH", "/v1/webhook-endpoints/{webhook}", &WEBHOOK_BODIES[..1]);
    check_bodies("POST", "/v1/webhook-endpoints/{webhook}/recover", &["%", r#"{"since":%}"#]);
}

#[test]
fn no_parameter_of_a_list_breaks_it() {
    let (host, _, _) = stocked();
    // A "&" or "=" would begin another parameter here.
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in PARAMETERS {
            check(&host, TestCall::get(&format!("/v1/orders?{parameter}={text}")));
        }
    }
}

#[test]
fn no_id_breaks_a_route() {
    let (host, _, _) = stocked();
    let body = json!({"latitude": 0, "longitude": 0, "notes": "n"});
    // Neither does the host let an empty segment through, nor one with a "/"; a "?" would end the path here.
    for id in texts().iter().filter(|text| !text.is_empty() && !text.contains(['/', '?'])) {
        for route in PLUGIN.route_table().iter().filter(|route| route.path.contains("{id}")) {
            check(&host, TestCall::new(route.method, &route.path.replace("{id}", id)).json(&body));
        }
    }
}

/// The table of routes above is the plugin's.
#[test]
fn every_route_with_a_body_is_tried() {
    let tried = ["create-order", "update-order", "patch-order", "create-driver", "recover-webhook"];
    let tried = [&tried[..], &["create-webhook", "update-webhook", "patch-webhook"]].concat();
    let bodiless = ["enable-webhook", "disable-webhook", "rotate-webhook", "test-webhook", "redeliver"];
    let here = [&drivers::TRIED[..], &orders::TRIED, &resources::TRIED, &tracking::TRIED].concat();
    let tried = [tried, bodiless.to_vec(), here].concat();
    for route in PLUGIN.route_table().iter().filter(|route| ["POST", "PUT", "PATCH"].contains(&route.method)) {
        let operation = route.operation;
        assert!(tried.contains(&operation) || operation.starts_with("track-driver"), "{operation}: try it here");
    }
}
