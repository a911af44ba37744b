//! Connection options: the URL, the pragmas, the access modes.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use crate::db::DbError;
use crate::limits::{
    BUSY_TIMEOUT_MS, DB_READERS, DB_STATEMENTS_CACHED, SEARCH_CANCEL_CHECK_STEPS, WAL_BYTES_MAX, WAL_CHECKPOINT_PAGES,
    WRITER_CACHE_KIB,
};
use crate::regular_file;

/// Returns false once a long operation is to be cancelled. It is called periodically while the operation reads.
pub type ContinueFn = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone, Debug)]
pub struct DbOptions {
    /// Number of read-only connections.
    pub readers: u32,
    /// Size in bytes above which the write-ahead log is checkpointed and truncated.
    pub wal_bytes_max: u64,
    /// A file that proves that a database existed, if there is one. In that case, no empty database is created.
    pub trace: Option<PathBuf>,
    /// Path of the master key file, set only if that file is missing. In that case, a database with sealed rows is
    /// rejected before it is changed.
    pub missing_key: Option<PathBuf>,
}

impl Default for DbOptions {
    fn default() -> Self {
        DbOptions { readers: DB_READERS, wal_bytes_max: WAL_BYTES_MAX, trace: None, missing_key: None }
    }
}

/// Returns the path in "sqlite:PATH".
pub(in crate::db) fn path_of(url: &str) -> Result<PathBuf, DbError> {
    let reject = |reason: &str| Err(DbError::Precondition(reason.to_owned()));
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return reject("PostgreSQL is not built into this version; use sqlite:PATH");
    }
    let Some(path) = url.strip_prefix("sqlite:") else {
        return reject("the database must be given as sqlite:PATH, for example sqlite:data/tenon.db");
    };
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains(['?', '\0']) {
        return reject("sqlite: needs a path and takes no options, for example sqlite:data/tenon.db");
    }
    if path.starts_with(":memory:") {
        return reject("an in-memory database is lost with the process; use a file, for example sqlite:data/tenon.db");
    }
    Ok(PathBuf::from(path))
}

/// Checks that the file exists.
///
/// # Errors
/// `Precondition` if the file is absent. `File` if the path names something other than a regular file.
pub(in crate::db) fn existing(path: &Path) -> Result<(), DbError> {
    regular_file::check(path).map_err(DbError::file(path))?;
    if path.is_file() {
        Ok(())
    } else {
        Err(DbError::Precondition(format!("there is no database at {}", path.display())))
    }
}

/// Creates the file with mode 0600 if it is missing. SQLite gives the log the mode of the file.
pub(super) fn create_private(path: &Path) -> Result<(), DbError> {
    let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    made.map(drop).map_err(DbError::file(path))
}

fn common(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))
        .statement_cache_capacity(DB_STATEMENTS_CACHED)
        .pragma("temp_store", "MEMORY")
        .disable_statement_logging()
}

/// Opens the connection that writes.
pub(super) async fn connect_writer(path: &Path) -> Result<SqliteConnection, DbError> {
    let options = common(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", WAL_BYTES_MAX.to_string())
        .pragma("wal_autocheckpoint", WAL_CHECKPOINT_PAGES.to_string())
        .pragma("cache_size", format!("-{WRITER_CACHE_KIB}"));
    Ok(options.connect().await?)
}

/// Returns the options of a read-only connection for copying. They do not set `query_only`, because SQLite would apply
/// it to the copy as well.
pub(in crate::db) fn copier(path: &Path) -> SqliteConnectOptions {
    common(path).read_only(true)
}

/// Opens a pool of one connection to a file that no process writes. SQLite neither locks the file nor creates files
/// beside it.
///
/// Calls `should_continue` periodically while the connection reads.
pub(super) async fn immutable_readers(path: &Path, should_continue: ContinueFn) -> Result<SqlitePool, DbError> {
    let options = reader(path, true).immutable(true);
    let pool = SqlitePoolOptions::new().max_connections(1).after_connect(move |connection, _| {
        let should_continue = should_continue.clone();
        Box::pin(async move {
            connection.lock_handle().await?.set_progress_handler(SEARCH_CANCEL_CHECK_STEPS, move || should_continue());
            Ok(())
        })
    });
    Ok(pool.connect_with(options).await?)
}

/// Returns the options of a connection that cannot write. `read_only` opens the file itself read-only, for tools.
pub(super) fn reader(path: &Path, read_only: bool) -> SqliteConnectOptions {
    common(path).read_only(read_only).pragma("query_only", "ON")
}

/// Opens a pool of connections that cannot write.
pub(super) async fn readers(path: &Path, count: u32, read_only: bool) -> Result<SqlitePool, DbError> {
    Ok(SqlitePoolOptions::new()
        .max_connections(count.max(1))
        .min_connections(1)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(reader(path, read_only))
        .await?)
}
