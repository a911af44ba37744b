use std::sync::Arc;

use ethnum::I256;

use super::{ApplyError, Balance, Failpoint, Failpoints};
use crate::changes::change_set::{IdempotencyRecord, Key, Space, Transfer, UniqueWrite};
use crate::db::model::{DataModel, PrepareOptions};
use crate::db::testing::{TestFile, batch, change, index, model, scope};
use crate::db::{Database, DbError, Invalidation};

const TENANT: &str = "acme/test";

async fn body_of(db: &Database, model: &DataModel, id: &str) -> Option<String> {
    let things = model.collection("things").unwrap();
    let found = db.find_record(&scope("notes", TENANT), things, id).await.unwrap();
    found.map(|record| record.body.to_string())
}

async fn count_of(db: &Database, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(&*db.readers()).await.unwrap()
}

async fn ids_of(db: &Database, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(&*db.readers()).await.unwrap()
}

/// Writes on a separate connection, like `sqlite3` beside the host.
async fn write_from_another_program(file: &TestFile, sql: &'static str) {
    use sqlx::Connection;
    let mut other = sqlx::SqliteConnection::connect(&file.url()).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn last_state_of_each_record_is_written_with_its_version() {
    let model = model(vec![index("by-state", &["state"], false)]);
    let file = TestFile::with(&model).await;
    let changes = vec![
        change(&model, 1, TENANT).put("a", r#"{"state":"new"}"#).put("b", "{}"),
        change(&model, 2, TENANT).put("a", r#"{"state":"old"}"#).delete("b"),
        change(&model, 3, "other/test").put("a", r#"{"state":"theirs"}"#),
    ];
    file.db.writer().apply(&batch("b1", changes)).await.unwrap();
    let things = model.collection("things").unwrap();
    let a = file.db.find_record(&scope("notes", TENANT), things, "a").await.unwrap().unwrap();
    assert_eq!((a.version, &*a.body, a.created_at, a.updated_at), (2, r#"{"state":"old"}"#, 7, 1_002));
    assert_eq!(body_of(&file.db, &model, "b").await, None);
    assert_eq!(file.db.latest_version().await.unwrap(), 3);
}

#[tokio::test]
async fn batch_of_127_records_and_events_is_written_in_order() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let changes =
        (1..=127).map(|n| change(&model, n, TENANT).put(&format!("id{n}"), "{}").event(&format!("event_{n}")));
    file.db.writer().apply(&batch("b1", changes.collect())).await.unwrap();
    let ids: Vec<Arc<str>> = (0..=127).map(|n| format!("id{n}").into()).collect();
    let things = model.collection("things").unwrap();
    let found = file.db.find_records(&scope("notes", TENANT), things, &ids, usize::MAX).await.unwrap();
    let too_large = file.db.find_records(&scope("notes", TENANT), things, &ids, 1).await;
    assert!(matches!(too_large, Err(DbError::TooLarge(1))), "{too_large:?}");
    let versions: Vec<u64> = found.iter().flatten().map(|record| record.version).collect();
    assert_eq!(versions, (1..=127).collect::<Vec<u64>>());
    let events: Vec<(i64, String)> =
        sqlx::query_as("SELECT seq, id FROM events ORDER BY seq").fetch_all(&*file.db.readers()).await.unwrap();
    assert!(events.iter().zip(1..).all(|((seq, id), n)| *seq == n && *id == format!("event_{n}")));
}

#[tokio::test]
async fn batch_of_any_size_is_written_completely() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let (mut writer, mut version) = (file.db.writer(), 0);
    for rows in [1, 2, 3, 31, 33, 64, 65, 129] {
        let mut changes = Vec::new();
        for _ in 0..rows {
            version += 1;
            let id = format!("id{version}");
            changes.push(change(&model, version, TENANT).put(&id, "{}").event(&id));
        }
        writer.apply(&batch(&format!("b{rows}"), changes)).await.unwrap();
        let written: Vec<String> = (1..=version).map(|version| format!("id{version}")).collect();
        let records = ids_of(&file.db, "SELECT id FROM notes_things ORDER BY version").await;
        assert_eq!(records, written, "records of a batch of {rows}");
        assert_eq!(
            ids_of(&file.db, "SELECT id FROM events ORDER BY seq").await,
            written,
            "events of a batch of {rows}"
        );
    }
}

#[tokio::test]
async fn several_records_are_deleted_in_one_batch() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    let put = ["a", "b", "c", "d", "e"].into_iter().zip(1..);
    let put = put.map(|(id, version)| change(&model, version, TENANT).put(id, "{}")).collect();
    writer.apply(&batch("put", put)).await.unwrap();
    let delete = ["a", "c", "e"].into_iter().zip(6..);
    let delete = delete.map(|(id, version)| change(&model, version, TENANT).delete(id)).collect();
    writer.apply(&batch("delete", delete)).await.unwrap();
    assert_eq!(ids_of(&file.db, "SELECT id FROM notes_things ORDER BY id").await, ["b", "d"]);
}

#[tokio::test]
async fn error_before_commit_writes_nothing_and_the_next_batch_succeeds() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let failpoints = Failpoints::default();
    let mut writer = file.db.writer_with(failpoints.clone());
    *failpoints.0.lock() = Some(Failpoint::BeforeCommit);
    let failed = writer.apply(&batch("b1", vec![change(&model, 1, TENANT).put("a", "{}").event("e")])).await;
    assert!(matches!(failed, Err(ApplyError::Failed(_))), "{failed:?}");
    assert_eq!((count_of(&file.db, "events").await, body_of(&file.db, &model, "a").await), (0, None));
    writer.apply(&batch("b2", vec![change(&model, 1, TENANT).put("a", "{}")])).await.unwrap();
    assert!(!file.db.batch_exists("b1").await.unwrap());
}

#[tokio::test]
async fn batch_id_shows_the_outcome_of_a_lost_commit() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let failpoints = Failpoints::default();
    let mut writer = file.db.writer_with(failpoints.clone());
    for (id, failpoint, kept) in
        [("lost", Failpoint::DuringCommitLost, false), ("kept", Failpoint::DuringCommitKept, true)]
    {
        *failpoints.0.lock() = Some(failpoint);
        let outcome = writer.apply(&batch(id, vec![change(&model, 1, TENANT).put(id, "{}")])).await;
        assert!(matches!(outcome, Err(ApplyError::Unknown(_))), "{outcome:?}");
        assert_eq!(file.db.batch_exists(id).await.unwrap(), kept);
        assert_eq!(body_of(&file.db, &model, id).await.is_some(), kept);
    }
    writer.apply(&batch("next", vec![change(&model, 2, TENANT).put("a", "{}")])).await.unwrap();
}

#[tokio::test]
async fn full_disk_fails_the_whole_batch() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    file.db.limit_pages(60).await.unwrap();
    let large = format!("\"{}\"", "x".repeat(200_000));
    let changes = (1..=5).map(|n| change(&model, n, TENANT).put(&format!("id{n}"), &large)).collect();
    let failed = writer.apply(&batch("b1", changes)).await;
    assert!(matches!(&failed, Err(ApplyError::StorageFailure(why)) if why.contains("full")), "{failed:?}");
    assert_eq!((count_of(&file.db, "notes_things").await, count_of(&file.db, "batches").await), (0, 0));
    file.db.limit_pages(0).await.unwrap();
    writer.apply(&batch("b2", vec![change(&model, 9, TENANT).put("a", "{}")])).await.unwrap();
}

