//! A request and its response.

use super::*;
use proptest::prelude::*;

#[tokio::test]
async fn call_receives_the_request_without_the_credential() {
    let server = TestServer::start().await;
    let line = format!("POST /v1/notes?a=%201&api_key={}&b", server.key);
    let headers =
        ["content-type: application/json", "x-colour: red", "x-other: no", "idempotency-key: k-1", "x-request-id: r-1"];
    let reply = server.request(&line, &headers, "{\"a\":1}").await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        serde_json::json!({
            "operation": "create", "method": "POST", "path": "/v1/notes", "parameters": [],
            "query": [["a", " 1"], ["b", ""]], "raw_query": "a=%201&b", "headers": [["x-colour", "red"]],
            "content": "{\"a\":1}", "tenant": "acme/test", "kind": "api-key", "request_id": "r-1",
            "context": [["base-url", "https://public.example"], ["client-address", "127.0.0.1"], ["idempotency-key", "k-1"]],
        })
    );
    assert_eq!(reply.header("x-request-id"), Some("r-1"));
    assert_eq!(reply.header("x-note"), Some("yes"));
    assert_eq!(reply.header("server"), None);
    assert!(reply.header("date").is_some() && reply.header("content-length").is_some());
    assert_eq!(*server.observed.0.lock(), ["notes 7 create 200"]);
}

#[tokio::test]
async fn key_is_accepted_in_four_places_and_invalid_key_is_rejected_in_each() {
    let server = TestServer::start().await;
    let wrong = server.key.replace("tk_test_", "tk_live_");
    for (key, status) in [(&server.key, 200), (&wrong, 401), (&"nonsense".to_owned(), 401)] {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let basic = format!("authorization: Basic {}", STANDARD.encode(format!("{key}:")));
        for header in [format!("authorization: Bearer {key}"), basic, format!("x-api-key: {key}")] {
            assert_eq!(server.request_anonymously("GET /v1/notes", &[&header], "").await.status, status, "{header}");
        }
        let reply = server.request_anonymously(&format!("GET /v1/notes?api_key={key}"), &[], "").await;
        assert_eq!(reply.status, status);
    }
    assert_eq!(server.request_anonymously("GET /v1/notes", &[], "").await.status, 401);
}

#[tokio::test]
async fn different_credentials_are_rejected_and_equal_ones_accepted() {
    let server = TestServer::start().await;
    let other = server.keys.create(new_key("notes"), NOW).await.unwrap();
    let both = |key: &str| format!("x-api-key: {key}");
    assert_eq!(server.request("GET /v1/notes", &[&both(&server.key)], "").await.status, 200);
    assert_eq!(server.request("GET /v1/notes", &[&both(&other.text)], "").await.status, 401);
}

#[tokio::test]
async fn errors_use_the_error_bodies_of_the_interface_and_the_request_id() {
    let server = TestServer::start().await;
    let reply = server.request_anonymously("GET /v1/notes", &["x-request-id: r-9"], "").await;
    assert_eq!((reply.status, reply.body.as_str()), (401, "{\"error\":\"who are you? r-9\"}"));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    let reply = server.request_anonymously("GET /v9/notes", &[], "").await;
    assert_eq!((reply.status, reply.body.as_str()), (400, "{\"error\":\"no such version\"}"));
    let reply = server.request("GET /v1/unknown", &[], "").await;
    assert_eq!((reply.status, reply.json()["code"].as_str()), (404, Some("not-found")));
    let reply = server.request("GET /v1/failing", &[], "").await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    let reply = server.request("GET /v1/broken", &[], "").await;
    assert_eq!((reply.status, reply.json()["code"].as_str()), (500, Some("plugin-failed")));
}

#[tokio::test]
async fn route_with_scopes_requires_them() {
    let server = TestServer::start().await;
    for (scopes, status) in [(vec![], 200), (vec!["admin"], 200), (vec!["read"], 403)] {
        let scopes = scopes.into_iter().map(str::to_owned).collect();
        let key = server.keys.create(NewKey { scopes, ..new_key("*") }, NOW).await.unwrap();
        let header = format!("x-api-key: {}", *key.text);
        assert_eq!(server.request_anonymously("GET /v1/scoped", &[&header], "").await.status, status);
    }
}

