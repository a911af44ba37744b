//! The fleet interface over real HTTP, as apps use it.

use serde_json::json;

use crate::support::TestHost;

#[tokio::test]
async fn an_order_can_be_created_read_and_listed() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let order = acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.expect(201);
    let id = order.text_at("/id");
    assert_eq!(acme.get(&format!("/v1/orders/{id}")).await.expect(200).json(), order.json());
    assert_eq!(acme.get("/v1/orders").await.expect(200).json()[0]["id"], id.as_str());
    host.stop().await;
}

#[tokio::test]
async fn an_order_of_another_organization_does_not_exist() {
    let host = TestHost::fleet().await;
    let (acme, rival) = (host.client("fleet", "acme").await, host.client("fleet", "rival").await);
    let order = acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.expect(201);
    let path = format!("/v1/orders/{}", order.text_at("/id"));
    assert_eq!(rival.get(&path).await.expect(404).text_at("/code"), "RESOURCE_NOT_FOUND");
    assert_eq!(acme.get(&path).await.expect(200).text_at("/id"), order.text_at("/id"));
    host.stop().await;
}
