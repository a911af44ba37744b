//! A copy of the database while it is in use, and whether a copy is sound.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::database::{GoOn, options};
use super::records::unsigned;
use super::{Database, DbError};
use crate::limits::{CHECK_THOROUGH_BYTES_MAX, SEARCH_LOOK_STEPS, START_CHECK_MS};

/// What SQLite says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCheck {
    /// Each index was compared with its table; not done where the file is very large.
    pub thorough: bool,
    /// Sentences of SQLite's; none where the file is sound.
    pub mistakes: Vec<String>,
}

/// What SQLite finds in the first pages that it can check within `START_CHECK_MS`.
pub(super) async fn check_pages_briefly(connection: &mut SqliteConnection) -> Result<Vec<String>, DbError> {
    let until = Instant::now() + Duration::from_millis(START_CHECK_MS);
    connection.lock_handle().await?.set_progress_handler(SEARCH_LOOK_STEPS, move || Instant::now() < until);
    let mut mistakes = Vec::new();
    let mut rows = sqlx::query_scalar::<_, String>("PRAGMA quick_check(3)").fetch(&mut *connection);
    let ended = loop {
        match rows.try_next().await {
            Ok(Some(line)) if line == "ok" => {}
            Ok(Some(line)) => mistakes.push(line),
            Ok(None) => break Ok(()),
            Err(error) if is_interrupted(&error) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    drop(rows);
    connection.lock_handle().await?.remove_progress_handler();
    ended?;
    Ok(mistakes)
}

fn is_interrupted(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    error.code().as_deref() == Some("9")
}

/// What SQLite reports for one of its checks.
pub(super) async fn find_mistakes(
    connection: &mut SqliteConnection,
    check: &'static str,
) -> Result<Vec<String>, DbError> {
    let mut mistakes: Vec<String> = sqlx::query_scalar(check).fetch_all(connection).await?;
    mistakes.retain(|line| line != "ok");
    Ok(mistakes)
}

impl Database {
    /// Pages, indexes and foreign keys, of the whole file. Sentences of SQLite's.
    pub async fn check_pages_thoroughly(&self) -> Result<Vec<String>, DbError> {
        self.check_whole("PRAGMA integrity_check(20)").await
    }

    /// The same without a comparison of indexes with their tables.
    pub async fn check_pages_quickly(&self) -> Result<Vec<String>, DbError> {
        self.check_whole("PRAGMA quick_check(20)").await
    }

    async fn check_whole(&self, check: &'static str) -> Result<Vec<String>, DbError> {
        let mut reader = self.readers().acquire().await?;
        let mut mistakes = find_mistakes(&mut reader, check).await?;
        if mistakes.is_empty() {
            let broken: i64 =
                sqlx::query_scalar("SELECT count(*) FROM pragma_foreign_key_check").fetch_one(&mut *reader).await?;
            mistakes.extend((broken > 0).then(|| format!("{broken} rows refer to rows that are absent")));
        }
        Ok(mistakes)
    }

    /// Bytes that a copy takes at most.
    pub async fn copy_bytes(&self) -> Result<u64, DbError> {
        let sql = "SELECT (page_count - freelist_count) * page_size \
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let bytes: i64 = sqlx::query_scalar(sql).fetch_one(&*self.readers()).await?;
        unsigned(bytes)
    }

    /// Writes what is durable now into a new file of mode 0600, which is on disk when this returns. Others go on reading and
    /// writing; what they write meanwhile stays in the log. `go_on` is asked now and then.
    pub async fn copy_into(&self, target: &Path, go_on: GoOn) -> Result<(), DbError> {
        let Some(name) = target.to_str() else {
            return Err(DbError::Refused(format!("{} is not UTF-8", target.display())));
        };
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
        let mut connection = options::copier(self.path()).connect().await?;
        connection.lock_handle().await?.set_progress_handler(SEARCH_LOOK_STEPS, move || go_on());
        let copied = sqlx::query("VACUUM INTO ?").bind(name).execute(&mut connection).await;
        if let Err(error) = copied {
            let error = DbError::from(error);
            self.confirm_damage(&mut connection, &error).await;
            return Err(error);
        }
        connection.close().await?;
        Ok(File::open(target)?.sync_all()?)
    }

    /// The error may concern the copy or this database: it is noted only if this one proves to be damaged.
    async fn confirm_damage(&self, source: &mut SqliteConnection, error: &DbError) {
        // CORRUPT, NOTADB
        if !matches!(error.sqlite_code(), Some(11 | 26)) {
            return;
        }
        match find_mistakes(source, "PRAGMA quick_check(1)").await {
            Ok(mistakes) if mistakes.is_empty() => {}
            Ok(_) => self.health().note(error),
            Err(error) => self.health().note(&error),
        }
    }

    /// Reads the whole file.
    pub async fn check_pages(&self) -> Result<PageCheck, DbError> {
        let thorough = self.copy_bytes().await? <= CHECK_THOROUGH_BYTES_MAX;
        let sql = if thorough { "PRAGMA integrity_check(20)" } else { "PRAGMA quick_check(20)" };
        let mut mistakes: Vec<String> = sqlx::query_scalar(sql).fetch_all(&*self.readers()).await?;
        mistakes.retain(|line| line != "ok");
        Ok(PageCheck { thorough, mistakes })
    }

    /// The number of the last migration.
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
    async fn a_copy_holds_what_was_durable_and_is_sound() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=100).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        let copy = file.folder.path().join("copy.db");
        file.db.copy_into(&copy, Arc::new(|| true)).await.unwrap();
        let copy = Database::open_still(&copy, Arc::new(|| true)).await.unwrap();
        assert_eq!(copy.newest_event().await.unwrap(), 100);
        assert_eq!(copy.check_pages().await.unwrap(), PageCheck { thorough: true, mistakes: vec![] });
        assert_eq!(copy.schema().await.unwrap(), file.db.schema().await.unwrap());
    }

    #[tokio::test]
    async fn damage_that_a_copy_finds_is_noted() {
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
    async fn copying_ends_where_nobody_wants_it_any_more() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=20_000).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        assert!(file.db.copy_into(&file.folder.path().join("copy.db"), Arc::new(|| false)).await.is_err());
    }

    #[tokio::test]
    async fn checking_ends_where_nobody_wants_it_any_more() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let line = |n: u64| {
            let entry = format!("{n}").into();
            let (subject, operation, request_id) = ("a".into(), "b".into(), "c".into());
            JournalLine { subject, operation, request_id, decided_by: None, entry }
        };
        let written = |n| change(&model, n, "acme/test").edit(|changes| changes.journal.extend((0..5_000).map(line)));
        file.db.writer().apply(&batch("b1", (1..=10).map(written).collect())).await.unwrap();
        let (copy, wanted) = (file.folder.path().join("copy.db"), Arc::new(AtomicBool::new(true)));
        file.db.copy_into(&copy, Arc::new(|| true)).await.unwrap();
        let asked = wanted.clone();
        let copy = Database::open_still(&copy, Arc::new(move || asked.load(Relaxed))).await.unwrap();
        assert_eq!(copy.follow_all_chains().await.unwrap()[0].lines(), 50_000);
        wanted.store(false, Relaxed);
        assert!(copy.check_pages().await.is_err());
        assert!(copy.follow_all_chains().await.is_err());
    }
}
