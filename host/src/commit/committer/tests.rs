//! The committer with a real file: acknowledged changes are durable, other calls run again, no change is applied twice.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::*;
use crate::changes::change_set::IdempotencyRecord;
use crate::commit::draft::Draft;
use crate::commit::testing::{Bench, call, decided_by, increment};
use crate::db::apply::Failpoint;
use crate::limits::COMMIT_QUEUE_MAX;

mod capacity;
mod dropped;
mod faults;
mod reads;
mod reservations;
mod simulation;

/// Runs the work on a thread of its own.
fn on_a_thread<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) -> tokio::task::JoinHandle<()> {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work()))
}

/// Returns bounds for which every change set is large and few are accepted at once.
fn all_large() -> LargeBounds {
    LargeBounds { from_bytes: 0, writing_bytes: 20, held_bytes: 1 << 20 }
}

async fn hammer_one_record(bench: Arc<Bench>, writers: u64, rounds: u64) {
    let tasks = (0..writers).map(|_| {
        let bench = bench.clone();
        on_a_thread(move || async move {
            for _ in 0..rounds {
                bench.run(async |draft| increment(draft, "hot").await).await.unwrap();
            }
        })
    });
    for done in join_all(tasks).await {
        done.unwrap();
    }
    assert_eq!(bench.stored("hot").await, Some(writers * rounds));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_of_64_concurrent_writers_is_lost() {
    hammer_one_record(Arc::new(Bench::open().await), 64, 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_without_a_cache() {
    hammer_one_record(Arc::new(Bench::with_cache(0).await), 256, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_with_little_capacity() {
    let settings = CommitterSettings { large: all_large(), ..CommitterSettings::default() };
    hammer_one_record(Arc::new(Bench::with(settings).await), 64, 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_call_commits_against_256_writers() {
    let bench = Arc::new(Bench::open().await);
    let ids: Vec<String> = (0..499).map(|id| format!("cold-{id}")).chain(["hot".to_owned()]).collect();
    let long = async {
        let work = async |draft: &mut Draft| {
            draft.get_many("things", &ids).await?;
            for id in &ids {
                increment(draft, id).await?;
                tokio::task::yield_now().await;
            }
            Ok(())
        };
        bench.run(work).await.unwrap()
    };
    let (runs, ()) = tokio::join!(long, async {
        let writers = (0..256).map(|_| async {
            for _ in 0..5 {
                bench.run(async |draft| increment(draft, "hot").await).await.unwrap();
            }
        });
        join_all(writers).await;
    });
    assert_eq!(bench.stored("hot").await, Some(256 * 5 + 1));
    assert_eq!(bench.stored("cold-498").await, Some(1));
    assert!(runs < 20, "{runs} runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_idempotency_keys_have_one_effect() {
    let bench = Arc::new(Bench::open().await);
    let tasks = (0..200).map(|task: u64| {
        let bench = bench.clone();
        on_a_thread(move || async move {
            let name = format!("{}", task % 4);
            let work = async |draft: &mut Draft| {
                if draft.find_idempotency_record(&name).await?.is_some() {
                    return Ok(None);
                }
                increment(draft, &name).await?;
                let sealed = Arc::from([1_u8, 2]);
                Ok(Some(IdempotencyRecord { name: name.as_str().into(), fingerprint: [1; 32], sealed }))
            };
            bench.run_with_record(work).await.unwrap();
        })
    });
    join_all(tasks).await;
    for name in ["0", "1", "2", "3"] {
        assert_eq!(bench.stored(name).await, Some(1));
    }
}

#[tokio::test]
async fn accepted_change_set_is_applied_if_its_caller_is_dropped() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    increment(&mut draft, "one").await.unwrap();
    let mut commit = Box::pin(bench.committer.commit(draft.into_changes(None), None));
    assert!((&mut commit).now_or_never().is_none());
    drop(commit);
    let Bench { task, database, model, folder: _folder, .. } = bench;
    task.shutdown().await;
    let things = model.collection("things").unwrap();
    let scope = crate::commit::testing::scope("acme/test");
    assert!(database.find_record(&scope, things, "one").await.unwrap().is_some());
}

#[tokio::test]
async fn nothing_is_accepted_after_shutdown() {
    let bench = Bench::open().await;
    let mut draft = bench.begin();
    increment(&mut draft, "one").await.unwrap();
    bench.task.shutdown().await;
    let refused = bench.committer.commit(draft.into_changes(None), None).await;
    assert!(matches!(refused, Err(CommitError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn read_of_an_accepted_write_waits_until_it_is_durable() {
    let bench = Bench::open().await;
    let mut writer = bench.begin();
    increment(&mut writer, "one").await.unwrap();
    let mut commit = Box::pin(bench.committer.commit(writer.into_changes(None), None));
    assert!((&mut commit).now_or_never().is_none());
    let mut reader = bench.begin();
    assert!(reader.get("things", "one").await.unwrap().is_some());
    bench.committer.commit(reader.into_changes(None), None).await.unwrap();
    assert_eq!(bench.stored("one").await, Some(1));
}

#[tokio::test]
async fn refusal_based_on_outdated_reads_conflicts() {
    let bench = Bench::open().await;
    let mut refuses = bench.begin();
    assert!(refuses.get("things", "one").await.unwrap().is_none());
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    let lost = bench.committer.commit(refuses.into_refusal(), None).await;
    assert!(matches!(lost, Err(CommitError::Conflict(_))), "{lost:?}");
}

#[tokio::test]
async fn ended_call_pins_nothing() {
    let bench = Bench::with_cache(0).await;
    drop(bench.begin());
    for round in 0..200 {
        bench.run(async |draft| increment(draft, &format!("thing-{round}")).await).await.unwrap();
    }
    assert!(bench.committer.stats().overlay_entries < 100);
}

#[tokio::test]
async fn full_queue_is_busy_and_one_tenant_cannot_fill_it() {
    let bench = Bench::open().await;
    // The writer task does not run as long as this test does not wait.
    let fill = |tenant: &str| {
        let mut accepted = 0;
        loop {
            let mut draft = bench.committer.begin(call(&bench.model, tenant));
            draft.append_journal(decided_by(), "{}".into()).unwrap();
            match bench.committer.commit(draft.into_changes(None), None).now_or_never() {
                None => accepted += 1,
                Some(refused) => {
                    assert!(matches!(refused, Err(CommitError::Busy)), "{refused:?}");
                    return accepted;
                }
            }
        }
    };
    assert_eq!(fill("acme/test"), COMMIT_QUEUE_MAX / 2);
    assert_eq!(fill("rival/test"), COMMIT_QUEUE_MAX / 4);
    assert_eq!(fill("acme/test"), 0);
    assert_eq!(fill("third/test"), COMMIT_QUEUE_MAX / 8);
}
