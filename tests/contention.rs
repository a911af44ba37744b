//! Many writers on one record over HTTP: nobody fails, nothing is lost, long calls are not starved, and the history that
//! the callers saw is one that calls made one after another could have had.

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

/// Each writer counts so often, one call after another; what it saw must grow.
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
    assert_eq!(counts, (1..=total).collect::<Vec<u64>>(), "each count was given out once");
    assert_eq!(read(&acme).await, total);
    let told: Vec<Value> = host.events().await.into_iter().map(|event| event.body["count"].clone()).collect();
    assert_eq!(told, (1..=total).map(Value::from).collect::<Vec<_>>(), "one event for each, in their order");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_writers_on_one_record_none_fails() {
    check_writers(64, soak::rounds(10, 1_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_256_writers_on_one_record_none_fails() {
    check_writers(256, soak::rounds(3, 300)).await;
}

/// It reads and writes 501 records, the hot one last: every short call that commits meanwhile makes it lose. They go on
/// until it is through, so if it were starved, this would end at its deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_500_records_gets_through_against_64_writers() {
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

/// Who was answered sees at least what it was told, and never again less than it once saw: on one record, that and
/// counts that are given out once is what a serial history looks like from outside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_reads_what_was_acknowledged_and_never_less() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    let actor = |acme: TestClient, times: usize| async move {
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
    for outcome in join_all((0..16).map(|_| tokio::spawn(actor(acme.clone(), times)))).await {
        outcome.expect("an actor that saw a serial history");
    }
    assert_eq!(read(&acme).await, 16 * times as u64);
    host.stop().await;
}

/// A refusal is checked like a commit: of many that want one label, exactly one gets it, whatever they saw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_want_one_label_one_gets_it() {
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
