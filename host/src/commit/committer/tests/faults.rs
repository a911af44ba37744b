//! Faults of the database, at every step of a batch.

use std::time::Duration;

use super::*;
use crate::changes::change_set::Space;
use crate::commit::testing::{decided_by, scope, transfer};
use crate::limits::FOREIGN_WRITE_CHECK_MS;

/// Runs many calls at once while several batches fail. Checks that each acknowledged call is applied exactly once.
/// Returns the numbers of acknowledged and of failed calls.
async fn storm_with(failpoint: Failpoint) -> (u64, u64) {
    let bench = Bench::open().await;
    let acknowledged = AtomicU64::new(0);
    let calls = (0..40).map(|call| {
        let (bench, acknowledged) = (&bench, &acknowledged);
        async move {
            let mut outcomes = Vec::new();
            for round in 0..5 {
                if call == 0 {
                    bench.fail(failpoint);
                }
                let own = format!("own-{call}-{round}");
                let work = async |draft: &mut Draft| {
                    increment(draft, "shared").await?;
                    increment(draft, &own).await
                };
                let outcome = bench.run(work).await;
                assert!(matches!(outcome, Ok(_) | Err(CommitError::Unavailable(_))), "{outcome:?}");
                acknowledged.fetch_add(u64::from(outcome.is_ok()), Relaxed);
                outcomes.push((own, outcome.is_ok()));
            }
            outcomes
        }
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().flatten().collect();
    for (own, acknowledged) in &outcomes {
        assert_eq!(bench.stored(own).await, acknowledged.then_some(1), "{own}");
    }
    let acknowledged = acknowledged.into_inner();
    assert_eq!(bench.stored("shared").await, Some(acknowledged));
    (acknowledged, outcomes.len() as u64 - acknowledged)
}

#[tokio::test]
async fn batch_that_fails_before_its_commit_is_retried_in_halves() {
    assert_eq!(storm_with(Failpoint::BeforeCommit).await, (200, 0));
}

#[tokio::test]
async fn lost_commit_is_not_acknowledged() {
    let (acknowledged, failed) = storm_with(Failpoint::DuringCommitLost).await;
    assert!(acknowledged > 0 && failed > 0);
}

#[tokio::test]
async fn successful_commit_on_a_lost_connection_is_acknowledged_once() {
    assert!(storm_with(Failpoint::DuringCommitKept).await.0 > 0);
}

/// Renames a file of the database. While it has another name, it stays open but cannot be opened again, as on a missing
/// disk.
fn move_file(bench: &Bench, from: &str, to: &str) {
    std::fs::rename(bench.folder.path().join(from), bench.folder.path().join(to)).unwrap();
}

/// Loses the connection during COMMIT while the database cannot be queried for the outcome. Returns the number in the
/// stored record afterwards.
async fn outcome_is_unknown_after(failpoint: Failpoint) -> Option<u64> {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    bench.fail(failpoint);
    move_file(&bench, "test.db", "away.db");
    let outcome = bench.run(async |draft| increment(draft, "one").await).await;
    assert!(matches!(outcome, Err(CommitError::OutcomeUnknown)), "{outcome:?}");
    assert!(bench.committer.closed().is_some());
    move_file(&bench, "away.db", "test.db");
    while bench.committer.closed().is_some() {
        tokio::task::yield_now().await;
    }
    let stored = bench.stored("one").await;
    // If SQLite cannot open a file for writing, it opens it read-only. If the file is restored between these two
    // attempts, the first write fails.
    while let Err(error) = bench.run(async |draft| increment(draft, "one").await).await {
        assert!(matches!(error, CommitError::Unavailable(_)), "{error:?}");
    }
    assert_eq!(bench.stored("one").await, stored.map(|number| number + 1), "it continues from the state of the file");
    stored
}

#[tokio::test]
async fn unknown_outcome_is_reported_and_decided_by_the_file() {
    assert_eq!(outcome_is_unknown_after(Failpoint::DuringCommitLost).await, Some(1));
    assert_eq!(outcome_is_unknown_after(Failpoint::DuringCommitKept).await, Some(2));
}

/// The call fails a requirement because of a balance that an accepted change wrote. That change is lost, so the call
/// runs again instead of failing for good.
#[tokio::test]
async fn call_that_depends_on_a_lost_change_is_discarded() {
    let bench = Bench::open().await;
    let mut fills = bench.begin();
    fills.open_external("outside").await.unwrap();
    fills.post(vec![transfer("t1", "outside", "inside", 5)]).await.unwrap().unwrap();
    bench.fail(Failpoint::DuringCommitLost);
    let mut lost = Box::pin(bench.committer.commit(fills.into_changes(None), None));
    assert!((&mut lost).now_or_never().is_none());
    let mut rests = bench.begin();
    rests.require("inside", "coin", Some(6.into()), None).await.unwrap();
    rests.append_journal(decided_by(), "{}".into()).unwrap();
    let (lost, rests) = tokio::join!(lost, bench.committer.commit(rests.into_changes(None), None));
    assert!(matches!(lost, Err(CommitError::Unavailable(_))), "{lost:?}");
    assert!(matches!(rests, Err(CommitError::Discarded)), "{rests:?}");
}

async fn insert(bench: &Bench, id: &str, body: &str) -> Result<u32, CommitError> {
    bench.run(async |draft| draft.insert("things", id, body.to_owned()).await.map(|done| done.unwrap())).await
}

/// Returns changes without their unique values. After the caller has removed the reads of unique values as well, only
/// the unique index of the database rejects them.
async fn poison(bench: &Bench) -> Changes {
    let mut draft = bench.begin();
    draft.insert("things", "poison", r#"{"n":1,"title":"taken"}"#.into()).await.unwrap().unwrap();
    let mut changes = draft.into_changes(None);
    changes.set.as_mut().unwrap().uniques.clear();
    changes
}

#[tokio::test]
async fn only_the_change_set_that_cannot_be_applied_fails() {
    let bench = Bench::open().await;
    let poison = poison(&bench).await;
    insert(&bench, "first", r#"{"n":1,"title":"taken"}"#).await.unwrap();
    let mut changes = poison;
    changes.set.as_mut().unwrap().reads.retain(|read| !matches!(read.key.space, Space::Unique(..)));
    let calls = (0..20).map(|call| {
        let bench = &bench;
        async move { bench.run(async |draft| increment(draft, &format!("good-{}", call % 7)).await).await }
    });
    let (before, after): (Vec<_>, Vec<_>) = calls.enumerate().partition(|(call, _)| call % 2 == 0);
    let (before, poisoned, after) = tokio::join!(
        join_all(before.into_iter().map(|(_, call)| call)),
        bench.committer.commit(changes, None),
        join_all(after.into_iter().map(|(_, call)| call)),
    );
    assert!(matches!(poisoned, Err(CommitError::Poisoned(_))), "{poisoned:?}");
    assert!(before.into_iter().chain(after).all(|outcome| outcome.is_ok()));
    let mut sum = 0;
    for id in 0..7 {
        sum += bench.stored(&format!("good-{id}")).await.unwrap();
    }
    assert_eq!((sum, bench.stored("poison").await), (20, None));
}

#[tokio::test]
async fn no_version_is_reused_after_a_poisoned_change_set() {
    let bench = Bench::open().await;
    let mut changes = poison(&bench).await;
    insert(&bench, "first", r#"{"n":1,"title":"taken"}"#).await.unwrap();
    changes.set.as_mut().unwrap().reads.retain(|read| !matches!(read.key.space, Space::Unique(..)));
    let poisoned = bench.committer.commit(changes, None).await;
    assert!(matches!(poisoned, Err(CommitError::Poisoned(_))), "{poisoned:?}");
    let things = bench.model.collection("things").unwrap();
    let first = bench.database.find_record(&scope("acme/test"), things, "first").await.unwrap().unwrap();
    assert!(bench.database.latest_version().await.unwrap() >= first.version);
}

#[tokio::test]
async fn no_version_is_reused_after_an_unknown_outcome() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    bench.fail(Failpoint::DuringCommitKept);
    move_file(&bench, "test.db", "away.db");
    let lost = insert(&bench, "first", r#"{"n":1,"title":"taken"}"#).await;
    assert!(matches!(lost, Err(CommitError::OutcomeUnknown)), "{lost:?}");
    move_file(&bench, "away.db", "test.db");
    while bench.committer.closed().is_some() {
        tokio::task::yield_now().await;
    }
    let things = bench.model.collection("things").unwrap();
    let first = bench.database.find_record(&scope("acme/test"), things, "first").await.unwrap().unwrap();
    // The empty batch that tests the database has the version of the last batch that may be durable.
    let mut draft = bench.begin();
    draft.insert("things", "poison", r#"{"n":1,"title":"free"}"#.into()).await.unwrap().unwrap();
    let mut changes = draft.into_changes(None);
    let after = changes.set.as_mut().unwrap().records[0].after.as_mut().unwrap();
    let body = r#"{"n":1,"title":"taken"}"#;
    (after.body, after.fields) = (body.into(), things.extract(body).unwrap());
    let poisoned = bench.committer.commit(changes, None).await;
    assert!(matches!(poisoned, Err(CommitError::Poisoned(_))), "{poisoned:?}");
    assert!(bench.database.latest_version().await.unwrap() >= first.version);
}

#[tokio::test]
async fn full_disk_loses_no_acknowledged_change() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "before").await).await.unwrap();
    bench.database.limit_pages(1).await.unwrap();
    let mut failed = 0;
    let mut stored_ids = Vec::new();
    for round in 0..30 {
        let id = format!("large-{round}");
        let body = format!(r#"{{"n":1,"text":"{}"}}"#, "x".repeat(20_000));
        match insert(&bench, &id, &body).await {
            Ok(_) => stored_ids.push(id),
            Err(error) => {
                // A full disk poisons no change set, not even the first one that fails.
                assert!(matches!(error, CommitError::Unavailable(_)), "{error:?}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0);
    assert!(bench.committer.closed().is_some_and(|why| why.contains("full")), "/readyz reports it");
    bench.database.limit_pages(0).await.unwrap();
    bench.run(async |draft| increment(draft, "after").await).await.unwrap();
    assert_eq!(bench.committer.closed(), None);
    assert_eq!((bench.stored("before").await, bench.stored("after").await), (Some(1), Some(1)));
    for id in stored_ids {
        assert_eq!(bench.stored(&id).await, Some(1));
    }
}

#[tokio::test]
async fn foreign_write_is_read_by_later_calls() {
    let bench = Bench::open().await;
    bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    write_from_outside(&bench, r#"{"n":41}"#).await;
    let runs = bench.run(async |draft| increment(draft, "one").await).await.unwrap();
    assert_eq!((bench.stored("one").await, runs), (Some(42), 2));
}

/// Lets the writer check the file, and waits until it has detected the foreign write.
pub(super) async fn let_writer_detect(bench: &Bench) {
    tokio::time::pause();
    // Tokio rounds the end of the writer's wait up to a whole millisecond.
    tokio::time::advance(Duration::from_millis(FOREIGN_WRITE_CHECK_MS + 2)).await;
    while bench.committer.stats().resets.foreign_writes == 0 {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn write_from_outside(bench: &Bench, body: &str) {
    use sqlx::Connection;
    let path = bench.folder.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let find = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%things%'";
    let table: String = sqlx::query_scalar(find).fetch_one(&mut other).await.unwrap();
    let update = format!("UPDATE \"{table}\" SET body = ?, version = 1000000 WHERE tenant = ?");
    let query = sqlx::query(sqlx::AssertSqlSafe(update)).bind(body).bind(scope("acme/test").tenant().to_string());
    assert_eq!(query.execute(&mut other).await.unwrap().rows_affected(), 1);
    other.close().await.unwrap();
}
