//! Tests of the operator requests by area: the operator name is passed on, and unknown options and members are
//! rejected.

use std::sync::Arc;

use http::Request;
use tower::ServiceExt;

use super::{Body, TOKEN, listener, send};

#[tokio::test]
async fn webhook_task_and_journal_requests_reject_unknown_options() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    for (line, body, expected) in [
        ("POST /v1/webhooks/redeliver", r#"{"endpoint":"ep","event":"event_1"}"#, 200),
        ("POST /v1/webhooks/recover", r#"{"endpoint":"ep","since":"2026-01-02T03:04:05Z","tenant":"acme/test"}"#, 200),
        ("POST /v1/webhooks/redeliver", r#"{"endpoint":"ep","event":"event_1","evnet":"x"}"#, 422),
        ("POST /v1/webhooks/recover", r#"{"endpoint":"ep","since":"yesterday"}"#, 422),
        ("GET /v1/webhooks/deliveries?stat=failed", "", 400),
        ("GET /v1/webhooks/endpoints?limit=1001", "", 400),
        ("GET /v1/webhooks/attempts?endpoint=ep", "", 400),
        ("GET /v1/webhooks/attempts?endpoint=ep&event=event_1", "", 200),
        ("DELETE /v1/webhooks/endpoints", "", 405),
        ("GET /v1/audit/lines?plugin=notes&since=2026-01-02T03:04:05Z&request=r&after=7&limit=5", "", 200),
        ("GET /v1/audit/lines?since=yesterday", "", 400),
        ("GET /v1/audit/lines?limit=0", "", 400),
        ("GET /v1/audit/chains?plugin=notes&tenant=acme/test", "", 200),
        ("GET /v1/audit/chains?limit=1", "", 400),
        ("GET /v1/tasks?kind=timer&given_up=true", "", 200),
        ("GET /v1/tasks?kind=nothing", "", 400),
        ("GET /v1/tasks", "", 400),
        ("POST /v1/tasks/retry", r#"{"kind":"timer","id":"a:b"}"#, 404),
        ("POST /v1/tasks/drop", r#"{"kind":"effect","id":"a:b","force":true}"#, 422),
        ("GET /v1/outbox?plugin=notes&tenant=acme/test&limit=3", "", 200),
        ("GET /v1/outbox?limit=0", "", 400),
        ("GET /v1/outbox?endpoint=ep", "", 400),
    ] {
        let (status, response) = send(&host, line, &json, body).await;
        assert_eq!(status, expected, "{line} {body} {response}");
    }
    let requests = host.requests.lock().clone();
    assert_eq!(requests[..2], ["redeliver ep event_1 ada", "recover ep 2026-01-02T03:04:05.000Z ada"]);
}

#[tokio::test]
async fn seed_responses_are_not_cacheable_and_errors_do_not_repeat_the_phrase() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    let name = r#"{"plugin":"notes","tenant":"acme/test"}"#;
    let copy = r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability able"}"#;
    for (line, body) in [("GET /v1/seeds", ""), ("POST /v1/seeds/export", name), ("POST /v1/seeds/import", copy)] {
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request =
            request.header("authorization", format!("Bearer {TOKEN}")).header("content-type", "application/json");
        let response = listener(Arc::clone(&host)).oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["cache-control"], "no-store");
    }
    for body in [
        r#""abandon ability able""#,
        r#"{"plugin":"notes","tenant":"acme/test","abandon ability able":"phrase"}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":["abandon"]}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability"#,
        r#"{"plugin":"notes","phrase":"abandon","phrase":"abandon"}"#,
    ] {
        let (status, response) = send(&host, "POST /v1/seeds/import", &json, body).await;
        assert!(status.is_client_error() && !response.to_string().contains("abandon"), "{body}: {response}");
    }
    let requests = host.requests.lock().clone();
    assert_eq!(requests, ["export notes acme/test operator", "import notes acme/test abandon ability able operator"]);
}

#[tokio::test]
async fn network_requests_reject_unknown_options_and_carry_the_operator_name() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    let control = |control: &str| format!(r#"{{"blockchain":"base","control":{control}}}"#);
    for (line, body, expected) in [
        ("GET /v1/chains", String::new(), 200),
        ("GET /v1/chains/balance?blockchain=base&address=0x1", String::new(), 200),
        ("GET /v1/chains/balance?blockchain=base&address=0x1&network=side", String::new(), 400),
        ("GET /v1/chains/balance?blockchain=base", String::new(), 400),
        ("GET /v1/chains/transaction?blockchain=base&network=main&hash=0xab", String::new(), 404),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":2}"#), 200),
        ("POST /v1/chains/control", control(r#"{"kind":"silent","silence":"taken"}"#), 200),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":-1}"#), 422),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":2,"depth":3}"#), 422),
        ("POST /v1/chains/control", control(r#"{"kind":"explode"}"#), 422),
        ("POST /v1/chains/control", r#"{"control":{"kind":"off"}}"#.to_owned(), 422),
    ] {
        let (status, response) = send(&host, line, &json, &body).await;
        assert_eq!(status, expected, "{line} {body} {response}");
    }
    assert_eq!(*host.requests.lock(), ["Mine { blocks: 2 } ada", "Silent { silence: Taken } ada"]);
}
