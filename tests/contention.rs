//! Many writers on one record over HTTP: no call fails, no write is lost, long calls are not starved, and the observed
//! history is serializable.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tenon_bench::soak;

use crate::support::{TestClient, TestHost};

async fn count(client: &TestClient) -> u64 {
    let answer = client.post("/v1/counter", json!({})).await.expect(200);
    answer.json()["count"].as_u64().expect("a count")
}

async fn read(client: &TestClient) -> u64 {
    let answer = client.post("/v1/read?id=hot", json!({})).await;
    if answer.status == 404 { 0 } else { answer.expect(200).json()["count"].as_u64().expect("a count") }
}

/// Increments the counter `times` times, one call after another. The returned counts must not decrease.
async fn write(client: TestClient, times: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    for _ in 0..times {
        seen.push(count(&client).await);
    }
    assert!(seen.is_sorted(), "a later call saw an older state: {seen:?}");
    seen
}

async fn check_writers(writers: usize, times: usize) {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    let mut seen = join_all((0..writers).map(|_| tokio::spawn(write(acme.clone(), times)))).await;
    let mut counts: Vec<u64> = seen.drain(..).flat_map(|one| one.expect("a writer that did not fail")).collect();
    counts.sort_unstable();
    let total = (writers * times) as u64;
    assert_eq!(counts, (1..=total).collect::<Vec<u64>>(), "each count was returned once");
    assert_eq!(read(&acme).await, total);
    let emitted: Vec<Value> = host.events().await.into_iter().map(|event| event.body["count"].clone()).collect();
    assert_eq!(emitted, (1..=total).map(Value::from).collect::<Vec<_>>(), "one event for each count, in order");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_64_writers_on_one_record_fails() {
    check_writers(64, soak::rounds(10, 1_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_256_writers_on_one_record_fails() {
    check_writers(256, soak::rounds(3, 300)).await;
}

/// The long call reads and writes 501 records, the contended record last. Every short call that commits meanwhile
/// conflicts with it. The writers continue until all long calls have committed. A starved call would exceed its
/// deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_of_500_records_commits_against_64_writers() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    let (long_calls, running) = (soak::rounds(3, 100), AtomicUsize::new(1));
    let writers = join_all((0..64).map(|_| async {
        let mut written = 0u64;
        while running.load(Ordering::Relaxed) > 0 {
            count(&acme).await;
            written += 1;
        }
        written
    }));
    let long = async {
        for _ in 0..long_calls {
            let _ = acme.post("/v1/many?count=500", json!({})).await.expect(200);
        }
        running.store(0, Ordering::Relaxed);
    };
    let (written, ()) = tokio::join!(writers, long);
    assert!(written.iter().all(|written| *written > 0), "a writer was starved: {written:?}");
    assert_eq!(read(&acme).await, written.iter().sum::<u64>() + long_calls as u64);
    let many = acme.post("/v1/read?id=many-499", json!({})).await.expect(200).json();
    assert_eq!(many["count"], long_calls);
    host.stop().await;
}

/// A read returns at least the last count that was acknowledged to its client, and never less than an earlier read.
/// Together with unique counts, this is a serial history on one record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_monotonic_and_include_acknowledged_writes() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    let client = |acme: TestClient, times: usize| async move {
        let mut least = 0;
        for _ in 0..times {
            let before = read(&acme).await;
            let written = count(&acme).await;
            let after = read(&acme).await;
            assert!(least <= before && before < written && written <= after, "{least} {before} {written} {after}");
            least = after;
        }
    };
    let times = soak::rounds(8, 500);
    for outcome in join_all((0..16).map(|_| tokio::spawn(client(acme.clone(), times)))).await {
        outcome.expect("a client that observed a serial history");
    }
    assert_eq!(read(&acme).await, 16 * times as u64);
    host.stop().await;
}

/// The host validates a refusal like a commit. If many calls request one label, exactly one gets it, regardless of
/// earlier reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_many_concurrent_calls_gets_a_unique_label() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    for label in 1..=soak::rounds(5, 200) {
        let path = format!("/v1/grab-label?label={label}");
        let answers = join_all((0..32).map(|_| acme.post(&path, json!({})))).await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        let lost = answers.iter().filter(|answer| answer.status == 409).count();
        assert_eq!((won, lost), (1, 31), "label {label}");
    }
    host.stop().await;
}
