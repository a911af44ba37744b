//! Tests of webhook endpoints in memory, with a plugin that forwards requests to the host.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{TENANT, TestAnswer, TestCall, TestHost};
use crate::subscriptions::{Attempt, Endpoint, Signature, SubscriptionRefusal};
use crate::{Answer, Call, EventType, Outcome, Plugin, Refusal, get, json, post};

static HOOKS: Plugin = Plugin::new("hooks", "0.1.0")
    .routes(&[
        post("/endpoints/{id}", "put", put),
        get("/endpoints/{id}", "show", show),
        post("/endpoints/{id}/remove", "remove", remove),
        post("/endpoints/{id}/rotate", "rotate", rotate),
        post("/endpoints/{id}/test", "test", test),
        post("/endpoints/{id}/recover", "recover", recover),
        post("/endpoints/{id}/{event}/redeliver", "redeliver", redeliver),
        get("/endpoints/{id}/deliveries", "deliveries", deliveries),
        get("/endpoints/{id}/{event}/attempts", "attempts", attempts),
        post("/events/{subject}", "emit", emit),
    ])
    .event_types(&[
        EventType::new("note.written", "", "{}"),
        EventType::new("note.tested", "", "{}").envelope(r#"["{payload}"]"#),
    ])
    .envelope(r#"{"id":"{event-id}","data":"{payload}"}"#);

#[derive(Default, Deserialize)]
#[serde(default)]
struct EndpointInput {
    url: Option<String>,
    types: Vec<String>,
    subjects: Vec<String>,
    disabled: bool,
    algorithm: Option<String>,
    key: Option<String>,
}

fn put(call: &Call) -> Outcome {
    let input: EndpointInput = call.json()?;
    let key = input.key.unwrap_or_else(|| "endpoint".to_owned());
    let signature = |algorithm| Signature { header: "signature".to_owned(), prefix: String::new(), algorithm, key };
    let endpoint = Endpoint {
        id: call.parameter("id").to_owned(),
        url: input.url.unwrap_or_else(|| "https://hooks.example.com/a".to_owned()),
        event_types: input.types,
        subjects: input.subjects,
        enabled: !input.disabled,
        signatures: input.algorithm.map(signature).into_iter().collect(),
        note: "{}".to_owned(),
    };
    match call.subscriptions().put(&endpoint) {
        Ok(()) => Ok(Answer::created(json::to_text(&call.subscriptions().secret(&endpoint.id))?)),
        Err(refusal) => Err(Refusal::new(422, code(&refusal), "No.").into()),
    }
}

fn code(refusal: &SubscriptionRefusal) -> &'static str {
    match refusal {
        SubscriptionRefusal::NotAUrl(_) => "not-a-url",
        SubscriptionRefusal::HttpsRequired => "https-required",
        SubscriptionRefusal::AddressNotAllowed(_) => "address-not-allowed",
        SubscriptionRefusal::TooMany(_) => "too-many",
        SubscriptionRefusal::Malformed(_) => "malformed",
    }
}

fn show(call: &Call) -> Outcome {
    let state = call.subscriptions().get(call.parameter("id"));
    Ok(Answer::ok(json::to_text(&state.map(|state| json!([state.endpoint.enabled, state.disabled])))?))
}

fn remove(call: &Call) -> Outcome {
    Ok(Answer::ok(call.subscriptions().remove(call.parameter("id")).to_string()))
}

fn rotate(call: &Call) -> Outcome {
    Ok(Answer::ok(json::to_text(&call.subscriptions().rotate_secret(call.parameter("id")))?))
}

fn test(call: &Call) -> Outcome {
    Ok(Answer::ok(json::to_text(&call.subscriptions().send_test(call.parameter("id"), "note.tested", "{}"))?))
}

fn recover(call: &Call) -> Outcome {
    let since: u64 = call.json()?;
    Ok(Answer::ok(call.subscriptions().recover(call.parameter("id"), since).to_string()))
}

fn redeliver(call: &Call) -> Outcome {
    Ok(Answer::ok(call.subscriptions().redeliver(call.parameter("id"), call.parameter("event")).to_string()))
}

fn deliveries(call: &Call) -> Outcome {
    let (state, after) = (call.query("state"), call.query("after"));
    let page = call.subscriptions().deliveries(call.parameter("id"), state, after, 2);
    let found = page.map(|page| {
        let subjects: Vec<String> = page.deliveries.into_iter().map(|delivery| delivery.subject).collect();
        (subjects, page.next)
    });
    Ok(Answer::ok(json::to_text(&found)?))
}

fn attempts(call: &Call) -> Outcome {
    let found = call.subscriptions().attempts(call.parameter("id"), call.parameter("event"));
    let found = found.map(|all| all.iter().map(|attempt| attempt.number).collect::<Vec<u32>>());
    Ok(Answer::ok(json::to_text(&found)?))
}

fn emit(call: &Call) -> Outcome {
    Ok(Answer::ok(json::to_text(&call.emit("note.written", call.parameter("subject"), "{\"n\":1}"))?))
}

fn host() -> TestHost {
    TestHost::new(&HOOKS)
}

fn send(host: &TestHost, method: &str, path: &str) -> Value {
    host.call(TestCall::new(method, path)).json()
}

fn put_endpoint(host: &TestHost, id: &str, input: Value) -> TestAnswer {
    host.call(TestCall::post(&format!("/endpoints/{id}")).json(&input))
}

/// Returns endpoint and subject of each delivery.
fn delivered_subjects(host: &TestHost) -> Vec<(String, String)> {
    host.deliveries().into_iter().map(|entry| (entry.endpoint, entry.delivery.subject)).collect()
}

fn attempt(at: u64) -> Attempt {
    let (outcome, answer) = ("status".to_owned(), "busy".to_owned());
    Attempt { number: 0, at, duration: 5, outcome, status: Some(503), answer }
}

#[test]
fn event_is_delivered_to_every_subscribed_endpoint() {
    let host = host();
    put_endpoint(&host, "all", json!({}));
    put_endpoint(&host, "typed", json!({"types": ["note.read"]}));
    put_endpoint(&host, "about-a", json!({"subjects": ["a"], "disabled": true}));
    host.call(TestCall::post("/endpoints/other-tenant").json(&json!({})).tenant("umbra/test"));
    let id = send(&host, "POST", "/events/a");
    send(&host, "POST", "/events/b");
    let pairs = [("about-a", "a"), ("all", "a"), ("all", "b")];
    assert_eq!(delivered_subjects(&host), pairs.map(|(endpoint, subject)| (endpoint.to_owned(), subject.to_owned())));
    let first = &host.deliveries()[0];
    assert_eq!((json!(first.delivery.event), &first.payload, first.tenant.as_str()), (id, &json!({"n": 1}), TENANT));
    assert_eq!(first.delivery.state, "pending");
}

#[test]
fn new_endpoint_gets_earlier_events_only_by_redelivery() {
    let host = host();
    let event = send(&host, "POST", "/events/a");
    put_endpoint(&host, "late", json!({}));
    assert_eq!(host.deliveries(), []);
    assert_eq!(send(&host, "POST", &format!("/endpoints/late/{}/redeliver", event.as_str().unwrap())), true);
    assert_eq!(host.deliveries()[0].delivery.next_at, Some(host.now()));
    assert_eq!(send(&host, "POST", "/endpoints/late/event_0/redeliver"), false);
}

#[test]
fn invalid_url_is_refused() {
    let table = [
        ("nonsense", "not-a-url"),
        ("https://", "not-a-url"),
        ("https://a b.example.com", "not-a-url"),
        ("https://ann:pw@hooks.example.com", "not-a-url"),
        ("https://intranet/", "not-a-url"),
        ("ftp://hooks.example.com/", "not-a-url"),
        ("http://127.0.0.1:8080/", "address-not-allowed"),
        ("http://localhost/", "address-not-allowed"),
        ("http://10.0.0.8/", "address-not-allowed"),
        ("http://169.254.169.254/", "address-not-allowed"),
        ("http://[::1]:80/", "address-not-allowed"),
    ];
    let host = host();
    for (url, code) in table {
        let answer = put_endpoint(&host, "a", json!({ "url": url }));
        assert_eq!((answer.status, answer.json()["code"].as_str()), (422, Some(code)), "{url}");
    }
    assert_eq!(put_endpoint(&host, "a", json!({"algorithm": "md5"})).json()["code"], "malformed");
    assert_eq!(
        put_endpoint(&host, "a", json!({"algorithm": "hmac-sha512", "key": "password"})).json()["code"],
        "malformed"
    );
    assert_eq!(put_endpoint(&host, "a", json!({"algorithm": "hmac-sha512", "key": "api-key"})).status, 201);
    assert_eq!(put_endpoint(&host, "a", json!({"url": "http://hooks.example.com/a?b=c"})).status, 201);
}

#[test]
fn live_tenant_requires_https() {
    let put = |url: &str| {
        let call = TestCall::post("/endpoints/a").json(&json!({ "url": url })).tenant("acme/live");
        host().call(call).status
    };
    assert_eq!((put("http://hooks.example.com"), put("https://hooks.example.com")), (422, 201));
}

#[test]
fn secret_changes_only_by_rotation() {
    let host = host();
    let secret = put_endpoint(&host, "a", json!({})).json();
    assert!(secret.as_str().unwrap().starts_with("whsec_"));
    assert_eq!(put_endpoint(&host, "a", json!({"disabled": true})).json(), secret);
    assert_ne!(put_endpoint(&host, "b", json!({})).json(), secret);
    let rotated = send(&host, "POST", "/endpoints/a/rotate");
    assert_ne!(rotated, secret);
    assert_eq!(put_endpoint(&host, "a", json!({})).json(), rotated);
    assert_eq!(send(&host, "POST", "/endpoints/none/rotate"), Value::Null);
}

#[test]
fn deliveries_are_paged_newest_first() {
    let host = host();
    put_endpoint(&host, "a", json!({}));
    for subject in ["1", "2", "3"] {
        send(&host, "POST", &format!("/events/{subject}"));
    }
    let page = send(&host, "GET", "/endpoints/a/deliveries");
    assert_eq!(page[0], json!(["3", "2"]));
    let rest = send(&host, "GET", &format!("/endpoints/a/deliveries?after={}", page[1].as_str().unwrap()));
    assert_eq!(rest, json!([["1"], null]));
    assert_eq!(send(&host, "GET", "/endpoints/a/deliveries?after=nonsense"), Value::Null);
    assert_eq!(send(&host, "GET", "/endpoints/none/deliveries"), Value::Null);
}

#[test]
fn recovery_retries_deliveries_that_failed_since_a_time() {
    let host = host();
    put_endpoint(&host, "a", json!({}));
    let event = send(&host, "POST", "/events/1");
    let event = event.as_str().unwrap();
    host.record_attempt("a", event, attempt(host.now()), "failed");
    assert_eq!(send(&host, "GET", &format!("/endpoints/a/{event}/attempts")), json!([1]));
    assert_eq!(send(&host, "GET", "/endpoints/a/event_0/attempts"), Value::Null);
    let recover = |since: u64| host.call(TestCall::post("/endpoints/a/recover").json(&since)).json();
    assert_eq!((recover(host.now() + 1), host.deliveries()[0].delivery.state.as_str()), (json!(true), "failed"));
    assert_eq!((recover(host.now()), host.deliveries()[0].delivery.state.as_str()), (json!(true), "retrying"));
    assert_eq!(host.call(TestCall::post("/endpoints/none/recover").json(&0)).json(), false);
}

#[test]
fn test_event_has_one_delivery_and_is_not_in_the_feed() {
    let host = host();
    put_endpoint(&host, "a", json!({"types": ["note.written"]}));
    put_endpoint(&host, "b", json!({}));
    assert!(send(&host, "POST", "/endpoints/a/test").is_string());
    assert_eq!(delivered_subjects(&host), [("a".to_owned(), "a".to_owned())]);
    assert_eq!(host.events(), []);
    assert_eq!(send(&host, "POST", "/endpoints/none/test"), Value::Null);
}

#[test]
fn put_enables_a_disabled_endpoint_and_removal_deletes_its_deliveries() {
    let host = host();
    put_endpoint(&host, "a", json!({}));
    send(&host, "POST", "/events/1");
    host.disable_endpoint("a", "answered 410");
    assert_eq!(send(&host, "GET", "/endpoints/a"), json!([true, "answered 410"]));
    put_endpoint(&host, "a", json!({}));
    assert_eq!(send(&host, "GET", "/endpoints/a"), json!([true, null]));
    assert_eq!(send(&host, "POST", "/endpoints/a/remove"), true);
    assert_eq!((send(&host, "GET", "/endpoints/a"), host.deliveries()), (Value::Null, Vec::new()));
    assert_eq!(send(&host, "POST", "/endpoints/a/remove"), false);
}

#[test]
fn manifest_contains_the_envelopes() {
    let manifest: Value = serde_json::from_str(&HOOKS.describe()).unwrap();
    assert_eq!(manifest["envelope"], json!({"id": "{event-id}", "data": "{payload}"}));
    assert_eq!(manifest["event-types"][0].get("envelope"), None);
    assert_eq!(manifest["event-types"][1]["envelope"], json!(["{payload}"]));
}
