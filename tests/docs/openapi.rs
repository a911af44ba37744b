//! The OpenAPI documents that a host serves: sound as OpenAPI 3.1, and true over real HTTP.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use tenon_plugin::test_kit::schema::{self, resolve};

use crate::support::{Response, TestClient, TestHost, component, shipped_section};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

async fn host_and_document() -> (TestHost, Value) {
    let host = TestHost::fleet().await;
    let document = host.anonymous().get("/openapi/fleet.json").await.expect(200).json();
    (host, document)
}

/// Method, path, operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Map<String, Value>)> {
    let items = document["paths"].as_object().expect("paths").iter();
    let methods = items.flat_map(|(path, item)| {
        let operations = item.as_object().expect("a path item").iter();
        operations
            .filter(|(name, _)| METHODS.contains(&name.as_str()))
            .map(move |(name, operation)| (name, path, operation))
    });
    methods
        .map(|(method, path, operation)| (method.as_str(), path.as_str(), operation.as_object().expect("an operation")))
        .collect()
}

#[tokio::test]
async fn the_documents_are_sound_openapi_3_1() {
    let clearing = format!("grants = {:?}", tenon_bench::clearing::GRANTS);
    let host = TestHost::builder().fleet("").plugin("clearing", component("clearing"), &clearing);
    let host = host.plugin("wallet", component("wallet"), &shipped_section("wallet")).start().await;
    for plugin in ["fleet", "clearing", "wallet"] {
        let document = host.anonymous().get(&format!("/openapi/{plugin}.json")).await.expect(200).json();
        check_document(&host, &document);
    }
    host.stop().await;
}

fn check_document(host: &TestHost, document: &Value) {
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    assert_eq!(document["servers"], json!([{"url": host.base()}]));
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(document) {
        assert!(path.starts_with('/'));
        let name = operation["operationId"].as_str().expect("operationId");
        assert!(names.insert(name.to_owned()), "{name} stands there twice");
        check_parameters(document, path, operation);
        let responses = operation["responses"].as_object().expect("responses");
        for (status, response) in responses {
            assert!(status == "default" || status.parse::<u16>().is_ok_and(|s| (200..600).contains(&s)), "{status}");
            let (response, place) = (resolve(document, response), format!("{method} {path} {status}"));
            assert!(response["description"].is_string(), "{place}");
            let media = &response["content"]["application/json"];
            if let Some(example) = media.get("example") {
                schema::check(document, &media["schema"], example, &place);
            }
        }
        assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path} never succeeds");
    }
    schema::check_references(document);
    let schemes = document["components"]["securitySchemes"].as_object().expect("securitySchemes");
    for (method, path, operation) in operations(document) {
        let security = operation.get("security").or_else(|| document.get("security")).and_then(Value::as_array);
        for requirement in security.unwrap_or_else(|| panic!("{method} {path} is open to everybody")) {
            assert!(requirement.as_object().expect("an object").keys().all(|name| schemes.contains_key(name)));
        }
    }
}

/// Each name in the path is declared, required, and no other one is.
fn check_parameters(document: &Value, path: &str, operation: &Map<String, Value>) {
    let in_path: BTreeSet<&str> =
        path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
    let none = Vec::new();
    let declared = operation.get("parameters").and_then(Value::as_array).unwrap_or(&none);
    let declared: Vec<&Value> = declared.iter().map(|parameter| resolve(document, parameter)).collect();
    for parameter in &declared {
        assert!(parameter["name"].is_string() && parameter["schema"].is_object(), "{path}: {parameter}");
        assert!(["path", "query", "header"].contains(&parameter["in"].as_str().unwrap_or_default()));
    }
    let required = declared.iter().filter(|parameter| parameter["in"] == "path" && parameter["required"] == true);
    assert_eq!(required.filter_map(|parameter| parameter["name"].as_str()).collect::<BTreeSet<_>>(), in_path, "{path}");
}

