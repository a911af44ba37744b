//! Large change sets concurrent with small ones, and large change sets of several tenants.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::*;
use crate::budget::Budget;
use crate::budget::MemoryConfig;
use crate::fair::Request;

/// Opens a bench with capacity for one change set of `large` at once.
async fn bench() -> Bench {
    let large = LargeBounds { from_bytes: 1_000, writing_bytes: 4_000, held_bytes: 40_000 };
    Bench::with(CommitterSettings { large, ..CommitterSettings::default() }).await
}

fn large(bench: &Bench, tenant: &str) -> Changes {
    of_bytes(bench, tenant, 3_000)
}

fn of_bytes(bench: &Bench, tenant: &str, bytes: usize) -> Changes {
    let mut draft = bench.committer.begin(call(&bench.model, tenant));
    draft.append_journal(decided_by(), format!("\"{}\"", "x".repeat(bytes))).unwrap();
    draft.into_changes(None)
}

/// Commits in this order, and returns the names in the order of completion.
async fn order_of<'a>(bench: &'a Bench, changes: Vec<(&'static str, Changes)>) -> Vec<&'static str> {
    let commits: FuturesUnordered<LocalBoxFuture<'a, &'static str>> = FuturesUnordered::new();
    for (name, changes) in changes {
        let mut commit = Box::pin(bench.committer.commit(changes, None));
        assert!((&mut commit).now_or_never().is_none());
        commits.push(Box::pin(async move {
            commit.await.unwrap();
            name
        }));
    }
    commits.collect().await
}

#[tokio::test]
async fn small_change_waits_for_one_large_change_only() {
    let bench = bench().await;
    let mut changes: Vec<_> = (0..6).map(|_| ("large", large(&bench, "acme/test"))).collect();
    changes.push(("small", of_bytes(&bench, "rival/test", 10)));
    let order = order_of(&bench, changes).await;
    let at = order.iter().position(|name| *name == "small").unwrap();
    assert!(at <= 1, "{order:?}");
}

#[tokio::test]
async fn capacity_is_shared_fairly_between_tenants() {
    let bench = bench().await;
    let mut changes: Vec<_> = (0..6).map(|_| ("acme", large(&bench, "acme/test"))).collect();
    changes.extend((0..2).map(|_| ("rival", large(&bench, "rival/test"))));
    let order = order_of(&bench, changes).await;
    // Only the first one has a fixed position: a tenant is charged for the time of its commits, which the disk decides.
    let first = order.iter().position(|name| *name == "rival").unwrap();
    assert!(first <= 1, "{order:?}");
}

#[tokio::test]
async fn waiting_large_changes_are_bounded_and_leave_capacity_for_other_tenants() {
    let bench = bench().await;
    let mut waiting = Vec::new();
    let fill = |tenant: &str| {
        let before = waiting.len();
        loop {
            let mut commit = Box::pin(bench.committer.commit(large(&bench, tenant), None));
            match (&mut commit).now_or_never() {
                None => waiting.push(commit),
                Some(refused) => {
                    assert!(matches!(refused, Err(CommitError::Busy)), "{refused:?}");
                    return waiting.len() - before;
                }
            }
        }
    };
    assert_eq!(["acme/test", "rival/test", "acme/test", "third/test"].map(fill), [7, 3, 0, 2]);
    for done in join_all(waiting).await {
        done.unwrap();
    }
}

#[tokio::test]
async fn large_change_that_waits_past_its_deadline_is_not_applied() {
    let bench = bench().await;
    let mut first = Box::pin(bench.committer.commit(large(&bench, "acme/test"), None));
    assert!((&mut first).now_or_never().is_none());
    let long_ago = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
    let late = large(&bench, "acme/test").until(long_ago);
    // Polled once: the writer task runs only while this test waits, so the first change set still holds the capacity.
    let late = bench.committer.commit(late, None).now_or_never();
    assert!(matches!(late, Some(Err(CommitError::Busy))), "{late:?}");
    first.await.unwrap();
    assert_eq!(bench.committer.stats().changes, 1);
}

#[tokio::test]
async fn refusal_with_a_large_journal_is_large() {
    let bench = bench().await;
    let journal = |tenant| {
        let mut draft = bench.committer.begin(call(&bench.model, tenant));
        draft.append_journal(decided_by(), format!("\"{}\"", "x".repeat(3_000))).unwrap();
        draft.into_refusal()
    };
    let mut changes: Vec<_> = (0..6).map(|_| ("large", journal("acme/test"))).collect();
    changes.push(("small", of_bytes(&bench, "rival/test", 10)));
    let order = order_of(&bench, changes).await;
    assert!(order.iter().position(|name| *name == "small").unwrap() <= 1, "{order:?}");
}

#[tokio::test]
async fn host_change_does_not_wait_for_capacity() {
    let bench = bench().await;
    let mut changes: Vec<_> = (0..5).map(|_| ("large", large(&bench, "acme/test"))).collect();
    changes.push(("own", large(&bench, "acme/test").without_capacity()));
    let order = order_of(&bench, changes).await;
    assert!(order.iter().position(|name| *name == "own").unwrap() <= 1, "{order:?}");
}

#[tokio::test]
async fn dropped_large_change_releases_its_capacity() {
    let bench = bench().await;
    let mut waiting: Vec<_> =
        (0..3).map(|_| Box::pin(bench.committer.commit(large(&bench, "acme/test"), None))).collect();
    for commit in &mut waiting {
        assert!(commit.now_or_never().is_none());
    }
    let last = waiting.pop().unwrap();
    drop(waiting);
    last.await.unwrap();
}

#[tokio::test]
async fn changes_hold_the_charge_of_their_call_until_they_are_durable() {
    let bench = bench().await;
    let budget = Budget::new(&MemoryConfig { budget_bytes: 1 << 20, tenant_percent: 50 });
    let used = || budget.readings()[0].used;
    let mut draft = bench.committer.begin(call(&bench.model, "acme/test"));
    draft.append_journal(decided_by(), format!("\"{}\"", "x".repeat(3_000))).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    draft.keep_charge(budget.charge_call(&"acme/test".into(), Request::of(3_000), until).await.unwrap());
    let mut commit = Box::pin(bench.committer.commit(draft.into_changes(None), None));
    assert!((&mut commit).now_or_never().is_none());
    assert_eq!(used(), 3_000);
    commit.await.unwrap();
    assert_eq!(used(), 0);
}
