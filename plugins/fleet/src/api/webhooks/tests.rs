//! Endpoints of webhooks as callers see them: real handlers on the host in memory.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::subscriptions::Attempt;
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;
use crate::rules::webhook::EVENTS;

const PATH: &str = "/v1/webhook-endpoints";

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post(PATH).json(body))
}

fn warehouse() -> Value {
    json!({"url": "https://hooks.example.com/fleet", "events": ["order.created"]})
}

/// Its path.
fn created(host: &TestHost) -> String {
    format!("{PATH}/{}", create(host, &warehouse()).json()["id"].as_str().unwrap())
}

fn post(host: &TestHost, path: &str) -> TestAnswer {
    host.call(TestCall::post(path))
}

fn read(host: &TestHost, path: &str) -> Value {
    host.call(TestCall::get(path)).json()
}

fn order(host: &TestHost) -> Value {
    host.call(TestCall::post("/v1/orders").json(&json!({"pickup": "a", "dropoff": "b"}))).json()
}

#[test]
fn a_created_endpoint_can_be_read_without_its_secret() {
    let host = host();
    let mut endpoint = create(&host, &warehouse()).json();
    let secret = endpoint.as_object_mut().unwrap().remove("secret").unwrap();
    assert!(secret.as_str().unwrap().starts_with("whsec_"));
    let path = format!("{PATH}/{}", endpoint["id"].as_str().unwrap());
    assert_eq!(read(&host, &path), endpoint);
    assert_eq!(read(&host, PATH), json!([endpoint]));
    let expected = (&json!("enabled"), &json!("test"), &json!("2024-03-12"), &json!(false));
    let found = (&endpoint["status"], &endpoint["mode"], &endpoint["version"], &endpoint["is_listening_on_all_events"]);
    assert_eq!(found, expected);
}

#[test]
fn the_newest_endpoint_comes_first() {
    let host = host();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, create(&host, &warehouse()).json()["id"].clone());
        host.advance_ms(1);
    }
    let listed = |query: &str| -> Vec<Value> {
        read(&host, &format!("{PATH}{query}")).as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
    };
    assert_eq!(listed(""), ids);
    assert_eq!(listed("?limit=1&offset=1"), ids[1..2]);
    assert_eq!(host.call(TestCall::get(&format!("{PATH}?limit=-1"))).status, 422);
}

#[test]
fn what_cannot_be_called_is_refused_with_the_field() {
    let table = [
        (json!({}), "The url field is required."),
        (
            json!({"url": "nonsense"}),
            "The url field is not accepted: this is not an address of the form https://host/path.",
        ),
        (
            json!({"url": "https://10.0.0.1/"}),
            "The url field is not accepted: the host is a private address, which may not be called.",
        ),
        (json!({"url": 7}), "The url field must be a text."),
        (
            json!({"url": "https://a.example.com", "events": "all"}),
            "The events field must be a list of names of events.",
        ),
        (json!({"url": "https://a.example.com", "mode": "live"}), "The mode field must be the mode of the API key."),
    ];
    let host = host();
    for (body, sentence) in table {
        let answer = create(&host, &body);
        assert_eq!((answer.status, answer.json()["error"].as_str()), (422, Some(sentence)), "{body}");
    }
    assert_eq!(read(&host, PATH), json!([]));
    let http = TestCall::post(PATH).json(&json!({"url": "http://a.example.com"})).tenant("acme/live");
    assert_eq!(host.call(http).json()["error"], "The url field must be an address with https://.");
}

#[test]
fn an_update_changes_what_is_there_and_keeps_the_rest() {
    let host = host();
    let path = created(&host);
    host.advance_ms(1_000);
    let changed = host.call(TestCall::patch(&path).json(&json!({"description": "Warehouse"}))).json();
    assert_eq!((&changed["description"], &changed["events"]), (&json!("Warehouse"), &json!(["order.created"])));
    assert_ne!(changed["updated_at"], changed["created_at"]);
    assert!(changed.get("secret").is_none());
    let cleared = host.call(TestCall::put(&path).json(&json!({"description": null, "events": []}))).json();
    assert_eq!((&cleared["description"], &cleared["is_listening_on_all_events"]), (&Value::Null, &json!(true)));
    for url in ["", "ftp://a.example.com"] {
        assert_eq!(host.call(TestCall::put(&path).json(&json!({ "url": url }))).status, 422, "{url}");
    }
    assert_eq!(read(&host, &path), cleared);
}

#[test]
fn a_disabled_endpoint_says_why_until_it_is_enabled() {
    let host = host();
    let path = created(&host);
    assert_eq!(post(&host, &format!("{path}/disable")).json()["status"], "disabled");
    assert_eq!(post(&host, &format!("{path}/enable")).json()["status"], "enabled");
    host.disable_endpoint(path.rsplit('/').next().unwrap(), "answered 410");
    let changed = host.call(TestCall::patch(&path).json(&json!({"description": "a"}))).json();
    assert_eq!((&changed["status"], &changed["disabled_reason"]), (&json!("disabled"), &json!("answered 410")));
    assert_eq!(read(&host, &path), changed);
    let enabled = post(&host, &format!("{path}/enable")).json();
    assert_eq!((&enabled["status"], &enabled["disabled_reason"]), (&json!("enabled"), &Value::Null));
}

