//! What is stored has its say: data that a version cannot read, indexes that cannot be built.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use serde_json::{Value, json};

use super::chameleons::{chameleon, deploy, deploy_breaking, rollback, serving, version};
use crate::support::{Response, TestClient};

async fn count(client: &TestClient, thing: &str) -> Value {
    client.post(&format!("/v1/things/{thing}/count"), json!({})).await.expect(200).json()["count"].clone()
}

fn reasons(refused: Response) -> String {
    refused.expect(409).json()["reasons"].to_string()
}

/// Writes data version 2 and reads 1 as well.
fn second() -> Vec<u8> {
    chameleon(2, &[("/data-version", json!(2)), ("/reads-data-from", json!(1))])
}

#[tokio::test]
async fn version_that_cannot_read_what_was_written_is_refused_whatever_the_operator_says() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    let reasons = reasons(deploy_breaking(&host, "chameleon", chameleon(2, &[("/data-version", json!(2))])).await);
    assert!(reasons.contains("things: data version 1 has been written, this plugin reads 2 to 2"), "{reasons}");
    assert_eq!((version(&client).await, count(&client, "a").await), (1, json!(2)));
}

/// Writers of the old version are on their way while the new one begins to write what they cannot read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_meet_data_of_the_next_version_are_run_on_it() {
    let host = serving(1).await;
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
async fn rollback_over_data_that_the_old_version_cannot_read_is_refused() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    deploy(&host, "chameleon", second()).await.check(200);
    assert_eq!(count(&client, "a").await, 2);
    let reasons = reasons(rollback(&host).await);
    assert!(reasons.contains("data version 2 has been written, this plugin reads 1 to 1"), "{reasons}");
    assert_eq!((version(&client).await, count(&client, "a").await), (2, json!(3)));
}

#[tokio::test]
async fn rollback_passes_while_nothing_was_written_that_the_old_version_cannot_read() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    deploy(&host, "chameleon", second()).await.check(200);
    rollback(&host).await.check(200);
    assert_eq!((version(&client).await, count(&client, "a").await), (1, json!(2)));
}

/// No two things may have the same count.
fn unique_counts(number: u64) -> Vec<u8> {
    let index = json!({"name": "by-count", "fields": ["count"], "unique": true});
    chameleon(number, &[("/collections", json!([{"name": "things", "indexes": [index]}]))])
}

#[tokio::test]
async fn unique_index_over_records_that_are_not_unique_is_refused_until_they_are() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    count(&client, "a").await;
    count(&client, "b").await;
    let changed = unique_counts(2);
    let reasons = reasons(deploy(&host, "chameleon", changed.clone()).await);
    assert!(reasons.contains("by-count") && reasons.contains("\\\"a\\\""), "{reasons}");

    assert_eq!(count(&client, "b").await, 2);
    deploy(&host, "chameleon", changed).await.check(200);
    let refused = client.post("/v1/things/a/count", json!({})).await.expect(409);
    assert!(refused.text().contains("by-count"), "{}", refused.text());
}

/// A rollback frees the older version of the index; the way back finds out what it wrote meanwhile.
#[tokio::test]
async fn unique_index_holds_over_what_the_version_without_it_wrote() {
    let host = serving(1).await;
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
async fn what_a_version_wrote_the_next_one_reads() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    for number in 2..=5 {
        assert_eq!(count(&client, "a").await, number - 1);
        deploy(&host, "chameleon", chameleon(number, &[])).await.check(200);
    }
}
