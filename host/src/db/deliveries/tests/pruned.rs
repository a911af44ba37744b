//! What is forgotten, and what never is.

use super::*;
use crate::db::retention::{GoOn, Growing};
use crate::limits::DELIVERIES_PRUNED_AT_ONCE;

const GO_ON: GoOn<'_> = &|| true;

/// An event with an attempt, and what became of it.
async fn with(bench: &mut Bench, event: &str, at: Timestamp, then: Then) {
    bench.emit(event).await;
    bench.attempt("ep", event, at, then).await;
}

#[tokio::test]
async fn what_ended_long_ago_goes_with_its_attempts_and_what_waits_stays() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    with(&mut bench, "delivered", 2_000, Then::Delivered).await;
    with(&mut bench, "failed", 2_000, Then::GivenUp).await;
    with(&mut bench, "retrying", 2_000, Then::RetryAt(9_000)).await;
    bench.emit("pending").await;
    with(&mut bench, "recent", 8_000, Then::Delivered).await;
    assert_eq!(bench.file.db.prune_deliveries(8_000, GO_ON).await.unwrap(), 2);
    let left: Vec<String> = bench.deliveries(TENANT, "ep").await.into_keys().collect();
    assert_eq!(left, ["pending", "recent", "retrying"]);
    assert_eq!(bench.count("attempts").await, 2);
    assert_eq!(bench.file.db.prune_deliveries(8_000, GO_ON).await.unwrap(), 0);
}

#[tokio::test]
async fn more_than_one_chunk_goes_in_one_round() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    let changes = (0..2 * DELIVERIES_PRUNED_AT_ONCE + 7).map(|n| bench.change(TENANT).event(&format!("event_{n}")));
    let changes = changes.collect();
    bench.apply(changes).await;
    bench.file.db.execute(sqlx::query("UPDATE deliveries SET state = 2, at = 1")).await.unwrap();
    let pruned = bench.file.db.prune_deliveries(u64::MAX >> 1, GO_ON).await.unwrap();
    assert_eq!(pruned, u64::from(2 * DELIVERIES_PRUNED_AT_ONCE + 7));
}

#[tokio::test]
async fn what_waits_for_an_endpoint_goes_with_its_event_and_not_before() {
    let mut bench = Bench::open().await;
    let put = bench.change(TENANT).endpoint("ep", &Endpoint { enabled: false, ..plain() });
    bench.apply(vec![put]).await;
    bench.emit("old").await;
    with(&mut bench, "tried", 2_000, Then::RetryAt(9_000)).await;
    bench.emit("new").await;
    assert_eq!(bench.file.db.prune_orphans(GO_ON).await.unwrap(), 0);
    assert_eq!(bench.file.db.prune_deliveries(u64::MAX >> 1, GO_ON).await.unwrap(), 0);
    // The three events happened at 1 003, 1 005 and 1 007.
    assert_eq!(bench.file.db.prune_older(Growing::Events, 1_006, GO_ON).await.unwrap(), 2);
    assert_eq!(bench.file.db.prune_orphans(GO_ON).await.unwrap(), 2);
    assert_eq!((bench.count("deliveries").await, bench.count("attempts").await), (1, 0));
    bench.file.db.prune_older(Growing::Events, u64::MAX, GO_ON).await.unwrap();
    assert_eq!(bench.file.db.prune_orphans(GO_ON).await.unwrap(), 1);
}

#[tokio::test]
async fn an_endpoint_that_is_removed_leaves_nothing_behind() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    bench.put("other").await;
    for event in ["a", "b", "c"] {
        with(&mut bench, event, 2_000, Then::GivenUp).await;
    }
    let remove = bench.change(TENANT).remove_endpoint("ep");
    bench.apply(vec![remove]).await;
    assert_eq!(bench.file.db.prune_orphans(GO_ON).await.unwrap(), 3);
    assert_eq!((bench.count("deliveries").await, bench.count("attempts").await), (3, 0));
    assert_eq!(bench.deliveries(TENANT, "other").await.len(), 3);
    assert_eq!(bench.file.db.prune_orphans(GO_ON).await.unwrap(), 0);
}
