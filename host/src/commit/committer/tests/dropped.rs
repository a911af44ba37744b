//! Dropped callers and ended tasks: nothing is reset, and no caller waits forever.

use std::pin::pin;

use super::*;

/// Drops the future after `polls` polls. Returns true if it was still pending.
async fn drop_after<F: Future>(polls: usize, work: F) -> bool {
    let mut work = pin!(work);
    for _ in 0..polls {
        if work.as_mut().now_or_never().is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn increment_without_reset(bench: &Bench) {
    let runs = bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    assert_eq!(runs, 1, "the cache was emptied");
}

#[tokio::test]
async fn caller_dropped_while_numbers_are_reserved_resets_nothing() {
    let bench = Bench::open().await;
    increment_without_reset(&bench).await;
    let mut draft = bench.begin();
    assert!(draft.next("number").now_or_never().is_none());
    drop(draft);
    increment_without_reset(&bench).await;
}

#[tokio::test]
async fn callers_dropped_at_any_point_of_a_write_reset_nothing() {
    let bench = Bench::open().await;
    increment_without_reset(&bench).await;
    let mut pending = 0;
    for polls in 0..40 {
        let id = [u8::try_from(polls).unwrap(); 32];
        pending += u64::from(drop_after(polls % 20, bench.database.record_assertion(&id, 10, 5)).await);
        increment_without_reset(&bench).await;
        drop_after(polls % 20, bench.database.put_secret("name", b"sealed", None)).await;
        increment_without_reset(&bench).await;
    }
    assert!(pending > 20, "they are dropped in the middle");
    assert_eq!(bench.committer.stats().resets, Resets::default());
}

#[tokio::test]
async fn clear_cache_returns_after_shutdown() {
    let bench = Bench::open().await;
    bench.task.shutdown().await;
    bench.committer.clear_cache().await;
}

#[tokio::test]
async fn idle_writer_detects_a_foreign_write() {
    let bench = Bench::open().await;
    increment_without_reset(&bench).await;
    faults::write_from_outside(&bench, r#"{"n":41}"#).await;
    let read = async || {
        let mut draft = bench.begin();
        let found = draft.get("things", "one").await.unwrap().unwrap();
        crate::commit::testing::number(&found.body)
    };
    assert_eq!(read().await, 1, "the cache is not checked for each read");
    faults::let_writer_detect(&bench).await;
    assert_eq!(read().await, 41);
}
