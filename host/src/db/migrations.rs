//! The host's own tables: numbered SQL files, applied in order, each in one transaction.
//!
//! `PRAGMA user_version` is the number of the last applied migration. `PRAGMA application_id` identifies a file of
//! Tenon. A file of another program or of a newer Tenon is rejected and not changed.

use sqlx::SqliteConnection;

use super::DbError;

/// "tnon"
const APPLICATION_ID: i64 = 0x746e_6f6e;

/// First schema with an identity.
const IDENTITY_SCHEMA: u64 = 9;

const MIGRATIONS: [&str; 16] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_deliveries.sql"),
    include_str!("migrations/0003_outbox.sql"),
    include_str!("migrations/0004_signing.sql"),
    include_str!("migrations/0005_clients.sql"),
    include_str!("migrations/0006_audit.sql"),
    include_str!("migrations/0007_credentials.sql"),
    include_str!("migrations/0008_chains.sql"),
    include_str!("migrations/0009_identity.sql"),
    include_str!("migrations/0010_fan_outs.sql"),
    include_str!("migrations/0011_hops.sql"),
    include_str!("migrations/0012_recoveries.sql"),
    include_str!("migrations/0013_repeated_recoveries.sql"),
    include_str!("migrations/0014_delivery_order.sql"),
    include_str!("migrations/0015_swap_versions.sql"),
    include_str!("migrations/0016_endpoint_queues.sql"),
];

/// Migrates the file to the newest schema. The caller holds the lock on the file.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), DbError> {
    let applied = applied(connection).await?;
    for (number, text) in (1_i64..).zip(MIGRATIONS).skip(applied) {
        let sql = format!(
            "BEGIN IMMEDIATE; {text}; PRAGMA user_version = {number}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    if applied < MIGRATIONS.len() {
        // Checkpointed, so that the file itself contains the schema and is recognised if its log is damaged.
        sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut *connection).await?;
    }
    Ok(())
}

/// Fails unless the schema is exactly that of this program.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<(), DbError> {
    match applied(connection).await? {
        n if n == MIGRATIONS.len() => Ok(()),
        n => Err(DbError::Precondition(format!(
            "the database has schema {n}, this version of Tenon requires {}; start the host once to bring it up to date",
            MIGRATIONS.len()
        ))),
    }
}

/// Fails if the file is not a database of Tenon, or is newer. An older schema is accepted and not changed.
pub(super) async fn check_known(connection: &mut SqliteConnection) -> Result<(), DbError> {
    match applied(connection).await? {
        0 => Err(DbError::Precondition("the file is not a database of Tenon".into())),
        _ => Ok(()),
    }
}

/// Writes a database of the first schema, with a commit, an event, a key, two balances, and a line of the operators'
/// journal.
#[cfg(test)]
pub(crate) async fn write_first_version(path: &std::path::Path) {
    use sqlx::Connection;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut file = SqliteConnection::connect_with(&options).await.unwrap();
    let sql = format!("{}; PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}", MIGRATIONS[0]);
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut file).await.unwrap();
    let rows = "INSERT INTO batches VALUES (1, 'b1', 7, 5000);
        INSERT INTO events VALUES (3, 'event_3', 'notes', 'acme/test', 'note.made', 'note_1', '{\"a\":1}', 7, 5000);
        INSERT INTO keys VALUES ('key_1', zeroblob(32), 'notes', 'acme', 'test', 'key_1', '[]', '[]', 1, NULL, NULL, NULL);
        INSERT INTO balances VALUES ('notes', 'acme/test', 'till', 'X', '7', 7), ('notes', 'acme/test', 'bank', 'X', '-7', 7);
        INSERT INTO swaps VALUES (1, 2, 'ada', 'notes', 'deploy', NULL, NULL, NULL, 'published', '[]', '[]')";
    sqlx::raw_sql(rows).execute(&mut file).await.unwrap();
    file.close().await.unwrap();
}

/// Returns true if no migration has been applied to the file, because it is new.
pub(super) async fn is_blank(connection: &mut SqliteConnection) -> Result<bool, DbError> {
    Ok(applied(connection).await? == 0)
}

/// Returns true if the schema has an identity.
pub(super) async fn has_identity(connection: &mut SqliteConnection) -> Result<bool, DbError> {
    Ok(applied(connection).await? as u64 >= IDENTITY_SCHEMA)
}

