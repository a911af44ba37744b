//! What runs beside requests: the watermark of the disk, retention, and writes of other programs into the file.

use serde_json::json;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tenon::clock::Clock;

use super::misdeeds::count;
use crate::support::{TestHost, component, eventually};

const GRANTS: &str =
    r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn order() -> serde_json::Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

#[tokio::test]
async fn below_the_watermark_of_the_disk_reads_are_served_and_writes_are_not() {
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
async fn kept_answers_and_events_are_forgotten_when_their_time_is_over() {
    let clock = Clock::manual(1_800_000_000_000);
    let host = TestHost::builder().plugin("fleet", component("fleet"), GRANTS).clock(clock).start().await;
    let order_id = host.client("fleet", "acme").await.post_once("/v1/orders", "once", order()).await.expect(201);
    assert_eq!((count(&host, "answers").await, count(&host, "events").await), (1, 1));
    host.clock.advance(2 * DAY_MS);
    let host = host.restart().await;
    eventually("no kept answer", async || (count(&host, "answers").await == 0).then_some(())).await;
    assert_eq!(count(&host, "events").await, 1, "events are kept for thirty days");
    host.clock.advance(30 * DAY_MS);
    let host = host.restart().await;
    eventually("no event", async || (count(&host, "events").await == 0).then_some(())).await;
    let path = format!("/v1/orders/{}", order_id.text_at("/id"));
    host.client("fleet", "acme").await.get(&path).await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn what_another_program_writes_into_the_file_is_seen() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let path = format!("/v1/orders/{}", acme.post("/v1/orders", order()).await.expect(201).text_at("/id"));
    acme.get(&path).await.check(200);
    let options = SqliteConnectOptions::new().filename(host.database());
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let change = "UPDATE fleet_orders SET body = json_set(body, '$.notes', 'by hand'), version = version + 1000";
    sqlx::query(change).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    // The next commit notices it; a change that rested on the old record is run again on the new one.
    let changed = acme.put(&path, json!({"internal_id": "INT-1"})).await.expect(200);
    assert_eq!((changed.text_at("/notes").as_str(), changed.text_at("/internal_id").as_str()), ("by hand", "INT-1"));
    assert_eq!(acme.get(&path).await.expect(200).json(), changed.json());
    host.stop().await;
}
