//! Reads that are observed after their call has ended.

use super::*;
use crate::commit::draft::{Comparison, Condition, Query, Value};
use crate::commit::testing::DraftResult;

/// Runs `work` in a draft and registers its reads.
async fn registered(bench: &Bench, work: impl AsyncFn(&mut Draft) -> DraftResult<()>) -> Option<RegisteredReads> {
    let mut draft = bench.begin();
    work(&mut draft).await.unwrap();
    bench.committer.register_reads(draft.into_changes(None)).await.unwrap()
}

async fn read(draft: &mut Draft, id: &str) -> DraftResult<()> {
    draft.get("things", id).await.map(|_| ())
}

async fn search(draft: &mut Draft) -> DraftResult<()> {
    let by_kind = Condition { field: "kind".into(), comparison: Comparison::Equal(Value::Text("a".into())) };
    let query = Query { conditions: vec![by_kind], limit: 10, ..Query::default() };
    draft.find("things", &query).await.map(|_| ())
}

#[tokio::test]
async fn reads_are_unchanged_until_one_of_them_is_written() {
    let bench = Bench::open().await;
    for id in ["a", "b"] {
        bench.run(async |draft| increment(draft, id).await).await.unwrap();
    }
    let reads = registered(&bench, async |draft| read(draft, "a").await).await.unwrap();
    bench.run(async |draft| increment(draft, "b").await).await.unwrap();
    assert!(reads.are_unchanged(), "another record was written");
    bench.run(async |draft| increment(draft, "a").await).await.unwrap();
    assert!(!reads.are_unchanged());
}

#[tokio::test]
async fn absence_is_a_read() {
    let bench = Bench::open().await;
    let reads = registered(&bench, async |draft| read(draft, "a").await).await.unwrap();
    assert!(reads.are_unchanged());
    bench.run(async |draft| increment(draft, "a").await).await.unwrap();
    assert!(!reads.are_unchanged());
}

#[tokio::test]
async fn search_is_unchanged_until_its_collection_is_written() {
    let bench = Bench::open().await;
    let reads = registered(&bench, async |draft| search(draft).await).await.unwrap();
    let mut elsewhere = bench.committer.begin(call(&bench.model, "other/test"));
    increment(&mut elsewhere, "a").await.unwrap();
    bench.committer.commit(elsewhere.into_changes(None), None).await.unwrap();
    assert!(reads.are_unchanged(), "another tenant wrote");
    bench.run(async |draft| increment(draft, "a").await).await.unwrap();
    assert!(!reads.are_unchanged());
}

#[tokio::test]
async fn reads_that_changed_while_the_call_ran_are_not_registered() {
    let bench = Bench::open().await;
    for is_search in [false, true] {
        let mut draft = bench.begin();
        match is_search {
            true => search(&mut draft).await.unwrap(),
            false => read(&mut draft, "a").await.unwrap(),
        }
        bench.run(async |draft| increment(draft, "a").await).await.unwrap();
        let reads = bench.committer.register_reads(draft.into_changes(None)).await.unwrap();
        assert!(reads.is_none());
    }
}

#[tokio::test]
async fn accepted_write_changes_reads_before_it_is_durable() {
    let bench = Bench::open().await;
    let reads = registered(&bench, async |draft| read(draft, "a").await).await.unwrap();
    let mut draft = bench.begin();
    increment(&mut draft, "a").await.unwrap();
    let mut committed = Box::pin(bench.committer.commit(draft.into_changes(None), None));
    assert!(committed.as_mut().now_or_never().is_none(), "it waits for the disk");
    assert!(!reads.are_unchanged());
    committed.await.unwrap();
}

#[tokio::test]
async fn reads_of_an_epoch_that_ended_count_as_changed() {
    let bench = Bench::open().await;
    let reads = registered(&bench, async |draft| read(draft, "a").await).await.unwrap();
    bench.committer.clear_cache().await;
    assert!(!reads.are_unchanged());
    drop(reads);
    let again = registered(&bench, async |draft| read(draft, "a").await).await.unwrap();
    assert!(again.are_unchanged(), "a removed set of an older epoch left the new one alone");
}

#[tokio::test]
async fn anonymous_call_registers_nothing() {
    let bench = Bench::open().await;
    let draft = bench.committer.begin(call(&bench.model, ""));
    assert!(bench.committer.register_reads(draft.into_changes(None)).await.unwrap().is_none());
}

#[tokio::test]
async fn idle_writer_detects_a_foreign_write_to_a_collection_that_was_only_searched() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    bench.committer.clear_cache().await;
    let reads = registered(&bench, async |draft| search(draft).await).await.unwrap();
    faults::write_from_outside(&bench, r#"{"n":41}"#).await;
    assert!(reads.are_unchanged(), "the file is not checked for each answer");
    faults::let_writer_detect(&bench).await;
    assert!(!reads.are_unchanged());
}
