//! Who waits for whom when a call has its turn.

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

/// A call of this tenant that another one got ahead of.
async fn lose(bench: &Bench, tenant: &str) -> Conflict {
    let slow = change_one(bench, tenant).await;
    bench.committer.commit(change_one(bench, tenant).await, None).await.unwrap();
    match bench.committer.commit(slow, None).await {
        Err(CommitError::Conflict(lost)) => lost,
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn a_turn_holds_up_its_own_tenant_and_no_other() {
    let bench = Bench::open().await;
    let (ours, ours_too) = (lose(&bench, "acme/test").await, lose(&bench, "acme/test").await);
    let theirs = lose(&bench, "other/test").await;
    let turn = bench.committer.take_turn(&ours).await;
    assert!(bench.committer.take_turn(&ours_too).now_or_never().is_none());
    assert!(bench.committer.take_turn(&theirs).now_or_never().is_some());
    bench.committer.commit(change_one(&bench, "other/test").await, None).await.unwrap();
    drop(turn);
    assert!(bench.committer.take_turn(&ours_too).now_or_never().is_some());
}

#[tokio::test]
async fn who_waits_for_a_turn_past_its_deadline_changes_nothing() {
    let bench = Bench::open().await;
    let lost = lose(&bench, "acme/test").await;
    let turn = bench.committer.take_turn(&lost).await;
    let late = change_one(&bench, "acme/test").await.until(Instant::now());
    let outcome = bench.committer.commit(late, None).await;
    assert!(matches!(outcome, Err(CommitError::Late)), "{outcome:?}");
    drop(turn);
    assert_eq!(bench.stored("one").await, Some(1));
}

#[tokio::test]
async fn call_that_is_charged_for_memory_runs_again_and_does_not_wait_for_another_turn() {
    let bench = Bench::open().await;
    let lost = lose(&bench, "acme/test").await;
    let turn = bench.committer.take_turn(&lost).await;
    let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 20, tenant_percent: 50 });
    let mut draft = bench.committer.begin(call(&bench.model, "acme/test"));
    increment(&mut draft, "one").await.unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    draft.keep_charge(budget.charge_call(&"acme/test".into(), Request::of(3_000), until).await.unwrap());
    match bench.committer.commit(draft.into_changes(None), None).await {
        Err(CommitError::Conflict(lost)) => assert!(lost.is_reserved(), "{lost:?}"),
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(budget.readings()[0].used, 0);
    let beside_an_answer = change_one(&bench, "acme/test").await.beside(HELD_STEP_BYTES);
    let outcome = bench.committer.commit(beside_an_answer, None).await;
    assert!(matches!(&outcome, Err(CommitError::Conflict(lost)) if lost.is_reserved()), "{outcome:?}");
    drop(turn);
}

#[tokio::test]
async fn a_turn_that_has_won_holds_up_nobody() {
    let bench = Bench::open().await;
    let lost = lose(&bench, "acme/test").await;
    let mut turn = bench.committer.take_turn(&lost).await;
    let changes = change_one(&bench, "acme/test").await;
    bench.committer.commit(changes, Some(&mut turn)).await.unwrap();
    bench.committer.commit(change_one(&bench, "acme/test").await, None).await.unwrap();
    drop(turn);
    assert_eq!(bench.stored("one").await, Some(3));
}

#[tokio::test]
async fn a_turn_ends_when_its_call_is_accepted_and_not_when_that_is_durable() {
    let bench = Bench::open().await;
    let (first, second) = (lose(&bench, "acme/test").await, lose(&bench, "acme/test").await);
    let mut turn = bench.committer.take_turn(&first).await;
    let changes = change_one(&bench, "acme/test").await;
    let mut commit = Box::pin(bench.committer.commit(changes, Some(&mut turn)));
    assert!((&mut commit).now_or_never().is_none(), "it is accepted, and not durable yet");
    assert!(bench.committer.take_turn(&second).now_or_never().is_some());
    commit.await.unwrap();
}
