use std::os::unix::fs::PermissionsExt;

use futures_util::FutureExt;
use sqlx::{ConnectOptions, Connection};

use super::options::copier;
use super::write::{Work, WriteTransaction};
use super::{ExistingDatabase, Replacement};
use crate::changes::operator_action::OperatorAction;
use crate::db::apply::rows::Query;
use crate::db::testing::{TestFile, batch, change, model, url_in, write_first_version};
use crate::db::{Database, DbError, DbOptions};
use crate::limits::IDLE_TRANSACTIONS_MAX;
use crate::regular_file;

async fn rejection(url: &str) -> String {
    match Database::open(url, &DbOptions::default()).await {
        Err(DbError::Precondition(message)) => message,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{url} was opened"),
    }
}

#[tokio::test]
async fn unsupported_urls_are_rejected_with_a_message() {
    assert_eq!(rejection("postgres://localhost/x").await, "PostgreSQL is not built into this version; use sqlite:PATH");
    assert!(rejection("data/tenon.db").await.contains("sqlite:PATH"));
    assert!(rejection("sqlite::memory:").await.contains("lost with the process"));
}

#[tokio::test]
async fn second_host_is_rejected_with_the_process_id_of_the_first() {
    let file = TestFile::open().await;
    let message = rejection(&file.url()).await;
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    file.db.close().await.unwrap();
    Database::open(&file.url(), &DbOptions::default()).await.unwrap();
}

#[tokio::test]
async fn cache_is_freed_only_if_few_transactions_began() {
    let file = TestFile::open().await;
    let free = async || file.db.free_cache_if_idle().await.unwrap();
    assert!(free().await);
    assert!(!free().await, "no transaction began since");
    for _ in 0..=IDLE_TRANSACTIONS_MAX {
        let touch = async |write: &mut WriteTransaction| {
            sqlx::query("DELETE FROM fan_outs").execute(write.connection()).await?;
            Ok(())
        };
        file.db.write_lazily(move |write| Box::pin(touch(write))).await.unwrap();
    }
    assert!(!free().await, "earlier transactions are counted");
    assert!(free().await, "none began since");
    assert_eq!(file.db.latest_version().await.unwrap(), 0, "connections read freed pages again");
}

#[tokio::test]
async fn fifo_instead_of_a_file_is_rejected_by_its_path() {
    for name in ["test.db", "test.db-wal", "test.db-shm", "test.db.id", "test.db.lock"] {
        let file = TestFile::open().await;
        file.db.close().await.unwrap();
        let fifo = file.folder.path().join(name);
        let _absent = std::fs::remove_file(&fifo);
        regular_file::make_fifo(&fifo);
        let error = Database::open(&file.url(), &DbOptions::default()).await.err().unwrap().to_string();
        assert_eq!(error, format!("{}: it is a FIFO, not a regular file", fifo.display()));
    }
}

#[tokio::test]
async fn tool_reports_a_folder_instead_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let open = async || Database::open_unchanged(&url_in(&folder), &DbOptions::default()).await.err().unwrap();
    assert!(open().await.to_string().starts_with("there is no database at "));
    std::fs::create_dir(&path).unwrap();
    assert_eq!(open().await.to_string(), format!("{}: it is a folder, not a regular file", path.display()));
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
async fn file_of_another_program_or_a_newer_tenon_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE x (y)").execute(&mut other).await.unwrap();
    assert!(rejection(&url_in(&folder)).await.contains("another program"));
    sqlx::raw_sql("PRAGMA application_id = 1953394542; PRAGMA user_version = 99").execute(&mut other).await.unwrap();
    assert!(rejection(&url_in(&folder)).await.contains("newer Tenon (schema 99"));
}

#[tokio::test]
async fn tools_read_beside_the_host_and_cannot_write() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    let tool = Database::open_read_only(&file.url(), &DbOptions::default()).await.unwrap();
    assert_eq!(tool.latest_version().await.unwrap(), 1);
    let error = tool.writer().apply(&batch("b2", vec![change(&model, 2, "acme/test").put("a", "{}")])).await;
    assert!(error.unwrap_err().to_string().contains("reading only"));
}

#[tokio::test]
async fn close_checkpoints_the_log_into_the_file() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    file.db.close().await.unwrap();
    assert!(!file.folder.path().join("test.db-wal").exists());
    let again = Database::open(&file.url(), &DbOptions::default()).await.unwrap();
    assert_eq!(again.latest_version().await.unwrap(), 1);
    assert!(again.batch_exists("b1").await.unwrap());
}