/// A first day over real HTTP with the examples of the document: each answer is of the declared schema, and the same as
/// its example but for ids, times and numbers that are drawn.
#[tokio::test]
async fn the_examples_are_true_over_real_http() {
    let (host, document) = host_and_document().await;
    let acme = host.client("fleet", "acme").await;
    let mut day = operations(&document);
    // A stream has no end; `fleet::stream` reads it.
    day.retain(|(_, _, operation)| operation["responses"]["200"]["content"].get("text/event-stream").is_none());
    let stage =
        |method: &str, path: &str| (path.contains("order"), path.contains('{'), method == "delete", method != "post");
    day.sort_by_key(|(method, path, _)| stage(method, path));
    // Of each sort of resource, the last.
    let mut ids: BTreeMap<&str, String> = BTreeMap::new();
    for (method, path, operation) in day {
        let sort = path.split('/').nth(2).expect("a sort of resources");
        let mut filled = path.replace("{id}", ids.get(sort).map_or("", String::as_str));
        if let Some((endpoint, _)) = filled.split_once("/deliveries/{event}") {
            let event = acme.post(&format!("{endpoint}/test"), json!({})).await.expect(200).text_at("/id");
            filled = filled.replace("{event}", &event);
        }
        let answer = run(&acme, (method, &filled), operation).await;
        let declared = resolve(&document, &operation["responses"][answer.status.to_string()]);
        let media = &declared["content"]["application/json"];
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        schema::check(&document, &media["schema"], &answer.json(), &format!("{method} {path}"));
        // What came of a request that nobody waits for is not the same twice.
        let repeatable = (method != "put" || !path.ends_with("{id}")) && !path.contains("/deliveries");
        if let Some(example) = media.get("example").filter(|_| repeatable) {
            assert_eq!(without_what_is_drawn(answer.json()), without_what_is_drawn(example.clone()), "{method} {path}");
        }
        if answer.status == 201 {
            ids.insert(sort, answer.text_at("/id"));
        }
    }
    host.stop().await;
}

async fn run(client: &TestClient, (method, path): (&str, &str), operation: &Map<String, Value>) -> Response {
    let body = operation.get("requestBody").map(|body| body["content"]["application/json"]["example"].to_string());
    let headers = [("content-type", "application/json")];
    client.send(&method.to_uppercase(), path, &headers, body.unwrap_or_default().into_bytes()).await
}

#[tokio::test]
async fn refusals_are_those_of_the_document() {
    let (host, document) = host_and_document().await;
    let acme = host.client("fleet", "acme").await;
    let refusals = [
        ("401", host.anonymous().get("/v1/orders").await),
        ("404", acme.get("/v1/orders/order_0000000000").await),
        ("422", acme.post("/v1/orders", json!({"pickup": "a"})).await),
        ("400", acme.send("POST", "/v1/orders", &[("content-type", "application/json")], b"{".to_vec()).await),
    ];
    for (status, answer) in refusals {
        assert_eq!(answer.status.to_string(), status);
        let declared = resolve(&document, &document["paths"]["/v1/orders/{id}"]["put"]["responses"][status]);
        let media = &declared["content"]["application/json"];
        schema::check(&document, &media["schema"], &answer.json(), status);
        assert_eq!(without_what_is_drawn(answer.json()), without_what_is_drawn(media["example"].clone()));
    }
    host.stop().await;
}

/// A plugin without a document has no page; one with it is in the index and in /docs.
#[tokio::test]
async fn the_pages_show_what_is_served() {
    let hello = r#"grants = ["records"]"#;
    let host = TestHost::builder().fleet("").plugin("hello", component("hello-plugin"), hello).start().await;
    let anonymous = host.anonymous();
    let index = anonymous.get("/").await.expect(200).json();
    let named: Vec<&str> =
        index["plugins"].as_array().expect("plugins").iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(named.iter().collect::<BTreeSet<_>>(), ["fleet", "hello"].iter().collect());
    for plugin in index["plugins"].as_array().expect("plugins") {
        if let Some(path) = plugin["openapi"].as_str() {
            let _ = anonymous.get(path).await.expect(200).json();
        }
    }
    let docs = anonymous.get("/docs").await.expect(200).text();
    assert!(docs.contains("/v1/drivers/{id}/track"), "{docs}");
    assert!(docs.contains("/hello/{name}"), "{docs}");
    host.stop().await;
}

/// Ids keep their prefix, tracking numbers their letters, times become a word.
fn without_what_is_drawn(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "request_id" => (name, json!("an id")),
                "secret" => (name, json!("a secret")),
                _ => (name, without_what_is_drawn(value)),
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(without_what_is_drawn).collect(),
        Value::String(text) => json!(drawn(&text).unwrap_or(text)),
        other => other,
    }
}

fn drawn(text: &str) -> Option<String> {
    let is_id = |suffix: &str| [10, 32].contains(&suffix.len()) && suffix.bytes().all(|b| b.is_ascii_alphanumeric());
    if let Some((prefix, _)) = text.split_once('_').filter(|(_, suffix)| is_id(suffix)) {
        return Some(format!("an id of {prefix}"));
    }
    if text.len() == 27 && text.ends_with('Z') && text.as_bytes()[10] == b'T' {
        return Some("a time".to_owned());
    }
    let middle = text.get(3..text.len().saturating_sub(2)).filter(|digits| digits.len() == 10);
    middle.filter(|digits| digits.bytes().all(|b| b.is_ascii_digit())).map(|digits| text.replace(digits, "0123456789"))
}
