//! Parts that the tests of all scenarios share: a database that is corrupted on purpose. Tests of the kill delays.

use std::path::PathBuf;

use super::*;

pub(super) struct TestDatabase {
    folder: tempfile::TempDir,
}

impl TestDatabase {
    /// Creates a database with the tables of a correct run, then executes a statement that corrupts it.
    pub async fn corrupted_by(tables: &str, statement: &str) -> TestDatabase {
        let database = TestDatabase { folder: tempfile::tempdir().unwrap() };
        database.execute(tables).await;
        database.execute(statement).await;
        database
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("tenon.db")
    }

    pub async fn execute(&self, statement: &str) {
        let options = SqliteConnectOptions::new().filename(self.file()).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

#[test]
fn consecutive_kill_delays_differ_and_are_within_the_range() {
    let delays: Vec<u64> = (0..100).map(|round| kill_after((50, 2_000), round).as_millis() as u64).collect();
    assert!(delays.iter().all(|ms| (50..2_000).contains(ms)));
    assert!(delays.windows(2).all(|pair| pair[0] != pair[1]));
}