/// Returns `PRAGMA synchronous` within the transaction: 1 is NORMAL, 2 is FULL.
fn synchronous(write: &mut WriteTransaction) -> Work<'_, i64> {
    Box::pin(async move { Ok(sqlx::query_scalar("PRAGMA synchronous").fetch_one(write.connection()).await?) })
}

#[tokio::test]
async fn full_durability_is_set_again_after_a_lazy_write() {
    let file = TestFile::open().await;
    let database = &file.db;
    for _ in 0..2 {
        assert_eq!(database.write_lazily(synchronous).await.unwrap(), 1);
        assert_eq!(database.write(synchronous).await.unwrap(), 2);
        database.begin_batch().await.unwrap().abandon().await;
        assert_eq!(database.write(synchronous).await.unwrap(), 2, "on a new connection");
    }
}

async fn make_marks(file: &TestFile) {
    file.db.execute(sqlx::query("CREATE TABLE marks (mark TEXT)")).await.unwrap();
}

fn mark(text: &'static str) -> Query {
    sqlx::query("INSERT INTO marks VALUES (?)").bind(text)
}

/// Reads in a write transaction, so it sees all earlier writes.
async fn marks(file: &TestFile) -> Vec<String> {
    let list = sqlx::query_scalar("SELECT mark FROM marks");
    file.db.write(move |write| Box::pin(async move { Ok(list.fetch_all(write.connection()).await?) })).await.unwrap()
}

#[tokio::test]
async fn write_of_a_dropped_caller_commits_and_keeps_the_connection() {
    let file = TestFile::open().await;
    make_marks(&file).await;
    assert_eq!(file.db.check_cache_state().await.unwrap(), None);
    // Each number of polls drops the caller at another point.
    for polls in 1..12 {
        let mut write = Box::pin(file.db.execute(mark("dropped")));
        for _ in 0..polls {
            if (&mut write).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(write);
        assert_eq!(marks(&file).await.len(), polls);
    }
    assert_eq!(file.db.check_cache_state().await.unwrap(), None, "decisions stay valid");
}

/// Returns SQLite's error for a file that is not a database.
async fn damage() -> DbError {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "x".repeat(4_096)).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("SELECT * FROM sqlite_schema").execute(&mut connection).await.unwrap_err().into()
}

#[tokio::test]
async fn error_of_a_write_of_a_dropped_caller_is_recorded() {
    let file = TestFile::open().await;
    let error = damage().await;
    let mut write = Box::pin(file.db.write::<(), _>(move |_write| Box::pin(async move { Err(error) })));
    assert!((&mut write).now_or_never().is_none(), "its transaction runs");
    drop(write);
    assert!(matches!(file.db.begin_batch().await, Err(DbError::Damaged(_))));
}

#[tokio::test]
async fn connection_that_became_read_only_is_reopened() {
    let file = TestFile::open().await;
    make_marks(&file).await;
    let mut slot = file.db.inner.writer.lock().await;
    slot.connection = Some(ConnectOptions::connect(&copier(&file.db.inner.path)).await.unwrap());
    drop(slot);
    assert!(file.db.execute(mark("lost")).await.is_err());
    file.db.execute(mark("kept")).await.unwrap();
    assert_eq!(marks(&file).await, ["kept"]);
}

#[tokio::test]
async fn caller_dropped_while_waiting_writes_nothing() {
    let file = TestFile::open().await;
    make_marks(&file).await;
    let first = file.db.begin_batch().await.unwrap();
    let mut waits = Box::pin(file.db.execute(mark("late")));
    assert!((&mut waits).now_or_never().is_none());
    drop(waits);
    first.rollback().await.unwrap();
    assert!(marks(&file).await.is_empty());
}

#[tokio::test]
async fn write_that_fails_or_panics_is_rolled_back_and_keeps_the_connection() {
    let file = TestFile::open().await;
    make_marks(&file).await;
    let fails = file.db.write::<(), _>(|write| {
        Box::pin(async move {
            mark("failed").execute(write.connection()).await?;
            Err(DbError::TooLarge(1))
        })
    });
    assert!(matches!(fails.await, Err(DbError::TooLarge(1))));
    let panics = file.db.write::<(), _>(|write| {
        Box::pin(async move {
            mark("panicked").execute(write.connection()).await?;
            panic!("simulated bug")
        })
    });
    assert!(matches!(panics.await, Err(DbError::Corrupt(_))));
    assert!(marks(&file).await.is_empty());
    assert_eq!(file.db.check_cache_state().await.unwrap(), None);
}

