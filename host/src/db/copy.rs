//! Copies the database while it is in use, and checks the integrity of a database.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::database::{ContinueFn, options};
use super::records::unsigned;
use super::{Database, DbError};
use crate::limits::{CHECK_THOROUGH_BYTES_MAX, SEARCH_CANCEL_CHECK_STEPS, START_CHECK_MS};

/// Result of SQLite's integrity check of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCheck {
    /// True if each index was compared with its table. False for a very large file.
    pub thorough: bool,
    /// Messages of SQLite. Empty if the file is valid.
    pub problems: Vec<String>,
}

/// Returns the problems that SQLite finds in the pages that it can check within `START_CHECK_MS`.
pub(super) async fn check_pages_briefly(connection: &mut SqliteConnection) -> Result<Vec<String>, DbError> {
    let until = Instant::now() + Duration::from_millis(START_CHECK_MS);
    connection.lock_handle().await?.set_progress_handler(SEARCH_CANCEL_CHECK_STEPS, move || Instant::now() < until);
    let mut problems = Vec::new();
    let mut rows = sqlx::query_scalar::<_, String>("PRAGMA quick_check(3)").fetch(&mut *connection);
    let outcome = loop {
        match rows.try_next().await {
            Ok(Some(line)) if line == "ok" => {}
            Ok(Some(line)) => problems.push(line),
            Ok(None) => break Ok(()),
            Err(error) if is_interrupted(&error) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    drop(rows);
    connection.lock_handle().await?.remove_progress_handler();
    outcome?;
    Ok(problems)
}

fn is_interrupted(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    error.code().as_deref() == Some("9")
}

/// Runs one of SQLite's checks and returns the problems that it reports.
pub(super) async fn find_problems(
    connection: &mut SqliteConnection,
    check: &'static str,
) -> Result<Vec<String>, DbError> {
    let mut problems: Vec<String> = sqlx::query_scalar(check).fetch_all(connection).await?;
    problems.retain(|line| line != "ok");
    Ok(problems)
}

impl Database {
    /// Checks pages, indexes and foreign keys of the whole file. Returns the problems found.
    pub async fn check_pages_thoroughly(&self) -> Result<Vec<String>, DbError> {
        self.check_whole("PRAGMA integrity_check(20)").await
    }

    /// Like `check_pages_thoroughly`, but does not compare indexes with their tables.
    pub async fn check_pages_quickly(&self) -> Result<Vec<String>, DbError> {
        self.check_whole("PRAGMA quick_check(20)").await
    }

    async fn check_whole(&self, check: &'static str) -> Result<Vec<String>, DbError> {
        let mut reader = self.readers().acquire().await?;
        let mut problems = find_problems(&mut reader, check).await?;
        if problems.is_empty() {
            let broken: i64 =
                sqlx::query_scalar("SELECT count(*) FROM pragma_foreign_key_check").fetch_one(&mut *reader).await?;
            problems.extend((broken > 0).then(|| format!("{broken} rows refer to rows that are absent")));
        }
        Ok(problems)
    }

    /// Returns the maximum size of a copy in bytes.
    pub async fn copy_bytes(&self) -> Result<u64, DbError> {
        let sql = "SELECT (page_count - freelist_count) * page_size \
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let bytes: i64 = sqlx::query_scalar(sql).fetch_one(&*self.readers()).await?;
        unsigned(bytes)
    }

    /// Copies the current durable state into a new file with mode 0600. The copy is on disk when this returns.
    ///
    /// Reads and writes continue meanwhile. Data written meanwhile stays in the log. Calls `should_continue`
    /// periodically, and fails once it returns false.
    pub async fn copy_into(&self, target: &Path, should_continue: ContinueFn) -> Result<(), DbError> {
        let Some(name) = target.to_str() else {
            return Err(DbError::Precondition(format!("{} is not UTF-8", target.display())));
        };
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
        let mut connection = options::copier(self.path()).connect().await?;
        connection.lock_handle().await?.set_progress_handler(SEARCH_CANCEL_CHECK_STEPS, move || should_continue());
        let copied = sqlx::query("VACUUM INTO ?").bind(name).execute(&mut connection).await;
        if let Err(error) = copied {
            let error = DbError::from(error);
            self.confirm_damage(&mut connection, &error).await;
            return Err(error);
        }
        connection.close().await?;
        Ok(File::open(target)?.sync_all()?)
    }

    /// Records the error only if this database is damaged, because the error may concern the copy.
    async fn confirm_damage(&self, source: &mut SqliteConnection, error: &DbError) {
        // CORRUPT, NOTADB
        if !matches!(error.sqlite_code(), Some(11 | 26)) {
            return;
        }
        match find_problems(source, "PRAGMA quick_check(1)").await {
            Ok(problems) if problems.is_empty() => {}
            Ok(_) => self.health().record_error(error),
            Err(error) => self.health().record_error(&error),
        }
    }

    /// Checks the whole file, thoroughly unless it is very large.
    pub async fn check_pages(&self) -> Result<PageCheck, DbError> {
        let thorough = self.copy_bytes().await? <= CHECK_THOROUGH_BYTES_MAX;
        let sql = if thorough { "PRAGMA integrity_check(20)" } else { "PRAGMA quick_check(20)" };
        let mut problems: Vec<String> = sqlx::query_scalar(sql).fetch_all(&*self.readers()).await?;
        problems.retain(|line| line != "ok");
        Ok(PageCheck { thorough, problems })
    }

    /// Returns the number of the last migration.
    pub async fn schema(&self) -> Result<u64, DbError> {
        let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&*self.readers()).await?;
        unsigned(version)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;
    use crate::changes::change_set::JournalLine;
    use crate::db::testing::{TestFile, batch, change, model};

    #[tokio::test]
    async fn copy_contains_the_durable_state_and_is_valid() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=100).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        let copy = file.folder.path().join("copy.db");
        file.db.copy_into(&copy, Arc::new(|| true)).await.unwrap();
        let copy = Database::open_immutable(&copy, Arc::new(|| true)).await.unwrap();
        assert_eq!(copy.newest_event().await.unwrap(), 100);
        assert_eq!(copy.check_pages().await.unwrap(), PageCheck { thorough: true, problems: vec![] });
        assert_eq!(copy.schema().await.unwrap(), file.db.schema().await.unwrap());
    }

    #[tokio::test]
    async fn damage_found_by_a_copy_is_recorded() {
        use std::os::unix::fs::FileExt;
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=2_000).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        file.db.close().await.unwrap();
        let database = Database::open(&file.url(), &super::super::DbOptions::default()).await.unwrap();
        let pages = std::fs::metadata(database.path()).unwrap().len() / 4_096;
        let opened = OpenOptions::new().write(true).open(database.path()).unwrap();
        (pages / 2..pages).for_each(|page| opened.write_all_at(&[0; 4_096], page * 4_096).unwrap());
        let copied = database.copy_into(&file.folder.path().join("copy.db"), Arc::new(|| true)).await;
        assert!(copied.is_err() && database.health().is_damaged(), "{copied:?}");
    }

    #[tokio::test]
    async fn copy_ends_once_it_is_cancelled() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=20_000).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        assert!(file.db.copy_into(&file.folder.path().join("copy.db"), Arc::new(|| false)).await.is_err());
    }

    #[tokio::test]
    async fn checks_end_once_they_are_cancelled() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let line = |n: u64| {
            let entry = format!("{n}").into();
            let (subject, operation, request_id) = ("a".into(), "b".into(), "c".into());
            JournalLine { subject, operation, request_id, decided_by: None, entry }
        };
        let written = |n| change(&model, n, "acme/test").edit(|changes| changes.journal.extend((0..5_000).map(line)));
        file.db.writer().apply(&batch("b1", (1..=10).map(written).collect())).await.unwrap();
        let (copy, is_running) = (file.folder.path().join("copy.db"), Arc::new(AtomicBool::new(true)));
        file.db.copy_into(&copy, Arc::new(|| true)).await.unwrap();
        let flag = is_running.clone();
        let copy = Database::open_immutable(&copy, Arc::new(move || flag.load(Relaxed))).await.unwrap();
        assert_eq!(copy.verify_all_chains().await.unwrap()[0].lines(), 50_000);
        is_running.store(false, Relaxed);
        assert!(copy.check_pages().await.is_err());
        assert!(copy.verify_all_chains().await.is_err());
    }
}
