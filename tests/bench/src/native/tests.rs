use std::time::Duration;

use super::*;
use crate::{
    load::{self, LoadPlan, LoadReport, PlannedRequest},
    wire::Client,
};

const KEY: &str = "tk_test_peer";

/// A peer on its own port, with one driver.
struct Peer {
    native: Native,
    address: std::net::SocketAddr,
    driver: String,
    _folder: tempfile::TempDir,
}

async fn start() -> Peer {
    let folder = tempfile::tempdir().unwrap();
    let native = Native::open(&folder.path().join("native.db"), KEY).await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, native.clone().router()).into_future());
    let body = json!({ "name": "A", "email": "a@example.com", "phone": "+15550100" });
    let created = Client::new(address, KEY).call("POST", "/v1/drivers", &body).await.unwrap();
    let driver = created.get("id").and_then(Value::as_str).unwrap().to_owned();
    Peer { native, address, driver, _folder: folder }
}

impl Peer {
    async fn load(&self, key: &str) -> LoadReport {
        let request = PlannedRequest {
            method: "POST".to_owned(),
            path: format!("/v1/drivers/{}/track", self.driver),
            body: json!({ "latitude": 1.5, "longitude": 103.5 }).to_string(),
        };
        let mut plan = LoadPlan::new(self.address, key, &[request]);
        plan.connections = 8;
        plan.duration = Duration::from_millis(200);
        load::run(plan).await
    }

    async fn number(&self, sql: &'static str) -> u64 {
        let number: i64 = sqlx::query_scalar(sql).fetch_one(&self.native.readers).await.unwrap();
        number.unsigned_abs()
    }
}

#[tokio::test]
async fn peer_makes_one_change_and_one_event_for_each_response() {
    let peer = start().await;
    let report = peer.load(KEY).await;
    assert!(report.requests > 0 && report.failed() == 0, "{report:?}");
    assert_eq!(peer.number("SELECT count(*) FROM events").await, report.requests);
    assert_eq!(peer.number("SELECT max(version) FROM drivers").await, report.requests + 1);
}

#[tokio::test]
async fn peer_returns_an_order_as_created() {
    let peer = start().await;
    let mut client = Client::new(peer.address, KEY);
    let body = json!({ "pickup": "1 Harbour Road", "dropoff": "9 Station Street", "notes": "Ring twice" });
    let created = client.call("POST", "/v1/orders", &body).await.unwrap();
    let path = format!("/v1/orders/{}", created["id"].as_str().unwrap());
    assert_eq!(client.call("GET", &path, &Value::Null).await.unwrap(), created);
    assert_eq!(created["payload"]["dropoff"]["street1"], "9 Station Street");
    assert_eq!(created["tracking_statuses"][0]["tracking_number"], created["tracking_number"]["tracking_number"]);
    assert_eq!((&created["notes"], &created["meta"]), (&json!("Ring twice"), &json!({})));
}

#[tokio::test]
async fn unauthenticated_requests_count_as_failed() {
    let peer = start().await;
    let report = peer.load("tk_test_wrong").await;
    assert_eq!(report.failed(), report.requests);
    assert_eq!(report.statuses.keys().copied().collect::<Vec<_>>(), [401]);
    assert_eq!(peer.number("SELECT count(*) FROM events").await, 0);
}

#[tokio::test]
async fn unreachable_server_breaks_requests_without_ending_the_load() {
    let gone = crate::program::free_address().unwrap();
    let request = PlannedRequest { method: "GET".to_owned(), path: "/".to_owned(), body: String::new() };
    let mut plan = LoadPlan::new(gone, "", &[request]);
    plan.connections = 2;
    plan.duration = Duration::from_millis(50);
    let report = load::run(plan).await;
    assert!(report.requests == 0 && report.broken > 0 && !report.reasons.is_empty());
}
