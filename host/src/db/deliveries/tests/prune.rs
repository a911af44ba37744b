//! Deletion of old deliveries.

use super::*;
use crate::db::retention::{ContinueCheck, GrowingTable};
use crate::limits::DELIVERIES_PRUNED_AT_ONCE;

const ALWAYS: ContinueCheck<'_> = &|| true;

/// Emits an event with an attempt that ends with the transition.
async fn emit_with_attempt(bench: &mut Bench, event: &str, at: Timestamp, transition: DeliveryTransition) {
    bench.emit(event).await;
    bench.attempt("ep", event, at, transition).await;
}

#[tokio::test]
async fn old_ended_deliveries_are_deleted_with_their_attempts_and_waiting_ones_are_kept() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    emit_with_attempt(&mut bench, "delivered", 2_000, DeliveryTransition::Delivered).await;
    emit_with_attempt(&mut bench, "failed", 2_000, DeliveryTransition::GivenUp).await;
    emit_with_attempt(&mut bench, "retrying", 2_000, DeliveryTransition::RetryAt(9_000)).await;
    bench.emit("pending").await;
    emit_with_attempt(&mut bench, "recent", 8_000, DeliveryTransition::Delivered).await;
    assert_eq!(bench.file.db.prune_deliveries(8_000, ALWAYS).await.unwrap(), 2);
    let left: Vec<String> = bench.deliveries(TENANT, "ep").await.into_keys().collect();
    assert_eq!(left, ["pending", "recent", "retrying"]);
    assert_eq!(bench.count("attempts").await, 2);
    assert_eq!(bench.file.db.prune_deliveries(8_000, ALWAYS).await.unwrap(), 0);
}

#[tokio::test]
async fn several_chunks_are_deleted_in_one_call() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    let changes = (0..2 * DELIVERIES_PRUNED_AT_ONCE + 7).map(|n| bench.change(TENANT).event(&format!("event_{n}")));
    let changes = changes.collect();
    bench.apply(changes).await;
    bench.file.db.execute(sqlx::query("UPDATE deliveries SET state = 2, at = 1")).await.unwrap();
    let pruned = bench.file.db.prune_deliveries(u64::MAX >> 1, ALWAYS).await.unwrap();
    assert_eq!(pruned, u64::from(2 * DELIVERIES_PRUNED_AT_ONCE + 7));
}

#[tokio::test]
async fn waiting_delivery_is_deleted_with_its_event_and_not_before() {
    let mut bench = Bench::open().await;
    let put = bench.change(TENANT).endpoint("ep", &Endpoint { enabled: false, ..plain() });
    bench.apply(vec![put]).await;
    bench.emit("old").await;
    emit_with_attempt(&mut bench, "tried", 2_000, DeliveryTransition::RetryAt(9_000)).await;
    bench.emit("new").await;
    assert_eq!(bench.file.db.prune_orphans(ALWAYS).await.unwrap(), 0);
    assert_eq!(bench.file.db.prune_deliveries(u64::MAX >> 1, ALWAYS).await.unwrap(), 0);
    // The three events happened at 1 003, 1 005 and 1 007.
    assert_eq!(bench.file.db.prune_older(GrowingTable::Events, 1_006, ALWAYS).await.unwrap(), 2);
    assert_eq!(bench.file.db.prune_orphans(ALWAYS).await.unwrap(), 2);
    assert_eq!((bench.count("deliveries").await, bench.count("attempts").await), (1, 0));
    bench.file.db.prune_older(GrowingTable::Events, u64::MAX, ALWAYS).await.unwrap();
    assert_eq!(bench.file.db.prune_orphans(ALWAYS).await.unwrap(), 1);
}

#[tokio::test]
async fn removed_endpoint_leaves_no_deliveries() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    bench.put("other").await;
    for event in ["a", "b", "c"] {
        emit_with_attempt(&mut bench, event, 2_000, DeliveryTransition::GivenUp).await;
    }
    let remove = bench.change(TENANT).remove_endpoint("ep");
    bench.apply(vec![remove]).await;
    assert_eq!(bench.file.db.prune_orphans(ALWAYS).await.unwrap(), 3);
    assert_eq!((bench.count("deliveries").await, bench.count("attempts").await), (3, 0));
    assert_eq!(bench.deliveries(TENANT, "other").await.len(), 3);
    assert_eq!(bench.file.db.prune_orphans(ALWAYS).await.unwrap(), 0);
}