async fn applied(connection: &mut SqliteConnection) -> Result<usize, DbError> {
    let id: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(connection).await?;
    if id != APPLICATION_ID && tables > 0 {
        return Err(DbError::Precondition("the file is a database of another program; use another file".into()));
    }
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(DbError::Precondition(format!(
            "the database was written by a newer Tenon (schema {version}, this version supports {}); run that version, or restore a backup",
            MIGRATIONS.len()
        )));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;
    use crate::changes::scope::Scope;
    use crate::db::feed::{FeedBounds, FeedFilter};
    use crate::db::swaps::SwapFilter;
    use crate::db::testing::{scope, url_in};
    use crate::db::{Database, DbOptions};

    async fn bodies(database: &Database, scope: &Scope) -> Vec<String> {
        let bounds = FeedBounds { rows: 10, examined: 10, bytes: 1_000 };
        let page = database.find_feed(scope, 0, &FeedFilter::default(), bounds).await.unwrap();
        page.events.iter().map(|event| event.body.to_string()).collect()
    }

    #[tokio::test]
    async fn database_of_the_first_version_is_migrated_with_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        write_first_version(&folder.path().join("test.db")).await;
        let url = url_in(&folder);
        let error = Database::open_read_only(&url, &DbOptions::default()).await.err().unwrap().to_string();
        assert!(error.contains("start the host once to bring it up to date"), "{error}");
        for _ in 0..2 {
            let database = Database::open(&url, &DbOptions::default()).await.unwrap();
            assert_eq!(database.schema().await.unwrap(), MIGRATIONS.len() as u64);
            assert_eq!(database.latest_version().await.unwrap(), 7);
            assert_eq!(bodies(&database, &scope("notes", "acme/test")).await, [r#"{"a":1}"#]);
            assert_eq!(database.list_keys().await.unwrap().len(), 1);
            assert_eq!(database.ledger_sums().await.unwrap()[0].sum, 0);
            assert_eq!(database.list_swaps(&SwapFilter::default(), 10).await.unwrap()[0].operator, "ada");
            database.close().await.unwrap();
        }
    }

    #[tokio::test]
    async fn migration_that_sorts_deliveries_by_event_keeps_them_and_their_attempts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        write_first_version(&path).await;
        let mut file = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
        let older = MIGRATIONS[1..13].join(";");
        let rows = "INSERT INTO lanes VALUES (7, 'notes', 'acme/test', 'ep', NULL);
            INSERT INTO deliveries VALUES (7, 3, 1, 1, 9000, 6005);
            INSERT INTO attempts VALUES (7, 3, 1, 6000, 5, 'status', 500, 'no'), (6, 3, 1, 6000, 5, 'status', 500, 'left')";
        let sql = format!("{older}; PRAGMA user_version = 13; {rows}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut file).await.unwrap();
        file.close().await.unwrap();
        let database = Database::open(&url_in(&folder), &DbOptions::default()).await.unwrap();
        let scope = scope("notes", "acme/test");
        let page = database.find_deliveries(&scope, &"ep".into(), None, None, 10).await.unwrap();
        let [delivery] = &*page.deliveries else { panic!("{page:?}") };
        assert_eq!((&*delivery.event, delivery.state.name()), ("event_3", "retrying"));
        assert_eq!((delivery.attempts, delivery.next_at), (1, Some(9_000)));
        let attempts = database.find_attempts(&scope, &"ep".into(), "event_3").await.unwrap();
        assert_eq!((attempts.len(), &*attempts[0].response), (1, &b"no"[..]));
        let count = sqlx::query_scalar("SELECT count(*) FROM attempts").fetch_one(&*database.readers()).await;
        assert_eq!(count.unwrap_or(0_i64), 1, "an attempt without its delivery is dropped");
        database.close().await.unwrap();
    }

    #[tokio::test]
    async fn open_without_migration_keeps_an_older_schema() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        write_first_version(&path).await;
        let database = Database::open_unchanged(&url_in(&folder), &DbOptions::default()).await.unwrap();
        assert_eq!(database.schema().await.unwrap(), 1);
        database.close().await.unwrap();
        assert_eq!(
            Database::open_immutable(&path, std::sync::Arc::new(|| true)).await.unwrap().schema().await.unwrap(),
            1
        );
    }
}
