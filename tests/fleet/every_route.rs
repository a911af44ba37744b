//! What holds for every route, gone through as the manifest lists them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    routes::{DOCUMENT, JSON, Route, Stock, right_use, routes},
    stage::Stage,
};
use crate::support::{Response, TestClient, TestHost};

#[test]
fn every_route_has_its_right_use() {
    for route in routes() {
        assert!(
            right_use(&route.operation, &Stock::empty()).is_some(),
            "{}: give it a line in fleet/routes.rs",
            route.operation
        );
    }
}

/// The component that is served is the plugin whose routes the tests go through.
#[tokio::test]
async fn what_is_served_is_what_the_tests_go_through() {
    let host = TestHost::fleet().await;
    let served = host.anonymous().get("/openapi/fleet.json").await.expect(200).json();
    let source: Value = serde_json::from_str(DOCUMENT).expect("a document of JSON");
    assert_eq!(served["paths"], source["paths"], "the component is older than its source: make plugins");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_its_right_use() {
    let stage = Stage::open().await.covers(&["* answers"]);
    for route in routes().into_iter().filter(|route| !route.streams()) {
        // An organization for each, so that none finds what another one left.
        let key = stage.host.key("fleet", &route.operation).await;
        let stock = Stock::of(&stage.host.client_of(&key)).await;
        let expected = right_use(&route.operation, &stock).expect("its right use");
        let answer = stage.call(&key, &route.method, &route.of(&stock), expected.body.unwrap_or_default()).await;
        assert_eq!(answer.status, expected.status, "{}: {}", route.operation, answer.text());
        assert_eq!(answer.header("content-type") == Some("application/json"), route.answers_json());
    }
    stage.finish().await;
}

/// Neither the id nor the body is looked at: all of these get the same bytes.
#[tokio::test]
async fn every_route_refuses_who_has_no_valid_key() {
    let (host, _, stock) = Stock::with_host().await;
    let revoked =
        host.create_key(serde_json::json!({"plugin": "fleet", "tenant": "acme", "environment": "test"})).await;
    let id = revoked["id"].as_str().expect("an id");
    let _ = host.operator().delete(&format!("/v1/keys/{id}")).await.expect(200);
    let revoked = host.client_of(revoked["key"].as_str().expect("a key"));
    let strangers = [host.anonymous(), host.client_of("tk_test_nonsense"), host.client_of(""), revoked];
    for route in routes() {
        for stranger in &strangers {
            for (path, body) in [(route.of(&stock), route.body(&stock)), (route.at("order_0000000000"), b"{".to_vec())]
            {
                let answer = stranger.send(&route.method, &path, &JSON, body).await;
                check_words(&route, &answer, (401, "API_UNAUTHENTICATED", "Invalid or missing API credentials"));
                assert!(answer.header("www-authenticate").is_some(), "{}", route.operation);
            }
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn every_route_of_another_version_is_a_400() {
    let (host, acme, stock) = Stock::with_host().await;
    let words = (400, "API_VERSION_NOT_SUPPORTED", "The requested API version is not supported");
    for route in routes() {
        for version in ["/v0/", "/v2/", "/v99/"] {
            let path = route.of(&stock).replacen("/v1/", version, 1);
            let answer = acme.send(&route.method, &path, &JSON, route.body(&stock)).await;
            check_words(&route, &answer, words);
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn every_route_with_an_id_does_not_know_the_unknown() {
    let (host, acme, stock) = Stock::with_host().await;
    let words = (404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    let long = "x".repeat(2_000);
    for route in routes().iter().filter(|route| route.has_id()) {
        // Well-formed, of another kind, malformed, hostile, long.
        let other = if route.path.starts_with("/v1/drivers") { &stock.order } else { &stock.driver };
        for id in ["order_0000000000", "driver_0000000000", other, "1", "%00", "%F0%9F%98%80", "'%20OR%201=1", &long] {
            let answer = acme.send(&route.method, &route.at(id), &JSON, route.body(&stock)).await;
            check_words(route, &answer, words);
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn every_change_without_the_body_that_its_document_requires_is_malformed() {
    let (host, acme, stock) = Stock::with_host().await;
    let document: Value = serde_json::from_str(DOCUMENT).expect("a document of JSON");
    let is_change = |route: &&Route| ["PUT", "PATCH"].contains(&route.method.as_str());
    let mut seen = 0;
    for route in routes().iter().filter(is_change) {
        let declared = &document["paths"][&route.path][route.method.to_lowercase()]["requestBody"]["required"];
        let answer = acme.send(&route.method, &route.of(&stock), &[], Vec::new()).await;
        if declared == true {
            check_words(route, &answer, (400, "MALFORMED_REQUEST", "The request is not well-formed"));
            seen += 1;
        } else {
            assert_ne!(answer.status, 400, "{}: {}", route.operation, answer.text());
        }
    }
    assert!(seen >= 20, "{seen} changes require a body");
    host.stop().await;
}

#[tokio::test]
async fn every_route_with_a_body_refuses_what_is_not_json() {
    let (host, acme, stock) = Stock::with_host().await;
    let deep = format!("{{\"meta\":{}", "[".repeat(100_000)).into_bytes();
    let closed = format!("{{\"meta\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000)).into_bytes();
    for route in routes().iter().filter(|route| route.takes_body()) {
        for body in [b"{".to_vec(), b"nonsense".to_vec(), b"\xff\xfe".to_vec(), deep.clone(), closed.clone()] {
            let answer = acme.send(&route.method, &route.of(&stock), &JSON, body).await;
            check_words(route, &answer, (400, "MALFORMED_REQUEST", "The request is not well-formed"));
        }
        let answer = acme.send(&route.method, &route.of(&stock), &JSON, b"[1]".to_vec()).await;
        check_words(route, &answer, (422, "VALIDATION_FAILED", "The body must be a JSON object."));
        let xml = [("content-type", "application/xml")];
        let answer = acme.send(&route.method, &route.of(&stock), &xml, b"<a/>".to_vec()).await;
        check_words(route, &answer, (415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json"));
        let answer = acme.send(&route.method, &route.of(&stock), &JSON, vec![b' '; route.too_large()]).await;
        check_words(route, &answer, (413, "PAYLOAD_TOO_LARGE", "The body is too large"));
    }
    host.stop().await;
}

#[tokio::test]
async fn every_path_names_its_methods() {
    let (host, acme, stock) = Stock::with_host().await;
    for route in routes() {
        let path = route.of(&stock);
        let mut methods: BTreeSet<String> = methods_of(&route.path);
        let options = allowed(&acme.send("OPTIONS", &path, &[], Vec::new()).await.expect(204));
        let answer = acme.send("TRACE", &path, &[], Vec::new()).await;
        check_words(&route, &answer, (405, "METHOD_NOT_ALLOWED", "The resource does not support this method"));
        if methods.contains("GET") {
            methods.insert("HEAD".to_owned());
        }
        methods.insert("OPTIONS".to_owned());
        assert_eq!((&options, &allowed(&answer)), (&methods, &methods), "{path}");
    }
    host.stop().await;
}

#[tokio::test]
async fn every_reading_route_answers_head_without_a_body() {
    let (host, acme, stock) = Stock::with_host().await;
    for route in routes().iter().filter(|route| route.method == "GET" && !route.streams()) {
        let get = acme.get(&route.of(&stock)).await.expect(200);
        let head = acme.send("HEAD", &route.of(&stock), &[], Vec::new()).await.expect(200);
        assert_eq!((head.body.len(), head.header("content-length")), (0, get.header("content-length")));
    }
    host.stop().await;
}

fn methods_of(path: &str) -> BTreeSet<String> {
    routes().into_iter().filter(|route| route.path == path).map(|route| route.method).collect()
}

fn allowed(answer: &Response) -> BTreeSet<String> {
    answer.header("allow").expect("Allow").split(',').map(|method| method.trim().to_owned()).collect()
}

/// The one error body of the interface, member by member: `error`, `errors`, `code`, `request_id`.
#[track_caller]
fn check_words(route: &Route, answer: &Response, (status, code, message): (u16, &str, &str)) {
    assert_eq!(answer.status, status, "{}: {}", route.operation, answer.text());
    let expected = serde_json::json!({
        "error": message, "errors": [message], "code": code,
        "request_id": answer.header("x-request-id").expect("X-Request-Id"),
    });
    assert_eq!(answer.json(), expected, "{}", route.operation);
}

/// A client that shows its key elsewhere than in `Authorization: Bearer`.
#[tokio::test]
async fn a_key_is_taken_as_bearer_as_basic_and_in_the_query() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let basic = |text: String| format!("Basic {}", STANDARD.encode(text));
    let anonymous: TestClient = host.anonymous();
    let get = |query: String, authorization: Option<String>| {
        let headers: Vec<(&str, &str)> = authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        anonymous.send("GET", &format!("/v1/orders{query}"), &headers, Vec::new())
    };
    let table = [
        (String::new(), Some(format!("Bearer {key}")), 200),
        (String::new(), Some(format!("bearer {key}")), 200),
        (String::new(), Some(basic(format!("{key}:"))), 200),
        (format!("?api_key={key}"), None, 200),
        (format!("?limit=1&api_key={key}"), Some(format!("Bearer {key}")), 200),
        (String::new(), Some(basic(format!("{key}:password"))), 401),
        (String::new(), Some(format!("Digest {key}")), 401),
        (String::new(), Some(key.clone()), 401),
        (format!("?apikey={key}"), None, 401),
        ("?api_key=tk_test_other".to_owned(), Some(format!("Bearer {key}")), 401),
    ];
    for (query, authorization, status) in table {
        let answer = get(query.clone(), authorization.clone()).await;
        assert_eq!(answer.status, status, "{query} {authorization:?}: {}", answer.text());
        let expected: Value = if status == 200 { "[]".parse().expect("JSON") } else { answer.json() };
        assert_eq!(answer.json(), expected);
    }
    host.stop().await;
}