#[test]
fn a_rotation_shows_the_new_secret_once() {
    let host = host();
    let first = create(&host, &warehouse()).json();
    let path = format!("{PATH}/{}", first["id"].as_str().unwrap());
    let rotated = post(&host, &format!("{path}/rotate")).json();
    assert!(rotated["secret"].is_string());
    assert_ne!(rotated["secret"], first["secret"]);
    assert!(read(&host, &path).get("secret").is_none());
}

#[test]
fn a_deleted_endpoint_is_gone() {
    let host = host();
    let path = created(&host);
    order(&host);
    let deleted = host.call(TestCall::delete(&path)).json();
    assert_eq!((&deleted["object"], &deleted["deleted"]), (&json!("webhook_endpoint"), &json!(true)));
    assert_eq!(host.call(TestCall::get(&path)).status, 404);
    assert_eq!(host.deliveries(), []);
}

#[test]
fn deliveries_go_on_where_a_page_ended() {
    let host = host();
    let path = created(&host);
    let orders: Vec<Value> = (0..3).map(|_| order(&host)["id"].clone()).collect();
    let page = host.call(TestCall::get(&format!("{path}/deliveries?limit=2&status=pending")));
    let subjects = |answer: &TestAnswer| -> Vec<Value> {
        answer.json().as_array().unwrap().iter().map(|entry| entry["subject"].clone()).collect()
    };
    assert_eq!(subjects(&page), [orders[2].clone(), orders[1].clone()]);
    let link = &page.headers.iter().find(|(name, _)| name == "link").unwrap().1;
    let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    let rest = host.call(TestCall::get(next));
    assert_eq!((subjects(&rest), rest.headers.len()), (vec![orders[0].clone()], 0));
    for query in ["?after=nonsense", "?status=lost", "?limit=-1"] {
        assert_eq!(host.call(TestCall::get(&format!("{path}/deliveries{query}"))).status, 422, "{query}");
    }
}

#[test]
fn what_was_given_up_is_seen_and_recovered() {
    let host = host();
    let path = created(&host);
    order(&host);
    let (endpoint, event) = (path.rsplit('/').next().unwrap(), host.deliveries()[0].delivery.event.clone());
    let (outcome, answer) = ("status".to_owned(), "busy".to_owned());
    let attempt = Attempt { number: 0, at: host.now(), duration: 5, outcome, status: Some(503), answer };
    host.record_attempt(endpoint, &event, attempt, "failed");
    let attempts = read(&host, &format!("{path}/deliveries/{event}/attempts"));
    assert_eq!((&attempts[0]["response_status"], &attempts[0]["response_body"]), (&json!(503), &json!("busy")));
    let recover = |since: Value| host.call(TestCall::post(&format!("{path}/recover")).json(&since));
    assert_eq!(recover(json!({})).json()["error"], "The since field is required.");
    assert_eq!(recover(json!({"since": "yesterday"})).status, 422);
    assert_eq!(recover(json!({"since": "2026-05-07T08:00:00Z"})).status, 200);
    assert_eq!(read(&host, &format!("{path}/deliveries"))[0]["status"], "retrying");
}

#[test]
fn an_event_is_delivered_once_more_where_there_is_one() {
    let host = host();
    order(&host);
    let event = host.events()[0].id.clone();
    let path = created(&host);
    assert_eq!(host.call(TestCall::get(&format!("{path}/deliveries/{event}/attempts"))).status, 404);
    assert_eq!(post(&host, &format!("{path}/deliveries/{event}/redeliver")).status, 200);
    assert_eq!(host.deliveries()[0].delivery.event, event);
    for unknown in ["event_00000000000000000000000000000000", "event_1", "order_0000000000"] {
        assert_eq!(post(&host, &format!("{path}/deliveries/{unknown}/redeliver")).status, 404, "{unknown}");
    }
}

#[test]
fn a_test_event_goes_to_its_endpoint_alone() {
    let host = host();
    let (path, _) = (created(&host), created(&host));
    let sent = post(&host, &format!("{path}/test")).json();
    let [delivery] = host.deliveries().try_into().unwrap();
    assert_eq!((json!(delivery.delivery.event), path.ends_with(&delivery.endpoint)), (sent["id"].clone(), true));
    assert_eq!((delivery.payload, host.events()), (json!({"webhook_id": delivery.endpoint}), Vec::new()));
}

#[test]
fn an_endpoint_may_listen_to_every_event_but_tests() {
    let manifest: Value = serde_json::from_str(&PLUGIN.describe()).unwrap();
    let declared = manifest["event-types"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap());
    let declared: BTreeSet<&str> = declared.filter(|name| *name != super::TEST_EVENT).collect();
    assert_eq!(declared, EVENTS.iter().copied().collect());
}
