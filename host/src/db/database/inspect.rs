//! Checks the content of a database before a connection opens it for writing.
//!
//! The last connection that may write checkpoints the log into the file and deletes it when it closes. Invariant: every
//! check that can reject a file runs on a read-only connection. Such a connection cannot take the file lock that a
//! checkpoint needs, so a rejected file and its log stay unchanged. The only write is the rollback of an unfinished
//! transaction in a file without a log, because the file cannot be read before. SQLite deletes a log beside an empty
//! file, so an empty file is not opened here.

use std::path::Path;

use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::identity::{self, Marker};
use super::options::{self, DbOptions};
use crate::db::files::Survey;
use crate::db::{DbError, copy, migrations, secrets};

/// Checks the pages, the identity, and whether a master key is required, before a host opens the database.
pub(super) async fn before_open(path: &Path, survey: &Survey, options: &DbOptions) -> Result<(), DbError> {
    let Survey::Database { log_bytes, .. } = survey else { return Ok(()) };
    let mut connection = connect(path, *log_bytes).await?;
    let checked = check_host_database(&mut connection, path, options).await;
    close_after(connection, checked).await
}

/// Checks the schema and the identity before a tool opens the database.
pub(super) async fn before_use(path: &Path, survey: &Survey) -> Result<(), DbError> {
    let Survey::Database { log_bytes, .. } = survey else { return Ok(()) };
    let mut connection = connect(path, *log_bytes).await?;
    let checked = check_tool_database(&mut connection, path).await;
    close_after(connection, checked).await
}

/// Checks the schema and all pages, but not the identity, before an operator accepts the database. The file must not be
/// empty.
pub(super) async fn before_accept(path: &Path, log_bytes: u64) -> Result<(), DbError> {
    let mut connection = connect(path, log_bytes).await?;
    let checked = check_all_pages(&mut connection, path).await;
    close_after(connection, checked).await
}

async fn check_host_database(
    connection: &mut SqliteConnection,
    path: &Path,
    options: &DbOptions,
) -> Result<(), DbError> {
    if migrations::is_blank(connection).await? {
        identity::refuse_blank(path, options)?;
    }
    let problems = copy::check_pages_briefly(connection).await?;
    if let Some(first) = problems.first() {
        return Err(DbError::damaged(path, first));
    }
    refuse_other(connection, path).await?;
    match &options.missing_key {
        Some(file) if secrets::has_sealed_rows(connection).await? => Err(DbError::Precondition(format!(
            "{} is missing, and {} was sealed under a master key; bring that key back, or set TENON_MASTER_KEY to it",
            file.display(),
            path.display()
        ))),
        _ => Ok(()),
    }
}

async fn check_tool_database(connection: &mut SqliteConnection, path: &Path) -> Result<(), DbError> {
    migrations::check_known(connection).await?;
    refuse_other(connection, path).await
}

async fn check_all_pages(connection: &mut SqliteConnection, path: &Path) -> Result<(), DbError> {
    migrations::check_known(connection).await?;
    match copy::find_problems(connection, "PRAGMA integrity_check(1)").await?.first() {
        Some(first) => Err(DbError::damaged(path, first)),
        None => Ok(()),
    }
}

async fn refuse_other(connection: &mut SqliteConnection, path: &Path) -> Result<(), DbError> {
    identity::refuse_other(path, Marker::find(connection).await?.as_ref())
}

async fn connect(path: &Path, log_bytes: u64) -> Result<SqliteConnection, DbError> {
    match connect_read_only(path).await {
        // A process died while it created the file. The file can be read only after its unfinished transaction was
        // rolled back.
        Err(error) if is_unfinished(&error) && log_bytes == 0 => {
            roll_back(path).await?;
            connect_read_only(path).await
        }
        connection => connection,
    }
}

/// Connects and reads the first page, so that SQLite has read the log as well.
async fn connect_read_only(path: &Path) -> Result<SqliteConnection, DbError> {
    let mut connection = options::copier(path).connect().await?;
    match sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&mut connection).await {
        Ok(_) => Ok(connection),
        Err(error) => close_after(connection, Err(error.into())).await,
    }
}

/// Returns true for READONLY_ROLLBACK: a rollback journal exists beside the file.
fn is_unfinished(error: &DbError) -> bool {
    let DbError::Sql(sqlx::Error::Database(error)) = error else { return false };
    error.code().as_deref() == Some("776")
}

async fn roll_back(path: &Path) -> Result<(), DbError> {
    let mut connection = options::reader(path, false).connect().await?;
    let read = sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&mut connection).await;
    close_after(connection, read.map(drop).map_err(DbError::from)).await
}

async fn close_after<T>(connection: SqliteConnection, checked: Result<T, DbError>) -> Result<T, DbError> {
    connection.close().await?;
    checked
}
