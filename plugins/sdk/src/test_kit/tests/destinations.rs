//! Tests of destinations in memory, with a plugin that forwards requests to the host.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{TestCall, TestHost};
use crate::destinations::{Destination, DestinationRefusal};
use crate::{Answer, Call, Outcome, Pair, Plugin, Refusal, get, json, post};

static PARTNERS: Plugin = Plugin::new("partners", "0.1.0").routes(&[
    post("/partners/{name}", "put", put),
    get("/partners/{name}", "show", show),
    post("/partners/{name}/remove", "remove", remove),
]);

#[derive(Deserialize)]
struct DestinationInput {
    url: String,
    kind: String,
    #[serde(default)]
    settings: Vec<(String, String)>,
    #[serde(default)]
    secrets: Vec<(String, String)>,
}

fn put(call: &Call) -> Outcome {
    let input: DestinationInput = call.json()?;
    let pairs = |pairs: Vec<(String, String)>| pairs.into_iter().map(|(name, value)| Pair { name, value }).collect();
    let destination = Destination {
        name: call.parameter("name").to_owned(),
        base_url: input.url,
        kind: input.kind,
        settings: pairs(input.settings),
        secrets: pairs(input.secrets),
    };
    match call.destinations().put(&destination) {
        Ok(()) => Ok(Answer::created("{}".to_owned())),
        Err(refusal) => Err(Refusal::new(422, code(&refusal), "No.").into()),
    }
}

fn code(refusal: &DestinationRefusal) -> &'static str {
    match refusal {
        DestinationRefusal::NotAUrl => "not-a-url",
        DestinationRefusal::HttpsRequired => "https-required",
        DestinationRefusal::AddressNotAllowed => "address-not-allowed",
        DestinationRefusal::Malformed(_) => "malformed",
        DestinationRefusal::Other(_) => "other",
    }
}

fn show(call: &Call) -> Outcome {
    let found = call.destinations().get(call.parameter("name"));
    Ok(Answer::ok(json::to_text(&found.map(|found| json!([found.base_url, found.kind, found.secrets.len()])))?))
}

fn remove(call: &Call) -> Outcome {
    Ok(Answer::ok(call.destinations().remove(call.parameter("name")).to_string()))
}

fn put_on(host: &TestHost, body: &Value) -> u16 {
    host.call(TestCall::post("/partners/bank").json(body)).status
}

#[test]
fn destination_is_stored_and_its_secrets_are_not_returned() {
    let host = TestHost::new(&PARTNERS);
    let body = json!({"url": "https://bank.example/v1", "kind": "bearer", "secrets": [["token", "abc"]]});
    assert_eq!(put_on(&host, &body), 201);
    let answer = host.call(TestCall::get("/partners/bank"));
    assert_eq!(answer.json(), json!(["https://bank.example/v1", "bearer", 0]));
    assert_eq!(host.destination("bank").unwrap().secrets.len(), 1);
    let other_tenant = host.call(TestCall::get("/partners/bank").tenant("umbra/test"));
    assert_eq!(other_tenant.json(), Value::Null);
    let remove = || host.call(TestCall::post("/partners/bank/remove")).json();
    assert_eq!((remove(), remove()), (json!(true), json!(false)));
}

#[test]
fn invalid_destination_is_refused() {
    let host = TestHost::new(&PARTNERS);
    for (url, kind, expected) in [
        ("bank", "none", "not-a-url"),
        ("https://127.0.0.1/", "none", "address-not-allowed"),
        ("https://bank.example/?a", "none", "malformed"),
        ("https://bank.example", "digest", "malformed"),
        ("https://bank.example", "bearer", "malformed"),
    ] {
        let answer = host.call(TestCall::post("/partners/bank").json(&json!({"url": url, "kind": kind})));
        assert!(answer.refused && answer.body.contains(expected), "{url} {kind}: {}", answer.body);
    }
    let insecure = json!({"url": "http://bank.example", "kind": "none"});
    let live = host.call(TestCall::post("/partners/bank").json(&insecure).tenant("acme/live"));
    assert!(live.body.contains("https-required"), "{}", live.body);
    assert!(host.destination("bank").is_none());
}