#[tokio::test]
async fn violation_of_a_unique_index_fails_the_batch() {
    let model = model(vec![index("by-name", &["name"], true)]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    let put = |version, id| change(&model, version, TENANT).put(id, r#"{"name":"n"}"#);
    writer.apply(&batch("b1", vec![put(1, "a")])).await.unwrap();
    let failed = writer.apply(&batch("b2", vec![put(2, "b")])).await;
    assert!(matches!(failed, Err(ApplyError::Failed(_))), "{failed:?}");
    writer.apply(&batch("b3", vec![put(3, "a")])).await.unwrap();
    // Foreign writes are also detected after a failed batch, while the committer searches for the failing change set.
    writer.apply(&batch("b4", vec![put(4, "b")])).await.unwrap_err();
    write_from_another_program(&file, "UPDATE notes_things SET body = '{}'").await;
    let foreign = writer.apply(&batch("b5", vec![put(5, "a")])).await;
    assert!(matches!(foreign, Err(ApplyError::Outdated(Invalidation::ForeignWrite))), "{foreign:?}");
}

#[tokio::test]
async fn slot_of_a_unique_index_passes_between_records_within_a_batch() {
    let model = model(vec![index("by-name", &["name"], true)]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    let first = change(&model, 1, TENANT).put("a", r#"{"name":"x"}"#).put("b", r#"{"name":"y"}"#);
    writer.apply(&batch("b1", vec![first])).await.unwrap();
    let taken_by = |name: &str, id: &str| UniqueWrite {
        key: Key {
            scope: scope("notes", TENANT),
            space: Space::Unique("things".into(), "by-name".into()),
            name: name.into(),
        },
        owner: Some(id.into()),
    };
    let swapped = change(&model, 2, TENANT).put("a", r#"{"name":"y"}"#).put("b", r#"{"name":"x"}"#);
    let swapped = swapped.edit(|changes| changes.uniques = vec![taken_by("[\"y\"]", "a"), taken_by("[\"x\"]", "b")]);
    writer.apply(&batch("b2", vec![swapped])).await.unwrap();
    assert_eq!(body_of(&file.db, &model, "a").await.unwrap(), r#"{"name":"y"}"#);
}

#[tokio::test]
async fn foreign_write_fails_one_batch_without_applying_it() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    let mut apply =
        async |id: &str, version| writer.apply(&batch(id, vec![change(&model, version, TENANT).put("a", "{}")])).await;
    apply("b1", 1).await.unwrap();
    write_from_another_program(&file, "UPDATE notes_things SET body = '{\"by\":\"hand\"}'").await;
    assert!(matches!(apply("b2", 2).await, Err(ApplyError::Outdated(Invalidation::ForeignWrite))));
    assert_eq!(body_of(&file.db, &model, "a").await.unwrap(), r#"{"by":"hand"}"#);
    apply("b2", 2).await.unwrap();
}

#[tokio::test]
async fn own_writes_of_the_host_are_not_foreign_writes() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    for version in 1..5 {
        let counted = file.db.reserve_counter(&scope("notes", TENANT), "number", 10).await.unwrap();
        assert_eq!(counted, version * 10 - 9);
        file.db.truncate_log().await.unwrap();
        file.db.prepare_model(&model, &PrepareOptions::default()).await.unwrap();
        let id = format!("b{version}");
        writer.apply(&batch(&id, vec![change(&model, version, TENANT).put("a", "{}")])).await.unwrap();
    }
}

#[tokio::test]
async fn ledger_guards_and_idempotency_records_are_read_back() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let (db, ledger) = (&file.db, scope("notes", TENANT));
    let holds = |account: &str, amount: I256| Balance { account: account.into(), asset: "GOLD".into(), amount };
    let mut posted = change(&model, 4, TENANT).edit(|changes| {
        changes.accounts_opened.push("outside".into());
        changes.guards.push("limit".into());
        changes.transfers.push(Transfer {
            id: "t1".into(),
            debit: "outside".into(),
            credit: "inside".into(),
            asset: "GOLD".into(),
            amount: I256::from(5),
            memo: "first".into(),
        });
        changes.idempotency_record =
            Some(IdempotencyRecord { name: "key".into(), fingerprint: [7; 32], sealed: Arc::from([1, 2]) });
    });
    posted.balances = vec![holds("outside", I256::from(-5)), holds("inside", I256::from(5))];
    db.writer().apply(&batch("b1", vec![posted])).await.unwrap();
    assert_eq!(db.find_balance(&ledger, "outside", "GOLD").await.unwrap(), Some(I256::from(-5)));
    assert_eq!(db.list_balances(&ledger, "inside").await.unwrap(), [("GOLD".into(), I256::from(5))]);
    assert!(db.find_account(&ledger, "outside").await.unwrap().unwrap().external);
    assert_eq!(db.find_account(&ledger, "inside").await.unwrap(), None);
    assert_eq!(db.find_transfer(&ledger, "t1").await.unwrap(), Some(4));
    assert_eq!(db.find_guard(&ledger, "limit").await.unwrap(), Some(4));
    assert_eq!(&*db.find_idempotency_record(&ledger, "key").await.unwrap().unwrap().sealed, [1, 2]);
    assert_eq!(db.find_idempotency_record(&scope("notes", "other/test"), "key").await.unwrap(), None);
    assert!(db.ledger_sums().await.unwrap().iter().all(|total| total.sum == I256::ZERO));
}
