//! Requests of operators: invalid ones are rejected by every route, errors have a stable shape, responses with secrets
//! are not cached, and the journal names the operator.

use serde_json::{Value, json};

use crate::support::{Response, TestHost, eventually};

/// The listener reduces the name to "ada.admin".
const OPERATOR: (&str, &str) = ("x-tenon-operator", "ada.<admin>");
const JSON: (&str, &str) = ("content-type", "application/json");
const WORDS: &str = "test test test test test test test test test test test junk";

/// Sends a request ("GET /v1/keys") as an operator.
async fn send(host: &TestHost, line: &str, body: &str) -> Response {
    let (method, path) = line.split_once(' ').unwrap();
    host.operator().send(method, path, &[OPERATOR, JSON], body.as_bytes().to_vec()).await
}

/// Returns the actions of the operator in the journal, oldest first.
async fn journaled_actions(host: &TestHost) -> Vec<String> {
    let lines = host.operator().get("/v1/journal?operator=ada.admin&limit=100").await.expect(200).json();
    let lines = lines.as_array().unwrap().iter().rev();
    lines.map(|line| line["action"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn unknown_and_invalid_options_are_rejected_by_every_route_that_takes_options() {
    let host = TestHost::fleet().await;
    for line in [
        "GET /v1/journal?who=ada",
        "GET /v1/journal?limit=x",
        "GET /v1/plugins/journal?since=yesterday",
        "PUT /v1/plugins/fleet/component?allow-braking=true",
        "PUT /v1/plugins/fleet/component?allow-breaking=%ff",
        "POST /v1/plugins/fleet/rollback?from=0123",
        "POST /v1/plugins/fleet/profile?second=1",
        "GET /v1/webhooks/endpoints?state=failed",
        "GET /v1/webhooks/deliveries?stat=failed",
        "GET /v1/webhooks/attempts?endpoint=ep",
        "GET /v1/webhooks/attempts?endpoint=ep&event=event_1&limit=1",
        "GET /v1/tasks",
        "GET /v1/tasks?kind=nothing",
        "GET /v1/tasks?kind=timer&state=waiting",
        "GET /v1/outbox?endpoint=ep",
        "GET /v1/audit/lines?since=yesterday",
        "GET /v1/audit/chains?limit=1",
        "GET /v1/chains/balance?blockchain=base",
        "GET /v1/chains/balance?blockchain=base&address=0x1&network=side",
        "GET /v1/chains/transaction?blockchain=base",
    ] {
        let error = send(&host, line, "").await.expect(400).json();
        assert_eq!(error["error"], "invalid", "{line}: {error}");
        assert!(error["hint"].as_str().unwrap().starts_with("The option"), "{line}: {error}");
    }
    assert_eq!(journaled_actions(&host).await, Vec::<String>::new());
    host.stop().await;
}

#[tokio::test]
async fn options_are_rejected_by_every_route_that_takes_none() {
    let host = TestHost::fleet().await;
    for route in [
        "GET /v1/plugins",
        "GET /v1/plugins/fleet/routes",
        "GET /v1/plugins/fleet/versions",
        "POST /v1/plugins/fleet/check",
        "GET /v1/keys",
        "POST /v1/keys",
        "DELETE /v1/keys/key_1",
        "GET /v1/clients",
        "POST /v1/clients",
        "POST /v1/clients/client_1/rotate",
        "DELETE /v1/clients/client_1",
        "POST /v1/oauth/rotate-keys",
        "POST /v1/webhooks/redeliver",
        "POST /v1/webhooks/recover",
        "POST /v1/tasks/retry",
        "POST /v1/tasks/drop",
        "GET /v1/ledger/check",
        "POST /v1/secrets/rotate",
        "GET /v1/seeds",
        "POST /v1/seeds/export",
        "POST /v1/seeds/import",
        "GET /v1/chains",
        "POST /v1/chains/control",
        "GET /v1/backup",
        "POST /v1/backup",
    ] {
        for query in ["x=1", "limit=1", "x=%ff"] {
            let error = send(&host, &format!("{route}?{query}"), "").await.expect(400).json();
            assert_eq!(error["error"], "invalid", "{route} {query}: {error}");
            assert_eq!(error["hint"], "The route takes no options.", "{route} {query}: {error}");
        }
    }
    send(&host, "GET /v1/keys?", "").await.check(200);
    for probe in ["/healthz", "/readyz", "/metrics"] {
        send(&host, &format!("GET {probe}?x=1"), "").await.check(200);
    }
    assert_eq!(journaled_actions(&host).await, Vec::<String>::new());
    host.stop().await;
}

#[tokio::test]
async fn limit_of_every_list_is_from_1_to_1000() {
    let host = TestHost::fleet().await;
    for list in [
        "journal?",
        "plugins/journal?",
        "webhooks/endpoints?",
        "webhooks/deliveries?",
        "tasks?kind=timer&",
        "outbox?",
        "audit/lines?",
    ] {
        let path = |limit: u32| format!("/v1/{list}limit={limit}");
        for limit in [0, 1_001] {
            let error = host.operator().get(&path(limit)).await.expect(400).json();
            assert_eq!(error["message"], format!("limit must be from 1 to 1000, not {limit}."), "{list}");
        }
        for limit in [1, 1_000] {
            host.operator().get(&path(limit)).await.check(200);
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn body_with_unknown_or_invalid_members_is_rejected_by_every_route() {
    let host = TestHost::fleet().await;
    let control = |control: Value| json!({"blockchain": "base", "control": control});
    for (path, body) in [
        ("/v1/keys", json!({"plugin": "fleet", "tenant": "acme", "environment": "test", "scope": ["read"]})),
        ("/v1/keys", json!({"plugin": "fleet", "tenant": "acme", "environment": "prod"})),
        ("/v1/clients", json!({"plugin": "fleet", "tenant": "acme", "environment": "test", "scope": ["read"]})),
        ("/v1/webhooks/redeliver", json!({"endpoint": "ep", "event": "event_1", "evnet": "event_2"})),
        ("/v1/webhooks/recover", json!({"endpoint": "ep", "since": "yesterday"})),
        ("/v1/tasks/retry", json!({"kind": "timer"})),
        ("/v1/tasks/drop", json!({"kind": "effect", "id": "a:b", "force": true})),
        ("/v1/seeds/export", json!({"plugin": "fleet", "tenant": "acme/test", "phrase": WORDS})),
        ("/v1/seeds/import", json!({"plugin": "fleet", "tenant": "acme/test", "words": WORDS})),
        ("/v1/seeds/import", json!({"plugin": "fleet", "tenant": "acme/test", "phrase": [WORDS]})),
        ("/v1/chains/control", json!({"control": {"kind": "off"}})),
        ("/v1/chains/control", control(json!({"kind": "mine", "blocks": -1}))),
        ("/v1/chains/control", control(json!({"kind": "mine", "blocks": 2, "depth": 3}))),
        ("/v1/chains/control", control(json!({"kind": "explode"}))),
        ("/v1/backup", json!({"folder": "/backups/one", "thorough": true})),
    ] {
        let error = send(&host, &format!("POST {path}"), &body.to_string()).await.expect(422).json();
        assert_eq!(error["error"], "invalid", "{path} {body}: {error}");
        assert!(error["hint"].as_str().unwrap().starts_with("Send "), "{path} {body}: {error}");
        assert!(!error.to_string().contains("junk"), "{path} {body}: {error}");
        let text = [OPERATOR, ("content-type", "text/plain")];
        host.operator().send("POST", path, &text, body.to_string().into_bytes()).await.check(415);
        send(&host, &format!("POST {path}"), "{").await.check(400);
    }
    assert_eq!(journaled_actions(&host).await, Vec::<String>::new());
    host.stop().await;
}

#[tokio::test]
async fn error_has_a_code_a_message_a_hint_and_reasons() {
    let host = TestHost::fleet().await;
    for (line, status, code) in [
        ("GET /v1/nothing", 404, "not-found"),
        ("DELETE /v1/plugins", 405, "method-not-allowed"),
        ("DELETE /v1/webhooks/endpoints", 405, "method-not-allowed"),
        ("PUT /v1/plugins/other/component", 404, "not-found"),
        ("POST /v1/plugins/other/check", 404, "not-found"),
        ("GET /v1/plugins/other/routes", 404, "not-found"),
        ("GET /v1/plugins/other/versions", 404, "not-found"),
        ("POST /v1/plugins/%ff/rollback", 400, "invalid"),
        ("DELETE /v1/keys/key_9", 404, "not-found"),
        ("GET /v1/webhooks/attempts?endpoint=ep&event=event_1", 404, "not-found"),
        ("GET /v1/chains/transaction?blockchain=bass&hash=0xab", 404, "not-found"),
        ("GET /v1/backup", 404, "not-found"),
        ("POST /v1/plugins/fleet/rollback", 409, "refused"),
    ] {
        let response = send(&host, line, "").await.expect(status);
        let error = response.json();
        let is_text = |member: &str| error[member].as_str().is_some_and(|text| !text.is_empty());
        assert_eq!(error["error"], code, "{line}: {error}");
        assert!(is_text("message") && is_text("hint"), "{line}: {error}");
        assert_eq!(error["reasons"].is_array(), status == 409, "{line}: {error}");
        assert_eq!(response.header("allow").is_some(), status == 405, "{line}");
    }
    host.stop().await;
}

#[tokio::test]
async fn responses_with_secrets_are_not_cached() {
    let host = TestHost::fleet().await;
    let owner = json!({"plugin": "fleet", "tenant": "acme/test"});
    let copy = json!({"plugin": "fleet", "tenant": "acme/test", "phrase": WORDS});
    let key = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"});
    for (line, body, status) in [
        ("POST /v1/seeds/import", copy.to_string(), 200),
        ("POST /v1/seeds/export", owner.to_string(), 200),
        ("GET /v1/seeds", String::new(), 200),
        ("POST /v1/keys", key.to_string(), 201),
    ] {
        let response = send(&host, line, &body).await.expect(status);
        assert_eq!(response.header("cache-control"), Some("no-store"), "{line}");
    }
    host.stop().await;
}

#[tokio::test]
async fn journal_names_the_operator_of_every_action() {
    let host = TestHost::fleet().await;
    let owner = json!({"plugin": "fleet", "tenant": "acme/test"});
    let copy = json!({"plugin": "fleet", "tenant": "acme/test", "phrase": WORDS});
    let credential = json!({"plugin": "fleet", "tenant": "acme", "environment": "test"}).to_string();
    let mine = json!({"blockchain": "base", "control": {"kind": "mine", "blocks": 1}});
    let backup = json!({"folder": host.dir.path().join("backup")});
    let key = send(&host, "POST /v1/keys", &credential).await.expect(201).text_at("/id");
    for (line, body, status) in [
        (format!("DELETE /v1/keys/{key}").as_str(), "", 200),
        ("POST /v1/secrets/rotate", "", 200),
        ("POST /v1/seeds/import", &copy.to_string(), 200),
        ("POST /v1/seeds/export", &owner.to_string(), 200),
        ("POST /v1/chains/control", &mine.to_string(), 200),
        ("POST /v1/clients", &credential, 409),
        ("POST /v1/plugins/fleet/rollback", "", 409),
        ("POST /v1/backup", &backup.to_string(), 202),
    ] {
        send(&host, line, body).await.check(status);
    }
    let expected = [
        "create-key",
        "revoke-key",
        "rotate-secrets",
        "import-seed",
        "export-seed",
        "control-chain",
        "create-client",
        "rollback",
        "backup",
    ];
    let all = eventually("the line of the backup", async || {
        let actions = journaled_actions(&host).await;
        (actions.last()? == "backup").then_some(actions)
    });
    assert_eq!(all.await, expected);
    host.stop().await;
}
