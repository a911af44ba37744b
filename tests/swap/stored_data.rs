//! Swaps that stored data prevents: a version that cannot read the data, and indexes that cannot be built.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use serde_json::{Value, json};

use super::chameleons::{chameleon, deploy, deploy_breaking, host_serving, rollback, version};
use crate::support::{Response, TestClient};

async fn count(client: &TestClient, thing: &str) -> Value {
    client.post(&format!("/v1/things/{thing}/count"), json!({})).await.expect(200).json()["count"].clone()
}

fn reasons(rejected: Response) -> String {
    rejected.expect(409).json()["reasons"].to_string()
}

/// Returns a version that writes data version 2 and reads 1 and 2.
fn data_version_2() -> Vec<u8> {
    chameleon(2, &[("/data-version", json!(2)), ("/reads-data-from", json!(1))])
}

#[tokio::test]
async fn version_that_cannot_read_stored_data_is_rejected_even_if_breaking_is_allowed() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    let reasons = reasons(deploy_breaking(&host, "chameleon", chameleon(2, &[("/data-version", json!(2))])).await);
    assert!(reasons.contains("things: data version 1 has been written, this plugin reads 2 to 2"), "{reasons}");
    assert_eq!((version(&client).await, count(&client, "a").await), (1, json!(2)));
}

/// Calls of the old version are in flight while the new one starts to write data that they cannot read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_read_data_of_the_next_version_are_retried_on_it() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    let stopped = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..16)
        .map(|_| {
            let (client, stopped) = (client.clone(), stopped.clone());
            tokio::spawn(async move {
                let mut written = 0;
                while !stopped.load(SeqCst) {
                    count(&client, "hot").await;
                    written += 1;
                }
                written
            })
        })
        .collect();
    for version in 2..=6 {
        let next = [("/data-version", json!(version)), ("/reads-data-from", json!(1))];
        deploy(&host, "chameleon", chameleon(version, &next)).await.check(200);
    }
    stopped.store(true, SeqCst);
    let mut written = 0;
    for writer in writers {
        written += writer.await.unwrap();
    }
    assert_eq!(count(&client, "hot").await, written + 1);
}

#[tokio::test]
async fn rollback_over_data_that_the_old_version_cannot_read_is_rejected() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    deploy(&host, "chameleon", data_version_2()).await.check(200);
    assert_eq!(count(&client, "a").await, 2);
    let reasons = reasons(rollback(&host).await);
    assert!(reasons.contains("data version 2 has been written, this plugin reads 1 to 1"), "{reasons}");
    assert_eq!((version(&client).await, count(&client, "a").await), (2, json!(3)));
}

#[tokio::test]
async fn rollback_is_accepted_while_the_old_version_can_read_all_data() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    deploy(&host, "chameleon", data_version_2()).await.check(200);
    rollback(&host).await.check(200);
    assert_eq!((version(&client).await, count(&client, "a").await), (1, json!(2)));
}

/// Returns a version with a unique index on `count`.
fn unique_counts(number: u64) -> Vec<u8> {
    let index = json!({"name": "by-count", "fields": ["count"], "unique": true});
    chameleon(number, &[("/collections", json!([{"name": "things", "indexes": [index]}]))])
}

#[tokio::test]
async fn unique_index_is_rejected_while_records_have_duplicates() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    count(&client, "b").await;
    let changed = unique_counts(2);
    let reasons = reasons(deploy(&host, "chameleon", changed.clone()).await);
    assert!(reasons.contains("by-count") && reasons.contains("\\\"a\\\""), "{reasons}");

    assert_eq!(count(&client, "b").await, 2);
    deploy(&host, "chameleon", changed).await.check(200);
    let rejected = client.post("/v1/things/a/count", json!({})).await.expect(409);
    assert!(rejected.text().contains("by-count"), "{}", rejected.text());
}

/// A rollback disables the index. The second rollback checks the records that were written meanwhile.
#[tokio::test]
async fn unique_index_covers_records_written_by_the_version_without_it() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    deploy(&host, "chameleon", unique_counts(2)).await.check(200);
    client.post("/v1/things/b/count", json!({})).await.check(409);

    rollback(&host).await.check(200);
    assert_eq!(count(&client, "b").await, 1);
    assert!(reasons(rollback(&host).await).contains("by-count"));

    assert_eq!(count(&client, "b").await, 2);
    rollback(&host).await.check(200);
    client.post("/v1/things/a/count", json!({})).await.check(409);
    assert_eq!(count(&client, "b").await, 3);
    assert_eq!(count(&client, "a").await, 2);
}

#[tokio::test]
async fn next_version_reads_data_of_the_previous_one() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    for number in 2..=5 {
        assert_eq!(count(&client, "a").await, number - 1);
        deploy(&host, "chameleon", chameleon(number, &[])).await.check(200);
    }
}
