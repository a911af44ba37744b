//! Work beside requests: the free-disk limit, retention, and writes of other programs to the database file.

use serde_json::json;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tenon::clock::Clock;

use super::misbehaving_guests::count_rows;
use crate::support::{TestHost, component, eventually};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn order() -> serde_json::Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

#[tokio::test]
async fn writes_are_rejected_and_reads_served_below_the_free_disk_limit() {
    let builder = TestHost::builder().plugin("fleet", component("fleet"), GRANTS);
    let host = builder.head("free-disk-bytes-min = 1125899906842624").start().await;
    let acme = host.client("fleet", "acme").await;
    acme.get("/v1/orders").await.check(200);
    acme.post("/v1/orders", order()).await.check(503);
    acme.delete("/v1/orders/order_none").await.check(503);
    let ready = host.operator().get("/readyz").await.expect(503).text();
    assert!(ready.contains("the disk is nearly full"), "{ready}");
    host.operator().get("/healthz").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn idempotency_records_and_events_are_deleted_after_their_retention() {
    let clock = Clock::manual(1_800_000_000_000);
    let host = TestHost::builder().plugin("fleet", component("fleet"), GRANTS).clock(clock).start().await;
    let created = host.client("fleet", "acme").await.post_once("/v1/orders", "once", order()).await.expect(201);
    assert_eq!((count_rows(&host, "answers").await, count_rows(&host, "events").await), (1, 1));
    host.clock.advance(2 * DAY_MS);
    let host = host.restart().await;
    eventually("no idempotency record", async || (count_rows(&host, "answers").await == 0).then_some(())).await;
    assert_eq!(count_rows(&host, "events").await, 1, "events are retained for thirty days");
    host.clock.advance(30 * DAY_MS);
    let host = host.restart().await;
    eventually("no event", async || (count_rows(&host, "events").await == 0).then_some(())).await;
    let path = format!("/v1/orders/{}", created.text_at("/id"));
    host.client("fleet", "acme").await.get(&path).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn write_of_another_program_is_detected() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}", acme.post("/v1/orders", order()).await.expect(201).text_at("/id"));
    acme.get(&path).await.check(200);
    let options = SqliteConnectOptions::new().filename(host.database());
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let change = "UPDATE fleet_orders SET body = json_set(body, '$.notes', 'by hand'), version = version + 1000";
    sqlx::query(change).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    // The next commit detects the write. A call that read the old record is retried on the new one.
    let changed = acme.put(&path, json!({"internal_id": "INT-1"})).await.expect(200);
    assert_eq!((changed.text_at("/notes").as_str(), changed.text_at("/internal_id").as_str()), ("by hand", "INT-1"));
    assert_eq!(acme.get(&path).await.expect(200).json(), changed.json());
    host.stop().await;
}
