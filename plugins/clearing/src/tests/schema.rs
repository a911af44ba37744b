//! Bodies in the OpenAPI document, compared with the bodies that are accepted: required members, members that may be null, and
//! bodies that may be left out.

use serde_json::{Map, Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost, schema};

use super::support::*;

const ENDPOINTS: &str = "/v1/clearing/webhook-endpoints";

/// An operation with a body: a host on which it succeeds, its path there, and a body that is accepted.
struct Case {
    host: TestHost,
    method: &'static str,
    path: String,
    body: Value,
}

fn case(method: &'static str, template: &str) -> Case {
    let by_number = "/v1/clearing/accounts/62001".to_owned();
    let account = json!({"account_number": "62001"});
    let (host, path, body) = match (method, template) {
        ("post", "/v1/clearing/payments") => {
            let mut body = minimal(AUTHORISE);
            body["operation"] = json!("credit-transfer-authorisation");
            body["partner"] = json!("bank-a");
            (platform(json!({})), template.to_owned(), body)
        }
        ("post", "/v1/clearing/payments/{uetr}/settlement") => {
            let host = platform(json!({}));
            submit(&host, AUTHORISE, json!({}));
            send(&host, AUTHORISED, &minimal(AUTHORISED));
            (host, template.replace("{uetr}", UETR), json!({"settlement_date": "2026-05-07"}))
        }
        ("post", "/v1/clearing/accounts") => {
            (partner(json!({})), template.to_owned(), json!({"account_number": "777"}))
        }
        ("post", "/v1/clearing/accounts/import") => {
            (partner(json!({})), template.to_owned(), json!({"accounts": [account]}))
        }
        ("put", "/v1/clearing/accounts/{id}") => (partner(json!({})), by_number, json!({"status": "open"})),
        ("post", "/v1/clearing/partners") => {
            (platform(json!({})), template.to_owned(), json!({"id": "bank-b", "payment_schemes": []}))
        }
        ("put", "/v1/clearing/partners/{id}") => {
            (platform(json!({})), template.replace("{id}", "bank-a"), json!({"payment_schemes": []}))
        }
        ("put", "/v1/clearing/destinations/{id}") => {
            (partner(json!({})), template.replace("{id}", "bank"), json!({"base_url": "https://bank.example"}))
        }
        ("post", ENDPOINTS) => (partner(json!({})), template.to_owned(), json!({"url": "https://bank.example"})),
        (_, rest) if rest.starts_with(ENDPOINTS) => {
            let host = partner(json!({}));
            let made = send(&host, ENDPOINTS, &json!({"url": "https://bank.example"})).json();
            let body = if method == "put" { json!({"events": []}) } else { json!({"since": "2026-05-07T00:00:00Z"}) };
            (host, rest.replace("{id}", made["id"].as_str().unwrap()), body)
        }
        (_, message) => (ready(message), message.to_owned(), minimal(message)),
    };
    Case { host, method, path, body }
}

/// Makes a host that accepts the message at this path.
fn ready(path: &str) -> TestHost {
    if [AUTHORISED, TRANSFERRED, DEBITED].contains(&path) {
        let host = platform(json!({}));
        let submitted = [(AUTHORISED, AUTHORISE), (TRANSFERRED, TRANSFER), (DEBITED, DEBIT)];
        let submitted = submitted.into_iter().find(|(response, _)| *response == path).unwrap().1;
        submit(&host, submitted, json!({}));
        return host;
    }
    let host = partner(json!({}));
    if path == COMPLETE {
        send(&host, AUTHORISE, &minimal(AUTHORISE));
    }
    host
}

/// Method, path and the schema of the body.
fn bodies(document: &Value) -> Vec<(&'static str, String, Map<String, Value>)> {
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in ["post", "put", "patch"] {
            let body = &operations[method]["requestBody"];
            if body.is_object() {
                assert_eq!(body["required"], true, "{method} {path}");
                let schema = schema::resolve(document, &body["content"]["application/json"]["schema"]);
                found.push((method, path.clone(), schema.as_object().unwrap().clone()));
            }
        }
    }
    assert!(found.len() >= 20, "{}", found.len());
    found
}

fn answer(method: &'static str, path: &str, body: impl FnOnce(&mut Value)) -> (u16, String) {
    let mut case = case(method, path);
    body(&mut case.body);
    let request = if case.method == "put" { TestCall::put(&case.path) } else { TestCall::post(&case.path) };
    let answer = case.host.call(request.json(&case.body));
    (answer.status, answer.body)
}

#[test]
fn a_body_that_the_document_requires_is_required() {
    let document: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    for (method, path, _) in bodies(&document) {
        let case = case(method, &path);
        let request = if method == "put" { TestCall::put(&case.path) } else { TestCall::post(&case.path) };
        let answer = case.host.call(request);
        let (status, code, _) = refusal(&answer);
        assert_eq!((status, code.as_str()), (400, "INBOUND_BAD_REQUEST"), "{method} {path}: {}", answer.body);
    }
}

#[test]
fn members_are_required_and_nullable_as_the_document_says() {
    let document: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    for (method, path, schema) in bodies(&document) {
        let taken = answer(method, &path, |_| {});
        assert!(taken.0 < 300, "{method} {path}: {taken:?}");
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, member) in schema["properties"].as_object().unwrap() {
            let member = schema::resolve(&document, member);
            let is_nullable = member["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
                || member["oneOf"].as_array().is_some_and(|parts| parts.contains(&json!({"type": "null"})));
            let expected = |is_taken: bool| if is_taken { 200..=202 } else { 422..=422 };
            let null = answer(method, &path, |body| body[name] = Value::Null);
            assert!(expected(is_nullable).contains(&null.0), "{method} {path}, {name} null: {null:?}");
            let absent = answer(method, &path, |body| drop(body.as_object_mut().unwrap().remove(name)));
            let is_required = required.contains(&name.as_str());
            // Which of its members a payment requires depends on its operation, beyond those that the document names.
            if !is_required && path == "/v1/clearing/payments" {
                continue;
            }
            assert!(expected(!is_required).contains(&absent.0), "{method} {path} without {name}: {absent:?}");
        }
    }
}
