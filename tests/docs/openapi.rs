//! The OpenAPI documents that a host serves: valid OpenAPI 3.1, and consistent with the responses over HTTP.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tenon_plugin::test_kit::schema::{self, resolve};

use crate::{
    fleet::routes::{Stock, routes},
    support::{Response, TestClient, TestHost, component, shipped_section},
};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

async fn host_and_document() -> (TestHost, Value) {
    let host = TestHost::fleet().await;
    let document = host.anonymous().get("/openapi/fleet.json").await.expect(200).json();
    (host, document)
}

/// Returns the method, path and description of each operation of a document.
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
async fn documents_are_valid_openapi_3_1() {
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
        assert!(names.insert(name.to_owned()), "duplicate operationId {name}");
        check_parameters(document, path, operation);
        let responses = operation["responses"].as_object().expect("responses");
        for (status, response) in responses {
            assert!(status == "default" || status.parse::<u16>().is_ok_and(|s| (200..600).contains(&s)), "{status}");
            let (response, context) = (resolve(document, response), format!("{method} {path} {status}"));
            assert!(response["description"].is_string(), "{context}");
            let media = &response["content"]["application/json"];
            if let Some(example) = media.get("example") {
                schema::check(document, &media["schema"], example, &context);
            }
        }
        assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path} never succeeds");
    }
    schema::check_references(document);
    let schemes = document["components"]["securitySchemes"].as_object().expect("securitySchemes");
    for (method, path, operation) in operations(document) {
        let security = operation.get("security").or_else(|| document.get("security")).and_then(Value::as_array);
        for requirement in security.unwrap_or_else(|| panic!("{method} {path} has no security requirement")) {
            assert!(requirement.as_object().expect("an object").keys().all(|name| schemes.contains_key(name)));
        }
    }
}

/// Checks that the declared path parameters are required and are exactly the variables of the path.
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

/// Sends each example request of the document with existing ids and compares the response with the document. Each
/// request uses its own organization. The plugin's own tests check that responses equal the examples.
#[tokio::test(flavor = "multi_thread")]
async fn example_requests_are_accepted_over_http() {
    let (host, document) = host_and_document().await;
    let mut rejected = Vec::new();
    for route in routes().into_iter().filter(|route| !route.streams()) {
        let client = host.client("fleet", &route.operation).await;
        let stock = Stock::of(&client).await;
        let operation = document["paths"][&route.path][route.method.to_lowercase()].as_object().expect("an operation");
        let operation: Map<String, Value> =
            operation.iter().map(|(name, value)| (name.clone(), with_ids(value.clone(), &stock))).collect();
        let response = send_example(&client, (&route.method, &route.of(&stock)), &operation).await;
        let context = format!("{} {}", route.method, route.path);
        let declared = resolve(
            &document,
            &document["paths"][&route.path][route.method.to_lowercase()]["responses"][response.status.to_string()],
        );
        assert!(declared.is_object(), "{context}: {} is not declared: {}", response.status, response.text());
        let is_expected = response.status < 300 || REJECTED_EXAMPLES.contains(&route.operation.as_str());
        if !is_expected {
            rejected.push(format!("{context}: {}", response.text()));
        }
        if route.answers_json() {
            schema::check(&document, &declared["content"]["application/json"]["schema"], &response.json(), &context);
        }
    }
    assert!(rejected.is_empty(), "{rejected:#?}");
    host.stop().await;
}

/// Operations whose example is rejected because the stock lacks its precondition: an order in a later state, a label, a
/// driver's password, code or token, or another organization.
const REJECTED_EXAMPLES: [&str; 12] = [
    "start-order",
    "update-activity",
    "update-activity-patch",
    "find-by-qr",
    "capture-qr-of",
    "login-driver-with-sms",
    "login-driver",
    "verify-driver-code",
    "reset-driver-password",
    "change-driver-password",
    "register-device",
    "switch-driver-organization",
];

/// Replaces ids of the examples with ids of the stock.
fn with_ids(value: Value, stock: &Stock) -> Value {
    match value {
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, with_ids(value, stock))).collect(),
        Value::Array(items) => items.into_iter().map(|item| with_ids(item, stock)).collect(),
        Value::String(text) => json!(stock.like(&text).unwrap_or(&text)),
        other => other,
    }
}

async fn send_example(client: &TestClient, (method, path): (&str, &str), operation: &Map<String, Value>) -> Response {
    let example = operation.get("requestBody").map(|body| &body["content"]["application/json"]["example"]);
    // An operation without required members has no example.
    let body = example.map(|example| if example.is_null() { "{}".to_owned() } else { example.to_string() });
    let headers = [("content-type", "application/json")];
    client.send(&method.to_uppercase(), path, &headers, body.unwrap_or_default().into_bytes()).await
}

#[tokio::test]
async fn error_responses_match_the_document() {
    let (host, document) = host_and_document().await;
    let acme = host.client("fleet", "acme").await;
    let responses = [
        ("401", host.anonymous().get("/v1/orders").await),
        ("404", acme.get("/v1/orders/order_0000000000").await),
        ("422", acme.post("/v1/orders", json!({"pickup": "a"})).await),
        ("400", acme.send("POST", "/v1/orders", &[("content-type", "application/json")], b"{".to_vec()).await),
    ];
    for (status, response) in responses {
        assert_eq!(response.status.to_string(), status);
        let declared = resolve(&document, &document["paths"]["/v1/orders/{id}"]["put"]["responses"][status]);
        let media = &declared["content"]["application/json"];
        schema::check(&document, &media["schema"], &response.json(), status);
    }
    host.stop().await;
}

/// The index lists every plugin. A plugin with an OpenAPI document is also in /docs.
#[tokio::test]
async fn index_and_docs_list_the_served_plugins() {
    let hello = r#"grants = ["records"]"#;
    let host = TestHost::builder().fleet("").plugin("hello", component("hello-plugin"), hello).start().await;
    let anonymous = host.anonymous();
    let index = anonymous.get("/").await.expect(200).json();
    let names: Vec<&str> =
        index["plugins"].as_array().expect("plugins").iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>(), ["fleet", "hello"].iter().collect());
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
