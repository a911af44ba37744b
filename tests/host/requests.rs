//! HTTP by RFC 9110 through the whole host: methods, request ids, CORS, slow clients, and malformed requests.

use serde_json::json;

use crate::support::{RawConnection, TestHost, component};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;

async fn host_with_settings(head: &str) -> TestHost {
    TestHost::builder().plugin("fleet", component("fleet"), GRANTS).head(head).start().await
}

#[tokio::test]
async fn head_is_answered_like_get_without_the_body() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    let (get, head) = (acme.get("/v1/orders").await.expect(200), acme.send("HEAD", "/v1/orders", &[], vec![]).await);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "content-type"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    host.anonymous().send("HEAD", "/v1/orders", &[], vec![]).await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn options_names_the_methods_and_needs_no_key() {
    let host = TestHost::fleet().await;
    let anonymous = host.anonymous();
    for (path, allow) in [
        ("/v1/orders", "POST, GET, HEAD, OPTIONS"),
        ("/v1/drivers/driver_1/track", "POST, PUT, PATCH, OPTIONS"),
        ("/docs", "GET, HEAD, OPTIONS"),
    ] {
        let response = anonymous.send("OPTIONS", path, &[], vec![]).await.expect(204);
        assert_eq!(response.header("allow"), Some(allow), "{path}");
    }
    host.stop().await;
}

#[tokio::test]
async fn valid_request_id_is_echoed() {
    let host = TestHost::fleet().await;
    for (sent, is_echoed) in
        [("trace-1.A_b", true), ("two words", false), ("<script>", false), (&*"x".repeat(65), false)]
    {
        let response = host.anonymous().send("GET", "/v1/orders", &[("x-request-id", sent)], vec![]).await.expect(401);
        assert_eq!(response.header("x-request-id") == Some(sent), is_echoed, "{sent}");
        assert_eq!(Some(response.text_at("/request_id").as_str()), response.header("x-request-id"));
    }
    host.stop().await;
}

#[tokio::test]
async fn browsers_are_served_from_configured_origins_only() {
    let host = host_with_settings("[http]\ncors-origins = [\"https://app.example.com\"]").await;
    let preflight = async |origin: &str| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        host.anonymous().send("OPTIONS", "/v1/orders", &headers, vec![]).await.expect(204)
    };
    let allowed = preflight("https://app.example.com").await;
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(allowed.header("access-control-allow-methods"), Some("POST, GET, HEAD, OPTIONS"));
    assert_eq!(preflight("https://evil.example.com").await.header("access-control-allow-origin"), None);
    host.stop().await;
    let host = TestHost::fleet().await;
    let headers = [("origin", "https://app.example.com")];
    let without_cors = host.anonymous().send("GET", "/v1/orders", &headers, vec![]).await.expect(401);
    let cors_headers = (without_cors.header("access-control-allow-origin"), without_cors.header("vary"));
    assert_eq!(cors_headers, (None, None));
    host.stop().await;
}

#[tokio::test]
async fn slow_request_heads_time_out_and_others_are_served() {
    let host = host_with_settings("[http]\nheader-timeout-ms = 100").await;
    let acme = host.client("fleet", "acme").await;
    let mut slow = RawConnection::open(host.base()).await;
    slow.send("GET /v1/orders HTTP/1.1\r\nhost: a\r\nx-slow:").await;
    acme.get("/v1/orders").await.check(200);
    assert!(!slow.read_to_end().await.contains("HTTP/1.1 2"));
    host.stop().await;
}

#[tokio::test]
async fn invalid_host_or_transfer_coding_gets_the_error_body_of_the_interface() {
    let host = TestHost::fleet().await;
    for (head, status) in [
        ("GET /v1/orders HTTP/1.1\r\n", 400),
        ("GET /v1/orders HTTP/1.1\r\nhost: a\r\nhost: b\r\n", 400),
        ("POST /v1/orders HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n", 501),
    ] {
        let mut connection = RawConnection::open(host.base()).await;
        connection.send(&format!("{head}\r\n")).await;
        let response = connection.read_to_end().await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")) && response.contains("connection: close"),
            "{response}"
        );
        assert!(response.contains("MALFORMED_REQUEST"), "{response}");
    }
    host.stop().await;
}

#[tokio::test]
async fn too_large_head_is_431() {
    let host = TestHost::fleet().await;
    let mut connection = RawConnection::open(host.base()).await;
    let head = format!("GET /v1/orders HTTP/1.1\r\nhost: a\r\nx-large: {}\r\n\r\n", "x".repeat(100_000));
    connection.send(&head).await;
    let response = connection.read_to_end().await;
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
    host.stop().await;
}

#[tokio::test]
async fn body_with_a_too_large_content_length_is_rejected_without_100_continue() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let mut connection = RawConnection::open(host.base()).await;
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nexpect: 100-continue\r\n\
         content-length: 99999999\r\n\r\n"
    );
    connection.send(&head).await;
    let response = connection.read_to_end().await;
    assert!(response.starts_with("HTTP/1.1 413") && response.contains("PAYLOAD_TOO_LARGE"), "{response}");
    host.stop().await;
}
