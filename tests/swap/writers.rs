//! Calls that write while a swap changes what may be written: the unique indexes, the data versions.

#![allow(clippy::disallowed_methods, reason = "requests that run beside the test")]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use serde_json::{Value, json};

use super::chameleons::{GRANTS, Shelf, chameleon, deploy, plan, rollback, serving, status, until};
use crate::support::{Response, TestClient, TestHost};

/// Computes long enough for a swap to take place meanwhile.
const STEPS: &str = "steps=4000000000";

/// No two things may have the same name.
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

/// It served the unique index before and can at once again, by a rollback: nothing has to be compiled meanwhile.
async fn slow_host() -> TestHost {
    let limits = format!("{GRANTS}\n[plugins.chameleon.limits]\ncompute-ms = 50000\ndeadline-ms = 55000");
    plan(&Shelf::new(), 1, &limits).start().await
}

async fn until_in_flight(host: &TestHost, calls: u64) {
    let in_flight = async || status(host, "chameleon").await["serving"]["in_flight"].as_u64();
    until("they run", async || (in_flight().await? >= calls).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_the_version_before_keep_the_unique_index_of_the_next_one() {
    let host = slow_host().await;
    let client = host.client("chameleon", "acme").await;
    deploy(&host, "chameleon", unique_names(2)).await.check(200);
    rollback(&host).await.check(200);
    let slow = |thing: &str| tokio::spawn(put(&client, &format!("{thing}?{STEPS}"), "same"));
    let calls = ["a", "b", "c"].map(slow);
    until_in_flight(&host, 3).await;
    rollback(&host).await.check(200);

    let mut statuses = Vec::new();
    for call in calls {
        let answer = call.await.unwrap();
        assert!(answer.status == 200 || answer.text().contains("by-name"), "{} {}", answer.status, answer.text());
        statuses.push(answer.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409]);
    put(&client, "d", "same").await.check(409);
    host.stop().await;
}

/// What the version before frees, the next one may take at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_the_version_before_give_up_what_the_next_one_takes() {
    let host = slow_host().await;
    let client = host.client("chameleon", "acme").await;
    put(&client, "a", "first").await.check(200);
    deploy(&host, "chameleon", unique_names(2)).await.check(200);
    rollback(&host).await.check(200);
    let leaves = tokio::spawn(put(&client, &format!("a?{STEPS}"), "second"));
    until_in_flight(&host, 1).await;
    rollback(&host).await.check(200);
    put(&client, "b", "first").await.check(409);

    leaves.await.unwrap().check(200);
    put(&client, "b", "second").await.check(409);
    put(&client, "b", "first").await.check(200);
    host.stop().await;
}

/// Each has a thing of its own, with names of its own most of the time, and now and then one that all of them want.
async fn contend(client: TestClient, number: usize, stopped: Arc<AtomicBool>) {
    let thing = format!("{number}");
    while !stopped.load(SeqCst) {
        for name in [&format!("a-{number}"), &format!("b-{number}"), &format!("c-{number}"), "wanted"] {
            let answer = put(&client, &thing, name).await;
            assert!(matches!(answer.status, 200 | 409), "{} {}", answer.status, answer.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unique_index_that_comes_under_load_fails_nobody_and_holds() {
    const WRITERS: usize = 4;
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    let stopped = Arc::new(AtomicBool::new(false));
    let writer = |number| tokio::spawn(contend(client.clone(), number, stopped.clone()));
    let writers: Vec<_> = (0..WRITERS).map(writer).collect();
    let unique = unique_names(2);
    // Refused as long as two things happen to have the name.
    until("it is published", async || (deploy(&host, "chameleon", unique.clone()).await.status == 200).then_some(()))
        .await;
    for _ in 0..10 {
        // To the version without it, and back.
        rollback(&host).await.check(200);
        until("it is published", async || (rollback(&host).await.status == 200).then_some(())).await;
    }
    stopped.store(true, SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    let mut holders = 0;
    for thing in 0..WRITERS {
        holders += usize::from(name_of(&client, &thing.to_string()).await == "wanted");
    }
    assert!(holders <= 1, "{holders} things have one name");
    host.stop().await;
}

/// Nothing was written that the version before cannot read, but a call that will is on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rollback_nothing_is_written_that_the_version_before_cannot_read() {
    let host = slow_host().await;
    let client = host.client("chameleon", "acme").await;
    put(&client, "a", "first").await.check(200);
    let second = chameleon(2, &[("/data-version", json!(2)), ("/reads-data-from", json!(1))]);
    deploy(&host, "chameleon", second).await.check(200);
    let late = tokio::spawn(put(&client, &format!("a?{STEPS}"), "late"));
    until_in_flight(&host, 1).await;
    rollback(&host).await.check(200);

    late.await.unwrap().check(200);
    assert_eq!(name_of(&client, "a").await, "late");
    put(&client, "a", "after").await.check(200);
    host.stop().await;
}
