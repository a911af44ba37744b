//! Cached answers over HTTP. Clients cannot distinguish them from computed answers. Only a metric counts them.

use serde_json::json;
use tenon_bench::guests;

use crate::support::{TestClient, TestHost, eventually};

async fn cached_answers(host: &TestHost) -> u64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let values = metrics.lines().filter(|line| line.starts_with("tenon_cached_answers_total{"));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

async fn create(client: &TestClient, path: &str, body: serde_json::Value) -> String {
    client.post(path, body).await.expect(201).text_at("/id")
}

async fn create_order(client: &TestClient) -> String {
    create(client, "/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "notes": "ring twice"})).await
}

#[tokio::test]
async fn repeated_request_is_answered_without_a_call() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}", create_order(&acme).await);
    let first = acme.get(&path).await.expect(200);
    let second = acme.get(&path).await.expect(200);
    assert_eq!(second.body, first.body);
    assert_ne!(second.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(cached_answers(&host).await, 1);
    host.stop().await;
}

#[tokio::test]
async fn next_answer_contains_the_changed_record() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}", create_order(&acme).await);
    for round in 0..20 {
        let notes = format!("round {round}");
        acme.put(&path, json!({"notes": notes})).await.check(200);
        for _ in 0..2 {
            assert_eq!(acme.get(&path).await.expect(200).text_at("/notes"), notes);
        }
    }
    assert_eq!(cached_answers(&host).await, 20);
    host.stop().await;
}

#[tokio::test]
async fn answer_reflects_changes_of_referenced_records() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let driver =
        create(&acme, "/v1/drivers", json!({"name": "Ada", "email": "ada@example.com", "phone": "+15550001"})).await;
    let order =
        create(&acme, "/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "driver": driver})).await;
    let path = format!("/v1/orders/{order}");
    assert_eq!(acme.get(&path).await.expect(200).text_at("/driver_assigned/name"), "Ada");
    acme.put(&format!("/v1/drivers/{driver}"), json!({"name": "Grace"})).await.check(200);
    assert_eq!(acme.get(&path).await.expect(200).text_at("/driver_assigned/name"), "Grace");
    acme.delete(&format!("/v1/drivers/{driver}")).await.check(200);
    assert!(acme.get(&path).await.expect(200).json()["driver_assigned"].is_null());
    host.stop().await;
}

#[tokio::test]
async fn list_reflects_added_and_removed_records() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let listed = async || acme.get("/v1/contacts").await.expect(200).json().as_array().expect("a list").len();
    assert_eq!((listed().await, listed().await), (0, 0));
    let id = create(&acme, "/v1/contacts", json!({"name": "Ada", "type": "customer"})).await;
    assert_eq!((listed().await, listed().await), (1, 1));
    acme.delete(&format!("/v1/contacts/{id}")).await.check(200);
    assert_eq!(listed().await, 0);
    host.stop().await;
}

#[tokio::test]
async fn absent_record_is_found_after_it_is_created() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for _ in 0..2 {
        acme.get("/v1/orders/mine-1").await.check(404);
    }
    create(&acme, "/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "internal_id": "mine-1"})).await;
    acme.get("/v1/orders/mine-1").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn cached_answer_is_not_returned_to_another_tenant() {
    let host = TestHost::fleet().await;
    let (acme, globex) = (host.client("fleet", "acme").await, host.client("fleet", "globex").await);
    let path = format!("/v1/orders/{}", create_order(&acme).await);
    for _ in 0..2 {
        acme.get(&path).await.check(200);
        globex.get(&path).await.check(404);
    }
    host.stop().await;
}

#[tokio::test]
async fn time_dependent_answer_is_not_cached() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}?with_eta=true", create_order(&acme).await);
    for _ in 0..3 {
        acme.get(&path).await.check(200);
    }
    assert_eq!(cached_answers(&host).await, 0);
    host.stop().await;
}

#[tokio::test]
async fn new_generation_does_not_use_cached_answers_of_the_old_one() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}", create_order(&acme).await);
    for _ in 0..2 {
        acme.get(&path).await.check(200);
    }
    let component = guests::stamped(&std::fs::read(host.component_file("fleet")).unwrap(), "another");
    let headers = [("content-type", "application/wasm")];
    host.operator().send("PUT", "/v1/plugins/fleet/component", &headers, component).await.check(200);
    acme.get(&path).await.check(200);
    let by_generation = async || {
        let metrics = host.operator().get("/metrics").await.expect(200).text();
        metrics
            .lines()
            .any(|line| line.starts_with("tenon_requests_total{") && line.contains("generation=\"2\""))
            .then_some(())
    };
    eventually("the new generation has answered", by_generation).await;
    assert!(cached_answers(&host).await <= 1, "the first answer of the new version is a call");
    host.stop().await;
}