/// Simulates a deploy that is cancelled while it creates an index. Its caller was dropped, but its statement still
/// runs.
#[tokio::test]
async fn batch_waits_for_the_statement_of_a_dropped_caller() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let (entered, in_statement) = tokio::sync::oneshot::channel();
    let slow = file.db.write(move |write| {
        Box::pin(async move {
            let _ = entered.send(());
            let slow = "CREATE TABLE made AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                        WHERE i < 300000) SELECT i FROM n";
            sqlx::query(slow).execute(write.connection()).await?;
            Ok(())
        })
    });
    tokio::select! {
        biased;
        entered = in_statement => entered.unwrap(),
        _ = slow => panic!("the write ended before it began"),
    }
    let change = change(&model, 1, "acme/test").put("a", "{}");
    file.db.writer().apply(&batch("b1", vec![change])).await.unwrap();
    let made: i64 = sqlx::query_scalar("SELECT count(*) FROM made").fetch_one(&*file.db.readers()).await.unwrap();
    assert_eq!(made, 300_000, "the statement was finished first");
}

async fn shorten_busy_timeout(write: &mut WriteTransaction) -> Result<(), sqlx::Error> {
    sqlx::query("PRAGMA busy_timeout = 10").execute(write.connection()).await.map(|_done| ())
}

#[tokio::test]
async fn lock_held_by_another_program_causes_an_error_and_keeps_the_connection() {
    let file = TestFile::open().await;
    make_marks(&file).await;
    file.db.write(|write| Box::pin(async { Ok(shorten_busy_timeout(write).await?) })).await.unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file.folder.path().join("test.db"));
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = file.db.execute(mark("busy")).await.unwrap_err();
    assert!(error.is_storage_failure(), "{error}");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(file.db.check_cache_state().await.unwrap(), None);
    file.db.execute(mark("free")).await.unwrap();
    assert_eq!(marks(&file).await, ["free"]);
}

/// Copies the files of a running host in the state that a kill would leave.
fn killed(folder: &tempfile::TempDir) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// Returns the files of a killed host: version 1 is in the file, version 2 only in the log.
async fn killed_with_log() -> tempfile::TempDir {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    file.db.close().await.unwrap();
    let again = Database::open(&file.url(), &DbOptions::default()).await.unwrap();
    again.writer().apply(&batch("b2", vec![change(&model, 2, "acme/test").put("b", "{}")])).await.unwrap();
    killed(&file.folder)
}

/// Returns the bytes of a closed database.
async fn another_database() -> Vec<u8> {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    file.db.writer().apply(&batch("b1", vec![change(&model, 1, "acme/test").put("a", "{}")])).await.unwrap();
    file.db.close().await.unwrap();
    std::fs::read(file.folder.path().join("test.db")).unwrap()
}

#[tokio::test]
async fn rejected_start_keeps_the_log_of_the_right_file() {
    let folder = killed_with_log().await;
    let (path, log) = (folder.path().join("test.db"), folder.path().join("test.db-wal"));
    let (right, committed, wrong) =
        (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap(), another_database().await);
    std::fs::write(&path, &wrong).unwrap();
    let reason = rejection(&url_in(&folder)).await;
    assert!(reason.contains("another database"), "{reason}");
    let tool = Database::open_unchanged(&url_in(&folder), &DbOptions::default()).await;
    assert!(tool.err().unwrap().to_string().contains("another database"));
    assert!(std::fs::read(&path).unwrap() == wrong, "the wrong file was changed");
    assert!(std::fs::read(&log).unwrap() == committed, "the log was changed");
    std::fs::write(&path, right).unwrap();
    let database = Database::open(&url_in(&folder), &DbOptions::default()).await.unwrap();
    assert_eq!(database.latest_version().await.unwrap(), 2);
}

#[tokio::test]
async fn tool_changes_neither_a_wrong_file_nor_its_marker() {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let path = file.folder.path().join("test.db");
    let write = async |database: &Database, version: u64| {
        let change = change(&model, version, "acme/test").put("a", "{}");
        database.writer().apply(&batch(&format!("b{version}"), vec![change])).await.unwrap();
        database.close().await.unwrap();
        std::fs::read(&path).unwrap()
    };
    let older = write(&file.db, 1).await;
    let newest = write(&Database::open(&file.url(), &DbOptions::default()).await.unwrap(), 2).await;
    for (wrong, reason) in [(older, "had reached 2"), (another_database().await, "another database")] {
        std::fs::write(&path, &wrong).unwrap();
        let error = Database::open_unchanged(&file.url(), &DbOptions::default()).await.err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(std::fs::read(&path).unwrap() == wrong, "the file was changed");
        assert!(rejection(&file.url()).await.contains(reason));
    }
    std::fs::write(&path, newest).unwrap();
    let tool = Database::open_unchanged(&file.url(), &DbOptions::default()).await.unwrap();
    tool.close().await.unwrap();
    Database::open(&file.url(), &DbOptions::default()).await.unwrap();
}

