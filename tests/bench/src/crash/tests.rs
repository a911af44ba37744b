//! What the tests of all scenarios share: a database that was spoiled on purpose. And when a process is killed.

use std::path::PathBuf;

use super::*;

pub(super) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// What is in the file when everything went well, then whatever happened to it.
    pub async fn spoiled_by(tables: &str, statement: &str) -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap() };
        scene.execute(tables).await;
        scene.execute(statement).await;
        scene
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
fn kills_are_spread_over_the_whole_range() {
    let delays: Vec<u64> = (0..100).map(|round| kill_after((50, 2_000), round).as_millis() as u64).collect();
    assert!(delays.iter().all(|ms| (50..2_000).contains(ms)));
    assert!(delays.windows(2).all(|pair| pair[0] != pair[1]));
}
