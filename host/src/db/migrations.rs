//! The host's own tables: numbered SQL files, applied in order, each in one transaction.
//!
//! `PRAGMA user_version` is the number of the last one, `PRAGMA application_id` says that the file is Tenon's.
//! A file that is not ours, or from a newer Tenon, is refused and stays as it was.

use sqlx::SqliteConnection;

use super::DbError;

/// "tnon"
const APPLICATION_ID: i64 = 0x746e_6f6e;

const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/0001_first.sql"), include_str!("migrations/0002_deliveries.sql")];

/// Brings the file to the newest schema. The caller holds the lock on the file.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), DbError> {
    let applied = applied(connection).await?;
    for (number, text) in (1_i64..).zip(MIGRATIONS).skip(applied) {
        let sql = format!(
            "BEGIN IMMEDIATE; {text}; PRAGMA user_version = {number}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Refuses a file whose schema is not exactly ours.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<(), DbError> {
    match applied(connection).await? {
        n if n == MIGRATIONS.len() => Ok(()),
        n => Err(DbError::Refused(format!(
            "the database has schema {n}, this version of Tenon needs {}; start the host once to bring it up to date",
            MIGRATIONS.len()
        ))),
    }
}

/// Refuses a file that holds nothing of ours, or is newer. The schema may be older than this program's; it stays as it is.
pub(super) async fn check_known(connection: &mut SqliteConnection) -> Result<(), DbError> {
    match applied(connection).await? {
        0 => Err(DbError::Refused("the file is no database of Tenon".into())),
        _ => Ok(()),
    }
}

async fn applied(connection: &mut SqliteConnection) -> Result<usize, DbError> {
    let id: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(connection).await?;
    if id != APPLICATION_ID && tables > 0 {
        return Err(DbError::Refused("the file is a database of another program; name another one".into()));
    }
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(DbError::Refused(format!(
            "the database was written by a newer Tenon (schema {version}, this one knows {}); run that version, or restore a backup",
            MIGRATIONS.len()
        )));
    }
    Ok(version)
}
