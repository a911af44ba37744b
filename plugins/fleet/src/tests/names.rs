//! What is wrong is told of the field that the caller has sent, with the way to it.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::PLUGIN;
use crate::rules::picture::samples::PNG_BASE64;

const PLACE: &str = "must be an address, coordinates, or a place.";
const DRIVER: &str = "/v1/drivers";

/// The first sentence of the refusal.
fn refused(host: &TestHost, method: &str, path: &str, body: &Value) -> String {
    let answer = host.call(TestCall::new(method, path).json(body));
    assert_eq!((answer.status, answer.refused), (422, true), "{body}: {}", answer.body);
    answer.json()["error"].as_str().unwrap().to_owned()
}

fn made(host: &TestHost, path: &str, body: &Value) -> String {
    let answer = host.call(TestCall::post(path).json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    [path, "/", answer.json()["id"].as_str().unwrap()].concat()
}

fn ada(host: &TestHost) -> String {
    made(host, DRIVER, &json!({"name": "Ada", "email": "ada@x.org", "phone": "+6591234567"}))
}

#[test]
fn what_stands_in_an_order_is_told_with_the_way_to_it() {
    let host = TestHost::new(&PLUGIN);
    let box_of = |weight: i32| json!({"name": "Box", "weight": weight});
    let weighed = "field must be between 0 and 1000000000.";
    let ends = |besides: Value| {
        let mut order = json!({"pickup": "a", "dropoff": "b"});
        order.as_object_mut().unwrap().extend(besides.as_object().unwrap().clone());
        order
    };
    for (besides, sentence) in [
        (json!({"entities": [box_of(1), box_of(-1)]}), format!("The entities.1.weight {weighed}")),
        (json!({"dropoff": {"name": "a", "location": 5}}), format!("The dropoff.location field {PLACE}")),
        (json!({"return": {"name": 5}}), "The return.name field must be a text.".to_owned()),
        (json!({"waypoints": ["a", null]}), format!("The waypoints.1 field {PLACE}")),
        (json!({"waypoints": ["a", {"place": 5}]}), format!("The waypoints.1.place field {PLACE}")),
        (
            json!({"waypoints": [{"place": "a", "customer": {"name": 5}}]}),
            "The waypoints.0.customer.name field must be a text.".to_owned(),
        ),
        (json!({"facilitator": 5}), "The facilitator field must be an id or an object.".to_owned()),
    ] {
        let body = ends(besides);
        assert_eq!(refused(&host, "POST", "/v1/orders", &body), sentence, "{body}");
    }
    let entities: Vec<Value> = (0..4).map(|nth| box_of(if nth == 3 { -1 } else { nth })).collect();
    let inner = ends(json!({ "entities": entities }));
    let order = made(&host, "/v1/orders", &ends(json!({})));
    for (method, path) in [("POST", "/v1/orders"), ("PUT", order.as_str())] {
        let told = |payload: &Value| refused(&host, method, path, &json!({ "payload": payload }));
        assert_eq!(told(&inner), format!("The payload.entities.3.weight {weighed}"));
        assert_eq!(
            told(&ends(json!({"pickup": {"name": "a", "lat": 91, "lng": 1}}))),
            "The payload.pickup.lat field must be between -90 and 90."
        );
        assert_eq!(told(&ends(json!({"entities": 5}))), "The payload.entities field must be a list of entities.");
        assert_eq!(
            told(&ends(json!({"cod_amount": "5"}))),
            "The payload.cod_currency field is required when payload.cod_amount is set."
        );
    }
}

#[test]
fn an_object_that_has_a_member_twice_is_refused_wherever_it_stands() {
    let host = TestHost::new(&PLUGIN);
    for (body, sentence) in [
        (r#"{"pickup":"a","dropoff":"b","pickup":"c"}"#, "The body"),
        (r#"{"pickup":{"name":"a","name":"b"},"dropoff":"b"}"#, "The pickup field"),
        (r#"{"payload":{"pickup":"a","dropoff":"b","dropoff":"c"}}"#, "The payload field"),
        (r#"{"pickup":"a","dropoff":"b","entities":[{"name":"a","name":"b"}]}"#, "The entities.0 field"),
        (r#"{"pickup":"a","dropoff":"b","meta":{"a":1,"a":2}}"#, "The meta field"),
        (
            r#"{"pickup":"a","dropoff":"b","customer":{"name":"a","meta":{"a":[{"b":1,"b":1}]}}}"#,
            "The customer.meta field",
        ),
    ] {
        let answer = host.call(TestCall::post("/v1/orders").text(body));
        let told = answer.json()["error"].as_str().unwrap().to_owned();
        assert_eq!((answer.status, told), (422, format!("{sentence} must have each of its members once.")), "{body}");
    }
}

#[test]
fn a_field_of_several_names_is_told_by_the_one_that_was_sent() {
    let host = TestHost::new(&PLUGIN);
    let driver = ada(&host);
    let (track, device) = ([&driver, "/track"].concat(), [&driver, "/register-device"].concat());
    let long_ago = "field must be a time of the last seven days.";
    for name in ["recorded_at", "timestamp"] {
        let body = json!({"latitude": 1, "longitude": 1, name: "2026-01-01"});
        assert_eq!(refused(&host, "POST", &track, &body), format!("The {name} {long_ago}"));
    }
    for name in ["platform", "os"] {
        let sentence = refused(&host, "POST", &device, &json!({"token": "t", name: "beos"}));
        assert!(sentence.starts_with(&format!("The {name} field must be one of: ")), "{sentence}");
    }
    for name in ["filename", "original_filename", "file_name", "file_type"] {
        let sentence = refused(&host, "POST", "/v1/files", &json!({"data": PNG_BASE64, name: "a\u{0}b"}));
        assert_eq!(sentence, format!("The {name} field must be a text without control characters."));
    }
    let order = made(&host, "/v1/orders", &json!({"pickup": "a", "dropoff": "b"}));
    for name in ["type", "order_config"] {
        assert_eq!(refused(&host, "PUT", &order, &json!({name: null})), format!("The {name} field is required."));
    }
    for (status, sentence) in [
        ("nonsense", "The status field must be one of the order configuration."),
        ("failed", "The status field is not accepted: an order fails by update-activity, which takes the reason."),
    ] {
        assert_eq!(refused(&host, "PUT", &order, &json!({"status": status})), sentence);
    }
    let schedule = [&order, "/schedule"].concat();
    for (body, sentence) in [
        (
            json!({"date": "1970-01-01", "timezone": "+08:00"}),
            "The date field must be a day from 1970-01-01 on, in UTC.",
        ),
        (json!({"date": "2026-05-07", "time": "noon"}), "The time field must be a time of the day like 08:30."),
    ] {
        assert_eq!(refused(&host, "POST", &schedule, &body), sentence);
    }
}

#[test]
fn what_is_of_a_wrong_type_is_not_missed_as_well() {
    let host = TestHost::new(&PLUGIN);
    let track = [ada(&host), "/track".to_owned()].concat();
    for (path, body, sentence) in [
        (track.as_str(), json!({"latitude": "x", "longitude": 2}), "The latitude field must be a number."),
        (
            "/v1/drivers/verify-code",
            json!({"identity": "+6591234567", "code": 123456}),
            "The code field must be a text.",
        ),
    ] {
        let answer = host.call(TestCall::post(path).json(&body));
        assert_eq!((answer.status, &answer.json()["errors"]), (422, &json!([sentence])), "{body}");
    }
}
