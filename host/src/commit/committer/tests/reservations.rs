//! Calls that wait for a reservation or for another call that holds one.

use std::time::Duration;

use super::*;
use crate::budget::Budget;
use crate::budget::MemoryConfig;
use crate::commit::testing::call;
use crate::fair::Request;
use crate::limits::HELD_STEP_BYTES;

async fn change_one(bench: &Bench, tenant: &str) -> Changes {
    let mut draft = bench.committer.begin(call(&bench.model, tenant));
    increment(&mut draft, "one").await.unwrap();
    draft.into_changes(None)
}

/// Runs a call of this tenant into a conflict and returns the conflict.
async fn cause_conflict(bench: &Bench, tenant: &str) -> Conflict {
    let slow = change_one(bench, tenant).await;
    bench.committer.commit(change_one(bench, tenant).await, None).await.unwrap();
    match bench.committer.commit(slow, None).await {
        Err(CommitError::Conflict(conflict)) => conflict,
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn reservation_blocks_its_own_tenant_only() {
    let bench = Bench::open().await;
    let (ours, ours_too) = (cause_conflict(&bench, "acme/test").await, cause_conflict(&bench, "acme/test").await);
    let theirs = cause_conflict(&bench, "other/test").await;
    let reservation = bench.committer.reserve(&ours).await;
    assert!(bench.committer.reserve(&ours_too).now_or_never().is_none());
    assert!(bench.committer.reserve(&theirs).now_or_never().is_some());
    bench.committer.commit(change_one(&bench, "other/test").await, None).await.unwrap();
    drop(reservation);
    assert!(bench.committer.reserve(&ours_too).now_or_never().is_some());
}

#[tokio::test]
async fn call_that_waits_for_a_reservation_past_its_deadline_changes_nothing() {
    let bench = Bench::open().await;
    let conflict = cause_conflict(&bench, "acme/test").await;
    let reservation = bench.committer.reserve(&conflict).await;
    let late = change_one(&bench, "acme/test").await.until(Instant::now());
    let outcome = bench.committer.commit(late, None).await;
    assert!(matches!(outcome, Err(CommitError::Late)), "{outcome:?}");
    drop(reservation);
    assert_eq!(bench.stored("one").await, Some(1));
}

#[tokio::test]
async fn call_that_holds_memory_conflicts_instead_of_waiting_for_a_reservation() {
    let bench = Bench::open().await;
    let conflict = cause_conflict(&bench, "acme/test").await;
    let reservation = bench.committer.reserve(&conflict).await;
    let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 20, tenant_percent: 50 });
    let mut draft = bench.committer.begin(call(&bench.model, "acme/test"));
    increment(&mut draft, "one").await.unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    draft.keep_charge(budget.charge_call(&"acme/test".into(), Request::of(3_000), until).await.unwrap());
    match bench.committer.commit(draft.into_changes(None), None).await {
        Err(CommitError::Conflict(conflict)) => assert!(conflict.is_reserved(), "{conflict:?}"),
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(budget.readings()[0].used, 0);
    let holds_answer = change_one(&bench, "acme/test").await.with_held_bytes(HELD_STEP_BYTES);
    let outcome = bench.committer.commit(holds_answer, None).await;
    assert!(matches!(&outcome, Err(CommitError::Conflict(conflict)) if conflict.is_reserved()), "{outcome:?}");
    drop(reservation);
}

#[tokio::test]
async fn reservation_of_a_committed_call_blocks_no_other_call() {
    let bench = Bench::open().await;
    let conflict = cause_conflict(&bench, "acme/test").await;
    let mut reservation = bench.committer.reserve(&conflict).await;
    let changes = change_one(&bench, "acme/test").await;
    bench.committer.commit(changes, Some(&mut reservation)).await.unwrap();
    bench.committer.commit(change_one(&bench, "acme/test").await, None).await.unwrap();
    drop(reservation);
    assert_eq!(bench.stored("one").await, Some(3));
}

#[tokio::test]
async fn reservation_is_released_on_acceptance() {
    let bench = Bench::open().await;
    let (first, second) = (cause_conflict(&bench, "acme/test").await, cause_conflict(&bench, "acme/test").await);
    let mut reservation = bench.committer.reserve(&first).await;
    let changes = change_one(&bench, "acme/test").await;
    let mut commit = Box::pin(bench.committer.commit(changes, Some(&mut reservation)));
    assert!((&mut commit).now_or_never().is_none(), "it is accepted, and not durable yet");
    assert!(bench.committer.reserve(&second).now_or_never().is_some());
    commit.await.unwrap();
}
