//! JSON nested deeply enough to exhaust the 64 KiB stack of a guest is rejected with a code and never causes a fault.

use crate::support::{Response, TestClient, TestHost};

const PATHS: [&str; 2] = ["/v1/orders", "/v1/drivers"];

fn arrays(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

fn objects(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

async fn post(client: &TestClient, path: &str, body: String) -> Response {
    client.send("POST", path, &[("content-type", "application/json")], body.into_bytes()).await
}

#[tokio::test]
async fn too_deeply_nested_json_is_malformed() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for levels in [100, 1_000, 100_000] {
        for inner in [arrays(levels), objects(levels), "[".repeat(levels), r#"{"a":"#.repeat(levels)] {
            for body in [format!(r#"{{"pickup":"1 Dock St","meta":{inner}}}"#), inner.clone()] {
                for path in PATHS {
                    let response = post(&acme, path, body.clone()).await.expect(400);
                    assert_eq!(response.text_at("/code"), "MALFORMED_REQUEST", "{levels} levels to {path}");
                }
            }
        }
    }
    host.stop().await;
}

/// 32 levels are allowed, one of which is the body itself.
#[tokio::test]
async fn json_with_the_maximum_depth_is_accepted() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for inner in [objects(31), format!(r#"{{"a":{}}}"#, arrays(30))] {
        let stops = r#""pickup":"1 Dock St","dropoff":"2 Mill Rd""#;
        let order = post(&acme, "/v1/orders", format!(r#"{{{stops},"meta":{inner}}}"#)).await.expect(201);
        assert_eq!(order.json()["meta"].to_string(), inner);
    }
    let places = format!("{}[1,1]{}", r#"{"location":"#.repeat(30), "}".repeat(30));
    let order = post(&acme, "/v1/orders", format!(r#"{{"pickup":{places},"dropoff":"b"}}"#)).await.expect(201);
    assert_eq!(order.json()["payload"]["pickup"]["location"]["coordinates"], serde_json::json!([1, 1]));
    host.stop().await;
}

#[tokio::test]
async fn moderately_nested_json_is_accepted() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for inner in [objects(10), format!(r#"{{"a":{}}}"#, arrays(10))] {
        let body = format!(r#"{{"pickup":"1 Dock St","dropoff":"2 Mill Rd","meta":{inner}}}"#);
        let order = post(&acme, "/v1/orders", body).await.expect(201);
        assert_eq!(order.json()["meta"].to_string(), inner);
    }
    post(&acme, "/v1/orders", arrays(10)).await.check(422);
    host.stop().await;
}
