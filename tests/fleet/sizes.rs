//! How large orders may grow after they were made, and what their readers see then (docs/fleet/lists.md).

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{TestClient, TestHost};

/// What a place may have of its own, and a little less than that of a hundred places fits one answer.
const META_BYTES: usize = 65_536;

/// A tour of a hundred stops, whose places grow to all that they may have. Gives its path.
async fn large_tour(acme: &TestClient, nth: usize) -> String {
    let stops: Vec<Value> = (0..100).map(|stop| json!({"name": format!("{nth}-{stop}")})).collect();
    let order = acme.post("/v1/orders", json!({"waypoints": stops, "adhoc": true})).await.expect(201).json();
    let meta = json!({"k": "x".repeat(META_BYTES - r#"{"k":""}"#.len())});
    let stops = order["payload"]["waypoints"].as_array().expect("waypoints");
    let places: Vec<String> =
        stops.iter().map(|stop| format!("/v1/places/{}", stop["id"].as_str().expect("an id"))).collect();
    for some in places.chunks(10) {
        for answer in join_all(some.iter().map(|place| acme.put(place, json!({ "meta": meta })))).await {
            answer.check(200);
        }
    }
    format!("/v1/orders/{}", order["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn orders_that_have_grown_are_refused_together_and_go_on_alone() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let mut tours = Vec::new();
    for nth in 0..6 {
        tours.push(large_tour(&acme, nth).await);
    }
    let sentence = "The limit field must be smaller: the resources of this page are too large together.";
    for list in ["/v1/orders", "/v1/payloads", "/v1/waypoints?limit=100"] {
        assert_eq!(acme.get(list).await.expect(422).text_at("/error"), sentence, "{list}");
    }
    for list in ["/v1/orders?limit=1", "/v1/payloads?limit=1", "/v1/waypoints?limit=50", "/v1/orders?without=payload"] {
        acme.get(list).await.check(200);
    }
    let shown = acme.get(&tours[0]).await.expect(200).json();
    let stop = &shown["payload"]["waypoints"][99];
    assert!(stop["id"].as_str().is_some_and(|id| id.starts_with("place_")) && stop["meta"].is_null(), "{stop}");
    let dispatched = acme.post(&format!("{}/dispatch", tours[0]), json!({})).await.expect(200);
    assert_eq!(dispatched.text_at("/status"), "dispatched");
    acme.delete(&tours[0]).await.check(200);
    host.stop().await;
}
