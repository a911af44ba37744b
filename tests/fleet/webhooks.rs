//! Webhooks end to end: a change over HTTP, the host as it is, and a receiver that looks at what arrives.

mod delivery;
mod faults;
mod management;
mod subjects;

use serde_json::{Value, json};

use crate::support::{TestClient, TestHost, TestReceiver, eventually};

const PATH: &str = "/v1/webhook-endpoints";

/// An endpoint that was made.
struct Endpoint {
    path: String,
    secret: String,
}

impl Endpoint {
    async fn new(client: &TestClient, url: &str, events: &[&str]) -> Endpoint {
        let made = client.post(PATH, json!({"url": url, "events": events})).await.expect(201);
        Endpoint { path: format!("{PATH}/{}", made.text_at("/id")), secret: made.text_at("/secret") }
    }

    async fn at(client: &TestClient, receiver: &TestReceiver) -> Endpoint {
        Endpoint::new(client, receiver.url(), &[]).await
    }

    async fn act(&self, client: &TestClient, action: &str) -> Value {
        client.post(&format!("{}/{action}", self.path), json!({})).await.expect(200).json()
    }

    /// Its newest delivery, once it is in this state.
    async fn delivery_in(&self, client: &TestClient, state: &str) -> Value {
        let path = format!("{}/deliveries?limit=1", self.path);
        eventually(state, async || {
            let newest = client.get(&path).await.expect(200).json()[0].clone();
            (newest["status"] == state).then_some(newest)
        })
        .await
    }

    async fn attempts(&self, client: &TestClient, event: &Value) -> Vec<Value> {
        let event = event.as_str().expect("the id of an event");
        let attempts = client.get(&format!("{}/deliveries/{event}/attempts", self.path)).await.expect(200).json();
        attempts.as_array().expect("a list").clone()
    }
}

/// The id of a new order.
async fn order(client: &TestClient) -> String {
    client.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).text_at("/id")
}

/// One attempt for each delivery.
async fn impatient_host() -> TestHost {
    TestHost::builder().fleet("[plugins.fleet.webhooks]\nschedule-ms = []").start().await
}