/// The state after an upgrade that was rolled back: the marker exists, and the database is the old one.
#[tokio::test]
async fn database_from_before_the_upgrade_is_rejected_before_its_schema_changes() {
    let file = TestFile::open().await;
    file.db.close().await.unwrap();
    let path = file.folder.path().join("test.db");
    std::fs::remove_file(&path).unwrap();
    write_first_version(&path).await;
    let older = std::fs::read(&path).unwrap();
    let reason = rejection(&file.url()).await;
    assert!(reason.contains("from before an upgrade") && reason.contains("tenon db accept"), "{reason}");
    assert!(Database::open_unchanged(&file.url(), &DbOptions::default()).await.is_err());
    assert!(std::fs::read(&path).unwrap() == older, "the older program could no longer open it");
    let line = (&OperatorAction::done(1, "ada", ("*", "accept"), "accepted".to_owned())).into();
    assert_eq!(Database::accept(&file.url(), &line).await.unwrap().version, 7);
    Database::open(&file.url(), &DbOptions::default()).await.unwrap();
}

#[tokio::test]
async fn files_of_a_linked_database_are_beside_the_link_target() {
    let (folder, linked) = (killed_with_log().await, tempfile::tempdir().unwrap());
    let link = linked.path().join("test.db");
    // Through a second, relative link.
    std::os::unix::fs::symlink(folder.path().join("test.db"), linked.path().join("second.db")).unwrap();
    std::os::unix::fs::symlink("second.db", &link).unwrap();
    let survey = Database::inspect_files(&link).unwrap();
    assert!(!survey.contains(" 0 frames"), "{survey}");
    let database = Database::open(&url_in(&linked), &DbOptions::default()).await.unwrap();
    assert!(database.file_bytes().1 > 0, "the log has bytes");
    assert!(rejection(&url_in(&folder)).await.contains("in use"));
    database.close().await.unwrap();
    let replacement = Replacement::begin(&url_in(&linked), ExistingDatabase::MoveAside).await.unwrap();
    replacement.write_empty().unwrap();
    let line = (&OperatorAction::done(1, "ada", ("*", "create"), "created".to_owned())).into();
    let (_, replaced) = replacement.commit(&line).await.unwrap();
    assert_eq!(replaced, Some(folder.path().join("test.db.replaced-1")));
    let database = Database::open(&url_in(&linked), &DbOptions::default()).await.unwrap();
    assert_eq!(database.latest_version().await.unwrap(), 0);
    let names = std::fs::read_dir(&linked).unwrap().map(|entry| entry.unwrap().file_type().unwrap());
    assert!(names.map(|kind| kind.is_symlink()).eq([true, true]), "no file was created beside the link");
}

#[tokio::test]
async fn rejected_acceptance_keeps_the_log() {
    let folder = killed_with_log().await;
    let (path, log) = (folder.path().join("test.db"), folder.path().join("test.db-wal"));
    let committed = std::fs::read(&log).unwrap();
    let line = (&OperatorAction::done(1, "ada", ("*", "accept"), "accepted".to_owned())).into();
    let mut damaged = std::fs::read(&path).unwrap();
    let half = damaged.len() / 8_192 * 4_096;
    damaged[half..].fill(0);
    for content in [Vec::new(), vec![b'x'; 4_096], damaged] {
        std::fs::write(&path, &content).unwrap();
        let error = Database::accept(&url_in(&folder), &line).await.unwrap_err();
        assert!(matches!(error, DbError::Damaged(_)), "{error}");
        assert!(std::fs::read(&path).unwrap() == content, "the file was changed");
        assert!(std::fs::read(&log).unwrap() == committed, "the log was changed");
    }
}

#[tokio::test]
async fn interrupted_creation_of_the_file_is_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut first = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE x (y)").execute(&mut first).await.unwrap();
    first.close().await.unwrap();
    // The rollback journal of that transaction. It has no pages, because the file had none. 512 is the sector size.
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0_u32, 0, 0, 512, 4_096] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    std::fs::write(folder.path().join("test.db-journal"), journal).unwrap();
    let database = Database::open(&url_in(&folder), &DbOptions::default()).await.unwrap();
    assert_eq!(database.latest_version().await.unwrap(), 0);
}