#[tokio::test]
async fn open_route_needs_no_key_and_rejects_an_invalid_one() {
    let server = TestServer::start().await;
    let reply = server.request_anonymously("GET /v1/open", &[], "").await;
    assert_eq!((reply.status, reply.json()["kind"].clone()), (200, "anonymous".into()));
    assert_eq!(server.request("GET /v1/open", &[], "").await.json()["tenant"], "acme/test");
    assert_eq!(server.request_anonymously("GET /v1/open", &["x-api-key: bad"], "").await.status, 401);
}

#[tokio::test]
async fn head_options_and_405_follow_rfc_9110() {
    let server = TestServer::start().await;
    let get = server.request("GET /v1/notes/n1", &["x-request-id: r"], "").await;
    let head = server.request("HEAD /v1/notes/n1", &["x-request-id: r"], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    let options = server.request_anonymously("OPTIONS /v1/notes", &[], "").await;
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, POST, OPTIONS")));
    assert_eq!(server.request_anonymously("OPTIONS *", &[], "").await.status, 204);
    let refused = server.request("DELETE /v1/notes", &[], "").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, POST, OPTIONS")));
}

#[tokio::test]
async fn body_that_is_too_large_is_413_with_and_without_a_length() {
    let server = TestServer::start().await;
    let large = format!("\"{}\"", "x".repeat(100));
    assert_eq!(server.request("POST /v1/notes", &[], &large).await.status, 413);
    let head = format!(
        "POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ntransfer-encoding: chunked\r\n\r\n",
        server.key
    );
    let chunked = format!("{head}64\r\n{}\r\n0\r\n\r\n", "1".repeat(100));
    assert_eq!(RawResponse::parse(&server.send(chunked.as_bytes()).await).status, 413);
    // Rejected because of the declared length, before any byte of the body arrived.
    let announced = head.replace("transfer-encoding: chunked", "content-length: 1000000");
    let reply = RawResponse::parse(&server.send(announced.as_bytes()).await);
    assert_eq!((reply.status, reply.header("connection")), (413, Some("close")));
}

#[tokio::test]
async fn caller_that_is_rejected_while_writing_receives_the_response() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let half = "x".repeat(400_000);
    let head = "POST /v1/notes HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 800000\r\n\r\n";
    stream.write_all(format!("{head}{half}").as_bytes()).await.unwrap();
    while server.observed.0.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    stream.write_all(half.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.expect("the connection was reset");
    let reply = RawResponse::parse(&reply);
    assert_eq!((reply.status, reply.header("cache-control")), (401, Some("no-store")));
}

#[tokio::test]
async fn media_types_and_encodings_are_checked() {
    let server = TestServer::start().await;
    let post = async |header: &str, body: &str| server.request("POST /v1/notes", &[header], body).await;
    let refused = post("content-type: text/plain", "hello").await;
    assert_eq!((refused.status, refused.header("accept")), (415, Some("application/json, text/csv")));
    assert_eq!(post("content-encoding: gzip", "{}").await.status, 415);
    assert_eq!(post("content-encoding: identity\r\ncontent-encoding: gzip", "{}").await.status, 415);
    assert_eq!(post("content-type: application/json\r\ncontent-type: text/csv", "{}").await.status, 400);
    assert_eq!(post("content-type: text/csv", "a,b").await.json()["content"], serde_json::json!(["text/csv", "a,b"]));
    assert_eq!(post("content-type: application/json", "").await.json()["content"], serde_json::Value::Null);
}

#[tokio::test]
async fn malformed_requests_are_400() {
    let server = TestServer::start().await;
    let post = async |line: &str, header: &str| server.request(line, &[header], "{}").await;
    assert_eq!(post("POST /v1/notes?a=%FF", "x: y").await.status, 400);
    let long = format!("idempotency-key: {}", "k".repeat(256));
    for header in ["idempotency-key: a b", "idempotency-key: é", &long, "idempotency-key: a\r\nidempotency-key: b"] {
        let reply = post("POST /v1/notes", header).await;
        assert_eq!((reply.status, reply.json()["code"].as_str()), (400, Some("malformed-request")), "{header}");
    }
    let head = format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-api-key: {}\r\n", server.key);
    let not_utf8 = [head.as_bytes(), b"content-length: 3\r\n\r\n\"\xff\""].concat();
    assert_eq!(RawResponse::parse(&server.send(&not_utf8).await).status, 400);
}

#[tokio::test]
async fn request_must_have_exactly_one_host() {
    let server = TestServer::start().await;
    for (head, status) in [
        ("GET /v1/open HTTP/1.1\r\n", 400),
        ("GET http://api.test/v1/open HTTP/1.1\r\n", 400),
        ("GET /v1/open HTTP/1.1\r\nhost: a\r\nhost: a\r\n", 400),
        ("GET /v1/open HTTP/1.1\r\nhost: a\r\nhost: b\r\n", 400),
        ("GET /v1/open HTTP/1.0\r\nhost: a\r\nhost: b\r\n", 400),
        ("GET /v1/open HTTP/1.1\r\nhost: me@a\r\n", 400),
        ("GET /v1/open HTTP/1.1\r\nhost: a b\r\n", 400),
        ("GET / HTTP/1.1\r\n", 400),
        ("GET /v1/open HTTP/1.1\r\nhost: [::1]:80\r\nconnection: close\r\n", 200),
        ("GET /v1/open HTTP/1.1\r\nhost:\r\nconnection: close\r\n", 200),
        ("GET /v1/open HTTP/1.0\r\n", 200),
    ] {
        let reply = RawResponse::parse(&server.send(format!("{head}\r\n").as_bytes()).await);
        assert_eq!(reply.status, status, "{head}");
        assert!(status == 200 || reply.json()["code"] == "malformed-request", "{head}: {}", reply.body);
    }
}

#[tokio::test]
async fn unsupported_transfer_coding_is_rejected_and_closes_the_connection() {
    let server = TestServer::start().await;
    let head = format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n", server.key);
    for codings in ["gzip, chunked", "gzip\r\ntransfer-encoding: chunked", "chunked\r\ntransfer-encoding: chunked"] {
        let text = format!("{head}transfer-encoding: {codings}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
        let reply = RawResponse::parse(&server.send(text.as_bytes()).await);
        assert_eq!((reply.status, reply.header("connection")), (501, Some("close")), "{codings}");
    }
    let text = format!("{head}transfer-encoding: Chunked\r\nconnection: close\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
    assert_eq!(RawResponse::parse(&server.send(text.as_bytes()).await).status, 200);
}

#[tokio::test]
async fn expectation_other_than_100_continue_is_417() {
    let server = TestServer::start().await;
    for (expected, status) in [("tea", 417), ("100-continue, tea", 417), ("100-Continue", 200)] {
        let reply = server.request("POST /v1/notes", &[&format!("expect: {expected}")], "{}").await;
        // The final response follows the interim response "100 Continue".
        let text =
            reply.body.split_once("HTTP/1.1 ").map_or(reply.status.to_string(), |(_, rest)| rest[..3].to_owned());
        assert_eq!(text, status.to_string(), "{expected}");
    }
}

#[tokio::test]
async fn caller_over_its_rate_receives_retry_after() {
    let limits = PluginLimits { rate_per_second: 1, rate_burst: 2, ..PluginLimits::default() };
    let server = TestServer::start_with(Setup { limits, ..Setup::default() }).await;
    let first = server.request("GET /v1/notes", &[], "").await;
    assert_eq!(first.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(first.header("ratelimit-policy"), Some("\"default\";q=2;w=2"));
    let mut replies = Vec::new();
    for _ in 0..5 {
        replies.push(server.request("GET /v1/notes", &[], "").await);
    }
    let refused = replies.iter().find(|reply| reply.status == 429).expect("five more at once exceed the burst");
    assert_eq!((refused.header("retry-after"), refused.header("x-ratelimit-remaining")), (Some("1"), Some("0")));
    let other = server.keys.create(new_key("notes"), NOW).await.unwrap();
    let header = format!("x-api-key: {}", *other.text);
    assert_eq!(server.request_anonymously("GET /v1/notes", &[&header], "").await.status, 200);
}

#[tokio::test]
async fn browsers_may_call_only_from_configured_origins() {
    let mut setup = Setup::default();
    setup.http.cors_origins = vec!["https://app.test".to_owned()];
    let server = TestServer::start_with(setup).await;
    let preflight_headers = [
        "origin: https://app.test",
        "access-control-request-method: POST",
        "access-control-request-headers: x-api-key",
    ];
    let preflight = server.request_anonymously("OPTIONS /v1/notes", &preflight_headers, "").await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.test"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, POST, OPTIONS"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("x-api-key"));
    let call = server.request("GET /v1/notes", &["origin: https://app.test"], "").await;
    assert_eq!(call.header("access-control-allow-origin"), Some("https://app.test"));
    let other = server.request("GET /v1/notes", &["origin: https://evil.test"], "").await;
    assert_eq!((other.header("access-control-allow-origin"), other.header("vary")), (None, Some("origin")));
    let off = TestServer::start().await.request("GET /v1/notes", &preflight_headers, "").await;
    assert_eq!(off.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn host_pages_list_the_served_interfaces() {
    let server = TestServer::start().await;
    let index = server.request_anonymously("GET /", &[], "").await.json();
    assert_eq!(index["plugins"][0]["name"], "notes");
    assert_eq!(index["plugins"][0]["versions"], serde_json::json!(["v1"]));
    let openapi = server.request_anonymously("GET /openapi/notes.json", &[], "").await.json();
    assert_eq!(openapi["servers"], serde_json::json!([{ "url": "https://public.example" }]));
    assert_eq!(openapi["info"]["title"], "Notes");
    let page = server.request_anonymously("GET /", &["accept: text/html"], "").await;
    assert!(page.body.contains("Notes &amp; &lt;things&gt;"));
    let docs = server.request_anonymously("GET /docs", &[], "").await;
    assert!(docs.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(docs.body.contains("Write a &lt;b&gt;note") && docs.body.contains("https://public.example/v1/notes"));
    assert!(docs.body.contains("curl -g &#39;https://public.example/v1/notes/{id}&#39;"), "{}", docs.body);
    assert!(docs.body.contains("No such note") && docs.body.contains("Which note"), "the target of $ref");
    assert_eq!(server.request_anonymously("HEAD /docs", &[], "").await.body, "");
    assert_eq!(server.request_anonymously("POST /docs", &[], "").await.status, 405);
    assert_eq!(server.request_anonymously("GET /openapi/none.json", &[], "").await.status, 404);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn arbitrary_bytes_do_not_break_the_server(
        path in proptest::collection::vec(any::<u8>(), 0..80),
        tail in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = TestServer::start().await;
            let version = b" HTTP/1.1\r\nhost: a\r\nconnection: close\r\n".as_slice();
            let bytes = [b"GET /v1/notes/", path.as_slice(), version, &tail, b"\r\n\r\n"].concat();
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            read_to_end(&mut stream).await;
            assert_eq!(server.request("GET /v1/notes", &[], "").await.status, 200);
        });
    }
}

#[test]
fn page_is_rendered_once_per_route_table() {
    let table = RouteTable::build(vec![notes(PluginLimits::default())]).unwrap();
    let head = http::Request::new(()).into_parts().0;
    let render = |path: &str| {
        let page = pages::Page::of(&table, path).unwrap();
        match page.render(&table, &head, "https://public.example").into_body() {
            Body::Whole(bytes) => bytes,
            _ => panic!("{path} is no whole body"),
        }
    };
    for path in ["/", "/docs", "/openapi/notes.json"] {
        assert_eq!(render(path).as_ptr(), render(path).as_ptr(), "{path}");
    }
    assert_ne!(render("/"), render("/docs"));
}
