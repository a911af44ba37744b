//! Calls that write while a swap changes unique indexes or data versions.

#![allow(clippy::disallowed_methods, reason = "concurrent requests")]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use serde_json::{Value, json};

use super::chameleons::{
    ComponentFiles, GRANTS, chameleon, deploy, host_builder, host_serving, rollback, status, wait_until,
};
use crate::support::{Response, TestClient, TestHost};

/// Computation that takes longer than a swap.
const STEPS: &str = "steps=4000000000";

/// Returns a version with a unique index on `name`.
fn unique_names(number: u64) -> Vec<u8> {
    let index = json!({"name": "by-name", "fields": ["name"], "unique": true});
    chameleon(number, &[("/collections", json!([{"name": "things", "indexes": [index]}]))])
}

fn put(client: &TestClient, path: &str, name: &str) -> impl Future<Output = Response> + use<> {
    let body = json!({"name": name}).to_string().into_bytes();
    client.send("PUT", &format!("/v1/things/{path}"), &[("content-type", "application/json")], body)
}

async fn name_of(client: &TestClient, thing: &str) -> Value {
    client.get(&format!("/v1/things/{thing}")).await.expect(200).json()["name"].clone()
}

/// Starts a host whose limits allow long calls. Its tests switch versions by rollback, so nothing is compiled
/// meanwhile.
async fn host_with_long_deadline() -> TestHost {
    let limits = format!("{GRANTS}\n[plugins.chameleon.limits]\ncompute-ms = 50000\ndeadline-ms = 55000");
    host_builder(&ComponentFiles::new(), 1, &limits).start().await
}

async fn wait_until_in_flight(host: &TestHost, calls: u64) {
    let in_flight = async || status(host, "chameleon").await["serving"]["in_flight"].as_u64();
    wait_until("they are running", async || (in_flight().await? >= calls).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_the_previous_version_obey_the_unique_index_of_the_next_one() {
    let host = host_with_long_deadline().await;
    let client = host.client("chameleon", "acme").await;
    deploy(&host, "chameleon", unique_names(2)).await.check(200);
    rollback(&host).await.check(200);
    let slow = |thing: &str| tokio::spawn(put(&client, &format!("{thing}?{STEPS}"), "same"));
    let calls = ["a", "b", "c"].map(slow);
    wait_until_in_flight(&host, 3).await;
    rollback(&host).await.check(200);

    let mut statuses = Vec::new();
    for call in calls {
        let response = call.await.unwrap();
        let is_conflict = response.text().contains("by-name");
        assert!(response.status == 200 || is_conflict, "{} {}", response.status, response.text());
        statuses.push(response.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409]);
    put(&client, "d", "same").await.check(409);
    host.stop().await;
}

/// The next version may use a unique value as soon as a call of the previous version has released it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_the_previous_version_release_values_of_the_unique_index() {
    let host = host_with_long_deadline().await;
    let client = host.client("chameleon", "acme").await;
    put(&client, "a", "first").await.check(200);
    deploy(&host, "chameleon", unique_names(2)).await.check(200);
    rollback(&host).await.check(200);
    let release = tokio::spawn(put(&client, &format!("a?{STEPS}"), "second"));
    wait_until_in_flight(&host, 1).await;
    rollback(&host).await.check(200);
    put(&client, "b", "first").await.check(409);

    release.await.unwrap().check(200);
    put(&client, "b", "second").await.check(409);
    put(&client, "b", "first").await.check(200);
    host.stop().await;
}

/// Renames one thing repeatedly: mostly to names that no other writer uses, sometimes to a name that all writers use.
async fn contend(client: TestClient, number: usize, stopped: Arc<AtomicBool>) {
    let thing = format!("{number}");
    while !stopped.load(SeqCst) {
        for name in [&format!("a-{number}"), &format!("b-{number}"), &format!("c-{number}"), "contended"] {
            let response = put(&client, &thing, name).await;
            assert!(matches!(response.status, 200 | 409), "{} {}", response.status, response.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unique_index_added_under_load_fails_no_other_request_and_is_enforced() {
    const WRITERS: usize = 4;
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    let stopped = Arc::new(AtomicBool::new(false));
    let writer = |number| tokio::spawn(contend(client.clone(), number, stopped.clone()));
    let writers: Vec<_> = (0..WRITERS).map(writer).collect();
    let unique = unique_names(2);
    // The deploy is rejected while two things have the contended name.
    wait_until("it is published", async || {
        (deploy(&host, "chameleon", unique.clone()).await.status == 200).then_some(())
    })
    .await;
    for _ in 0..10 {
        // Switch to the version without the index and back.
        rollback(&host).await.check(200);
        wait_until("it is published", async || (rollback(&host).await.status == 200).then_some(())).await;
    }
    stopped.store(true, SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    let mut holders = 0;
    for thing in 0..WRITERS {
        holders += usize::from(name_of(&client, &thing.to_string()).await == "contended");
    }
    assert!(holders <= 1, "{holders} things have the same name");
    host.stop().await;
}

/// A call of the newer version is in flight when the rollback is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_in_flight_during_a_rollback_writes_data_that_the_old_version_can_read() {
    let host = host_with_long_deadline().await;
    let client = host.client("chameleon", "acme").await;
    put(&client, "a", "first").await.check(200);
    let second = chameleon(2, &[("/data-version", json!(2)), ("/reads-data-from", json!(1))]);
    deploy(&host, "chameleon", second).await.check(200);
    let late = tokio::spawn(put(&client, &format!("a?{STEPS}"), "late"));
    wait_until_in_flight(&host, 1).await;
    rollback(&host).await.check(200);

    late.await.unwrap().check(200);
    assert_eq!(name_of(&client, "a").await, "late");
    put(&client, "a", "after").await.check(200);
    host.stop().await;
}
