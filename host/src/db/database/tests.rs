use std::os::unix::fs::PermissionsExt;

use sqlx::Connection;

use crate::db::testing::{TestFile, batch, change, model, url_in};
use crate::db::{Database, DbError, DbOptions};

async fn refusal(url: &str) -> String {
    match Database::open(url, &DbOptions::default()).await {
        Err(DbError::Refused(sentence)) => sentence,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{url} was opened"),
    }
}

#[tokio::test]
async fn other_databases_are_refused_with_a_sentence() {
    assert_eq!(refusal("postgres://localhost/x").await, "PostgreSQL is not built into this version; use sqlite:PATH");
    assert!(refusal("data/tenon.db").await.contains("sqlite:PATH"));
    assert!(refusal("sqlite::memory:").await.contains("lost with the process"));
}

#[tokio::test]
async fn a_second_host_on_the_file_is_refused_by_the_number_of_the_first() {
    let file = TestFile::open().await;
    let sentence = refusal(&file.url()).await;
    assert!(sentence.contains(&format!("process {}", std::process::id())), "{sentence}");
    file.db.close().await.unwrap();
    Database::open(&file.url(), &DbOptions::default()).await.unwrap();
}

#[tokio::test]
async fn only_the_owner_can_read_the_file_and_its_log() {
    let file = TestFile::open().await;
    for name in ["test.db", "test.db-wal", "test.db.lock"] {
        let mode = std::fs::metadata(file.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_file_of_another_program_or_a_newer_tenon_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE x (y)").execute(&mut other).await.unwrap();
    assert!(refusal(&url_in(&folder)).await.contains("another program"));
    sqlx::raw_sql("PRAGMA application_id = 1953394542; PRAGMA user_version = 99").execute(&mut other).await.unwrap();
    assert!(refusal(&url_in(&folder)).await.contains("newer Tenon (schema 99"));
}

#[tokio::test]
async fn tools_read_beside_the_host_and_cannot_write() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    let tool = Database::open_read_only(&file.url(), &DbOptions::default()).await.unwrap();
    assert_eq!(tool.latest_version().await.unwrap(), 1);
    let refused = tool.writer().apply(&batch("b2", vec![change(&model, 2, "acme/test").put("a", "{}")])).await;
    assert!(refused.unwrap_err().to_string().contains("reading only"));
}

#[tokio::test]
async fn closing_folds_the_log_into_the_file() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    file.db.close().await.unwrap();
    assert!(!file.folder.path().join("test.db-wal").exists());
    let again = Database::open(&file.url(), &DbOptions::default()).await.unwrap();
    assert_eq!(again.latest_version().await.unwrap(), 1);
    assert!(again.batch_exists("b1").await.unwrap());
}

#[tokio::test]
async fn what_waits_for_the_disk_does_so_also_after_something_that_did_not() {
    let file = TestFile::open().await;
    let database = &file.db;
    for _ in 0..2 {
        let mut lazy = database.begin_lazy_write().await.unwrap();
        let mode: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(lazy.connection()).await.unwrap();
        assert_eq!(mode, 1, "NORMAL");
        lazy.commit().await.unwrap();
        let mut whole = database.begin_write().await.unwrap();
        let mode: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(whole.connection()).await.unwrap();
        assert_eq!(mode, 2, "FULL");
        whole.abandon().await;
        let mut anew = database.begin_write().await.unwrap();
        let mode: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(anew.connection()).await.unwrap();
        assert_eq!(mode, 2, "a new connection");
        anew.rollback().await.unwrap();
    }
}
