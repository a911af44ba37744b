//! The operators' listener: token authentication, no browsers, and health and metrics for probes.

use serde_json::{Value, json};

use crate::support::{RawConnection, TestClient, TestHost, eventually};

fn without_token(host: &TestHost) -> TestClient {
    TestClient::new(host.admin_base(), None)
}

#[tokio::test]
async fn every_route_requires_the_token() {
    let host = TestHost::fleet().await;
    let demo = std::fs::read_to_string(host.data_dir().join("demo.key")).unwrap();
    let wrong = TestClient::new(host.admin_base(), Some("0".repeat(64).as_str()));
    let with_api_key = TestClient::new(host.admin_base(), Some(demo.trim()));
    let routes = [
        ("GET", "/v1/plugins"),
        ("GET", "/v1/plugins/journal"),
        ("GET", "/v1/journal"),
        ("GET", "/v1/plugins/fleet/routes"),
        ("GET", "/v1/plugins/fleet/versions"),
        ("POST", "/v1/plugins/fleet/check"),
        ("PUT", "/v1/plugins/fleet/component"),
        ("POST", "/v1/plugins/fleet/rollback"),
        ("POST", "/v1/plugins/fleet/profile"),
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("DELETE", "/v1/keys/key_1"),
        ("GET", "/v1/clients"),
        ("POST", "/v1/clients"),
        ("POST", "/v1/clients/client_1/rotate"),
        ("DELETE", "/v1/clients/client_1"),
        ("POST", "/v1/oauth/rotate-keys"),
        ("GET", "/v1/webhooks/endpoints"),
        ("GET", "/v1/webhooks/deliveries"),
        ("GET", "/v1/webhooks/attempts"),
        ("POST", "/v1/webhooks/redeliver"),
        ("POST", "/v1/webhooks/recover"),
        ("GET", "/v1/tasks"),
        ("POST", "/v1/tasks/retry"),
        ("POST", "/v1/tasks/drop"),
        ("GET", "/v1/outbox"),
        ("GET", "/v1/audit/lines"),
        ("GET", "/v1/audit/chains"),
        ("GET", "/v1/ledger/check"),
        ("POST", "/v1/secrets/rotate"),
        ("GET", "/v1/seeds"),
        ("POST", "/v1/seeds/export"),
        ("POST", "/v1/seeds/import"),
        ("GET", "/v1/chains"),
        ("GET", "/v1/chains/balance"),
        ("GET", "/v1/chains/transaction"),
        ("POST", "/v1/chains/control"),
        ("GET", "/v1/backup"),
        ("POST", "/v1/backup"),
        ("GET", "/v1/nothing"),
    ];
    // The requests with wrong tokens are too few to reach the rate limit.
    for (client, step) in [(without_token(&host), 1), (wrong, 5), (with_api_key, 5)] {
        for (method, path) in routes.into_iter().step_by(step) {
            let response = client.send(method, path, &[], Vec::new()).await.expect(401);
            assert_eq!(response.text_at("/error"), "unauthenticated", "{method} {path}");
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn browser_request_is_rejected_even_with_the_token() {
    let host = TestHost::fleet().await;
    let operator = host.operator();
    for path in ["/v1/plugins", "/healthz"] {
        let from_page = operator.send("GET", path, &[("origin", "http://127.0.0.1:9090")], Vec::new()).await;
        assert_eq!(from_page.expect(403).text_at("/error"), "from-a-browser");
        let rebound = operator.send("GET", path, &[("host", "rebound.example")], Vec::new()).await;
        assert_eq!(rebound.expect(403).text_at("/error"), "unknown-host");
    }
    host.stop().await;
}

#[tokio::test]
async fn admin_token_is_not_valid_for_interfaces() {
    let host = TestHost::fleet().await;
    let token = std::fs::read_to_string(host.data_dir().join("admin.token")).unwrap();
    host.client_of(token.trim()).get("/v1/orders").await.check(401);
    host.stop().await;
}

#[tokio::test]
async fn probes_are_answered_while_a_stopping_host_finishes_its_requests() {
    let host = TestHost::fleet().await;
    let (probe, address) = (without_token(&host), host.admin_base().trim_start_matches("http://").to_owned());
    let key = host.key("fleet", "acme").await;
    let mut running = RawConnection::open(host.base()).await;
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n"
    );
    running.send(&head).await;
    // The host reads the body, so the request is in flight.
    running.read_until("100 Continue").await;
    let probes = async {
        let stopping = eventually("a stopping host", async || {
            let ready = probe.get("/readyz").await;
            (ready.status == 503).then_some(ready)
        });
        assert_eq!(stopping.await.json()["reasons"][0], "the host is stopping");
        assert_eq!(probe.get("/healthz").await.expect(200).text(), "ok\n", "a host that stops is healthy");
        assert!(probe.get("/metrics").await.expect(200).text().contains("tenon_"));
        running.send("{}").await;
        running.read_to_end().await
    };
    let ((), response) = tokio::join!(host.stop(), probes);
    assert!(response.contains("HTTP/1.1 4") && response.contains("connection: close"), "{response}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn probes_need_no_token() {
    let host = TestHost::fleet().await;
    assert_eq!(without_token(&host).get("/healthz").await.expect(200).text(), "ok\n");
    assert_eq!(without_token(&host).get("/readyz").await.expect(200).json(), json!({"ready": true, "reasons": []}));
    without_token(&host).get("/metrics").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn metrics_count_requests_and_commits_by_plugin_and_generation() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    acme.post("/v1/orders", json!({"notes": 1})).await.check(422);
    acme.get("/v1/orders").await.check(200);
    let metrics = without_token(&host).get("/metrics").await.expect(200).text();
    for line in [
        r#"tenon_requests_total{class="2xx",generation="1",operation="create-order",plugin="fleet"} 1"#,
        r#"tenon_requests_total{class="4xx",generation="1",operation="create-order",plugin="fleet"} 1"#,
        r#"tenon_requests_total{class="2xx",generation="1",operation="list-orders",plugin="fleet"} 1"#,
        r#"tenon_request_seconds_count{class="2xx",generation="1",plugin="fleet"} 2"#,
        r#"tenon_commits_total{generation="1",plugin="fleet"} 1"#,
        r#"tenon_calls_in_flight{generation="1",plugin="fleet"} 0"#,
        r#"tenon_calls_waiting{generation="1",plugin="fleet"} 0"#,
        r#"tenon_faults_total{generation="1",kind="trap",plugin="fleet"} 0"#,
        "tenon_committer_batches_total 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    assert!(!metrics.contains("acme"), "no tenant is a label");
    host.stop().await;
}

#[tokio::test]
async fn list_filter_with_an_unknown_name_is_rejected() {
    let host = TestHost::fleet().await;
    let operator = host.operator();
    let lists = ["tasks?kind=timer&", "webhooks/endpoints?", "webhooks/deliveries?", "outbox?", "audit/lines?"];
    for list in lists {
        let unknown = operator.get(&format!("/v1/{list}plugin=fleat")).await.expect(404);
        assert_eq!(unknown.text_at("/hint"), "Known plugins: fleet.", "{list}");
        let invalid = operator.get(&format!("/v1/{list}tenant=acme")).await.expect(400);
        assert_eq!(invalid.text_at("/message"), "\"acme\" is not a valid tenant.", "{list}");
        operator.get(&format!("/v1/{list}plugin=fleet&tenant=acme/test")).await.check(200);
    }
    let unknown = operator.get("/v1/journal?action=deplo").await.expect(400);
    assert!(unknown.text_at("/hint").starts_with("Known actions: start, file, config, deploy, "), "{}", unknown.text());
    assert_eq!(operator.get("/v1/journal?action=restore").await.expect(200).json(), json!([]));
    host.stop().await;
}

#[tokio::test]
async fn invalid_requests_of_operators_get_a_hint() {
    let host = TestHost::fleet().await;
    let operator = host.operator();
    let key = |plugin: &str, tenant: &str| json!({"plugin": plugin, "tenant": tenant, "environment": "test"});
    let hint = |json: Value| json["hint"].as_str().unwrap().to_owned();
    let unknown = operator.post("/v1/keys", key("wharf", "acme")).await.expect(404).json();
    assert_eq!(hint(unknown), "Known plugins: fleet.");
    let slash = operator.post("/v1/keys", key("fleet", "acme/live")).await.expect(400).json();
    assert!(!hint(slash).is_empty());
    operator.delete("/v1/keys/key_unknown").await.check(404);
    operator.post("/v1/plugins/wharf/rollback", json!({})).await.check(404);
    let conflict = operator.post("/v1/plugins/fleet/rollback", json!({})).await.expect(409);
    assert_eq!(conflict.text_at("/error"), "refused");
    operator.get("/v1/plugins/journal?limit=0").await.check(400);
    let unknown = operator.get("/v1/plugins/journal?plugin=wharf").await.expect(404).json();
    assert_eq!(hint(unknown), "Known plugins: fleet.");
    for path in ["/v1/plugins/%ff/rollback", "/v1/plugins/fl%ffeet/rollback"] {
        assert_eq!(operator.post(path, json!({})).await.expect(400).text_at("/error"), "invalid");
    }
    assert_eq!(operator.get("/v1/plugins/journal?plugin=%ff").await.expect(400).text_at("/error"), "invalid");
    assert_eq!(operator.delete("/v1/keys/%ff").await.expect(400).text_at("/error"), "invalid");
    let large = json!({"plugin": "x".repeat(100_000)});
    assert_eq!(operator.post("/v1/keys", large).await.expect(413).text_at("/error"), "too-large");
    operator.post("/healthz", json!({})).await.check(405);
    host.stop().await;
}
