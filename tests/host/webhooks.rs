//! Webhook operations of operators on a real host: lists of endpoints, deliveries and attempts, redelivery, and
//! rejected commands. Webhooks to the host's own listeners are rejected.

use serde_json::{Value, json};

use crate::support::{ReceiverResponse, Response, TestClient, TestHost, TestReceiver, eventually};

/// Creates an endpoint and returns its id.
async fn create_endpoint(client: &TestClient, receiver: &TestReceiver) -> String {
    let created = client.post("/v1/webhook-endpoints", json!({"url": receiver.url(), "events": []})).await;
    created.expect(201).text_at("/id")
}

async fn entries(host: &TestHost, path: &str) -> Vec<Value> {
    let page = host.operator().get(path).await.expect(200).json();
    page["entries"].as_array().unwrap().clone()
}

/// Sends a command as the operator "ada".
async fn command(host: &TestHost, path: &str, body: Value) -> Response {
    let headers = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    host.operator().send("POST", path, &headers, body.to_string().into_bytes()).await
}

#[tokio::test]
async fn failed_delivery_is_listed_and_its_redelivery_is_journaled() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(503)).await);
    let (acme, rival) = (host.client("fleet", "acme").await, host.client("fleet", "rival").await);
    let failing = create_endpoint(&acme, &receiver).await;
    let disabled = create_endpoint(&acme, &receiver).await;
    acme.post(&format!("/v1/webhook-endpoints/{disabled}/disable"), json!({})).await.check(200);
    create_endpoint(&rival, &receiver).await;
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    let failed = eventually("the failed attempt", async || {
        entries(&host, &format!("/v1/webhooks/deliveries?endpoint={failing}&state=retrying")).await.pop()
    });
    let failed = failed.await;
    let event = failed["event"].as_str().unwrap();
    assert_eq!((&failed["attempts"], &failed["tenant"]), (&json!(1), &json!("acme/test")), "{failed}");

    let attempts = host.operator().get(&format!("/v1/webhooks/attempts?endpoint={failing}&event={event}")).await;
    let attempts = attempts.expect(200).json();
    assert_eq!((&attempts[0]["outcome"], &attempts[0]["status"]), (&json!("status"), &json!(503)));

    let endpoints = entries(&host, "/v1/webhooks/endpoints?tenant=acme/test").await;
    let ids: Vec<&Value> = endpoints.iter().map(|endpoint| &endpoint["id"]).collect();
    assert_eq!(ids, [&json!(failing), &json!(disabled)]);
    assert_eq!((&endpoints[0]["retrying"], &endpoints[0]["live"]["breaker_open"]), (&json!(1), &json!(false)));
    assert!(endpoints[0]["failing_since"].is_string(), "{endpoints:?}");
    assert_eq!((&endpoints[1]["pending"], &endpoints[1]["enabled"]), (&json!(1), &json!(false)));
    assert_eq!(endpoints[1]["disabled"]["reason"], "by the plugin");

    let request = json!({"endpoint": failing, "event": event});
    let report = command(&host, "/v1/webhooks/redeliver", request).await.expect(200).json();
    assert_eq!((&report["deliveries"], &report["enabled"]), (&json!(1), &json!(true)));
    receiver.wait_for(2).await;
    let line = &host.operator().get("/v1/plugins/journal?limit=1").await.expect(200).json()[0];
    assert_eq!((&line["who"], &line["action"], &line["outcome"]), (&json!("ada"), &json!("redeliver"), &json!("done")));
    assert_eq!(line["reasons"], json!([format!("{event} to {failing} of acme/test")]));
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    assert!(metrics.contains("tenon_webhook_attempts_total{outcome=\"status\"}"), "{metrics}");
    host.stop().await;
}

#[tokio::test]
async fn command_with_an_unknown_endpoint_or_event_is_rejected_and_not_journaled() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let hook = create_endpoint(&host.client("fleet", "acme").await, &receiver).await;
    let lines = host.operator().get("/v1/plugins/journal").await.expect(200).json();
    let since = "2026-01-02T03:04:05Z";
    for (path, body, status) in [
        ("/v1/webhooks/redeliver", json!({"endpoint": "none", "event": "event_1"}), 404),
        ("/v1/webhooks/redeliver", json!({"endpoint": hook, "event": "event_1"}), 404),
        ("/v1/webhooks/redeliver", json!({"endpoint": hook, "event": "event_1", "tenant": "rival/test"}), 404),
        ("/v1/webhooks/recover", json!({"endpoint": hook, "tenant": "acme/live", "since": since}), 404),
        ("/v1/webhooks/recover", json!({"endpoint": hook}), 422),
    ] {
        command(&host, path, body).await.check(status);
    }
    assert_eq!(host.operator().get("/v1/plugins/journal").await.expect(200).json(), lines);
    for query in ["deliveries?state=lost", "deliveries?after=x", "endpoints?after=x"] {
        let response = host.operator().get(&format!("/v1/webhooks/{query}")).await.expect(400);
        assert_eq!(response.text_at("/error"), "invalid", "{query}");
    }
    let unknown = host.operator().get("/v1/webhooks/deliveries?endpoint=none").await.expect(404).json();
    assert_eq!(unknown["message"], "There is no endpoint \"none\".");
    host.operator().get(&format!("/v1/webhooks/deliveries?endpoint={hook}")).await.check(200);
    host.stop().await;
}

/// Creates an endpoint with this URL and an event, and returns the first attempt.
async fn first_attempt_to(host: &TestHost, url: &str) -> Value {
    let acme = host.client("fleet", "acme").await;
    let created = acme.post("/v1/webhook-endpoints", json!({"url": url, "events": []})).await;
    let endpoint = created.expect(201).text_at("/id");
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    let path = format!("/v1/webhooks/deliveries?endpoint={endpoint}&state=retrying");
    let failed = eventually("an attempt", async || entries(host, &path).await.pop()).await;
    let event = failed["event"].as_str().unwrap().to_owned();
    let attempts = host.operator().get(&format!("/v1/webhooks/attempts?endpoint={endpoint}&event={event}")).await;
    attempts.expect(200).json()[0].clone()
}

#[tokio::test]
async fn webhook_to_a_listener_of_the_host_is_rejected_although_its_network_is_allowed() {
    let host = TestHost::fleet().await;
    for own in [host.base(), host.admin_base()] {
        let attempt = first_attempt_to(&host, &format!("{own}/v1/orders")).await;
        assert_eq!((&attempt["outcome"], &attempt["status"]), (&json!("address-not-allowed"), &Value::Null), "{own}");
        let reason = "own-listener: the address leads to a listener of this host, which is never called";
        assert_eq!(attempt["answer"], reason, "{own}");
    }
    host.stop().await;
}
