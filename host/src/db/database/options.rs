//! How connections are opened: the address, the pragmas, the modes.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use crate::db::DbError;
use crate::limits::{
    BUSY_TIMEOUT_MS, DB_READERS, DB_STATEMENTS_CACHED, SEARCH_LOOK_STEPS, WAL_BYTES_MAX, WAL_CHECKPOINT_PAGES,
    WRITER_CACHE_KIB,
};
use crate::regular_file;

/// Whether what takes long is still wanted. What reads is broken off where it is not.
pub type GoOn = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone, Debug)]
pub struct DbOptions {
    /// Read-only connections.
    pub readers: u32,
    /// The write-ahead log is folded into the file and cut once it is larger than this. Bytes.
    pub wal_bytes_max: u64,
    /// A file that only a host with a database leaves behind: beside it no empty database is begun.
    pub trace: Option<PathBuf>,
    /// The file of the master key if it is missing: a database that holds sealed rows is refused before it is changed.
    pub missing_key: Option<PathBuf>,
}

impl Default for DbOptions {
    fn default() -> Self {
        DbOptions { readers: DB_READERS, wal_bytes_max: WAL_BYTES_MAX, trace: None, missing_key: None }
    }
}

/// The path in "sqlite:PATH".
pub(in crate::db) fn path_of(url: &str) -> Result<PathBuf, DbError> {
    let refuse = |why: &str| Err(DbError::Refused(why.to_owned()));
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return refuse("PostgreSQL is not built into this version; use sqlite:PATH");
    }
    let Some(path) = url.strip_prefix("sqlite:") else {
        return refuse("the database is named as sqlite:PATH, for example sqlite:data/tenon.db");
    };
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains(['?', '\0']) {
        return refuse("sqlite: needs a path and takes no options, for example sqlite:data/tenon.db");
    }
    if path.starts_with(":memory:") {
        return refuse("a database in memory is lost with the process; name a file, for example sqlite:data/tenon.db");
    }
    Ok(PathBuf::from(path))
}

/// `Refused` if the file is absent; anything but a regular file is named as such.
pub(in crate::db) fn existing(path: &Path) -> Result<(), DbError> {
    regular_file::check(path).map_err(DbError::file(path))?;
    if path.is_file() { Ok(()) } else { Err(DbError::Refused(format!("there is no database at {}", path.display()))) }
}

/// SQLite gives the log the mode of the file, so it is enough to make the file before SQLite does.
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

/// The connection that writes.
pub(super) async fn connect_writer(path: &Path) -> Result<SqliteConnection, DbError> {
    let options = common(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", WAL_BYTES_MAX.to_string())
        .pragma("wal_autocheckpoint", WAL_CHECKPOINT_PAGES.to_string())
        .pragma("cache_size", format!("-{WRITER_CACHE_KIB}"));
    Ok(options.connect().await?)
}

/// A connection that reads everything into a copy: SQLite takes `query_only` for the copy as well.
pub(in crate::db) fn copier(path: &Path) -> SqliteConnectOptions {
    common(path).read_only(true)
}

/// One connection to a file that nobody writes: SQLite then neither locks it nor makes files beside it. `go_on` is asked now
/// and then while it reads.
pub(super) async fn still_readers(path: &Path, go_on: GoOn) -> Result<SqlitePool, DbError> {
    let options = reader(path, true).immutable(true);
    let pool = SqlitePoolOptions::new().max_connections(1).after_connect(move |connection, _| {
        let go_on = go_on.clone();
        Box::pin(async move {
            connection.lock_handle().await?.set_progress_handler(SEARCH_LOOK_STEPS, move || go_on());
            Ok(())
        })
    });
    Ok(pool.connect_with(options).await?)
}

/// A connection that cannot write. `strict` opens the file itself read-only, for tools.
pub(super) fn reader(path: &Path, strict: bool) -> SqliteConnectOptions {
    common(path).read_only(strict).pragma("query_only", "ON")
}

/// A pool of them.
pub(super) async fn readers(path: &Path, count: u32, strict: bool) -> Result<SqlitePool, DbError> {
    Ok(SqlitePoolOptions::new()
        .max_connections(count.max(1))
        .min_connections(1)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(reader(path, strict))
        .await?)
}
